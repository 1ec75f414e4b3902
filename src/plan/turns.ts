import type { Draft } from "./draft.ts";
import { withoutTurn } from "./loss.ts";
import type { ClusterName, Grant } from "./types.ts";
import { viewIn } from "./view.ts";

/** [I7] How long one cluster that does not take delivery holds the topology back from the others. */
const SWEEP_PATIENCE_MS = 60_000;

/** [G7] A finished turn is taken away by a write; it counts until the cluster has acknowledged it. */
export function returnTurns(draft: Draft, keep: ReadonlySet<ClusterName>): void {
  for (const cluster of draft.order) {
    const entry = draft.entry(cluster);
    if (entry.turn !== "held" || !entry.done || !entry.grant || keep.has(cluster)) continue;
    // A drained cluster's object is about to go; nobody waits for its turn.
    if (entry.grant.replicas === 0) continue;
    draft.write(
      cluster,
      { ...withoutTurn(entry.grant), initialClusterState: "existing" },
      { kind: "return-turn", why: "its step is finished", progress: null },
    );
  }
}

/** [S9] A drained cluster is let go: protection lifted, object and dispatch object deleted, volumes as asked for. */
export function removeDrained(draft: Draft): void {
  for (const cluster of draft.order) {
    const { grant, done } = draft.entry(cluster);
    if (!grant || grant.replicas > 0 || !done || viewIn(draft, cluster).reach !== "ready") continue;
    draft.actions.push({ kind: "remove", cluster, volumes: draft.intent.retention.whenScaled });
  }
}

/**
 * [I7] Topology travels with every write. Clusters that need no other write get the newest one by one, the oldest view first,
 * each after the one before has it, so that an operator which restarts for it shows that in one cluster only.
 */
export function sweepTopology(draft: Draft): void {
  const version = draft.topologyVersion();
  let next: Grant | undefined;
  for (const cluster of draft.order) {
    const { grant, turn, ackedAtMs, removedByLoss, writtenAtMs } = draft.entry(cluster);
    if (!grant || turn !== "none" || removedByLoss || viewIn(draft, cluster).reach !== "ready") continue;
    if (ackedAtMs === null) {
      const patientUntilMs = writtenAtMs + SWEEP_PATIENCE_MS;
      if (draft.nowMs >= patientUntilMs) continue;
      draft.wakeAt(patientUntilMs);
      return;
    }
    if (grant.replicas > 0 && grant.topologyVersion < (next?.topologyVersion ?? version)) next = grant;
  }
  if (next) draft.write(next.cluster, next, { kind: "topology", why: `topology version ${version}` });
}

/** Views that no grant names any more are forgotten; the newest stays. */
export function pruneTopologies(draft: Draft): void {
  const needed = new Set([String(draft.ledger.topologyVersion)]);
  for (const cluster of draft.order) {
    const { grant } = draft.entry(cluster);
    if (grant) needed.add(String(grant.topologyVersion));
  }
  for (const version of Object.keys(draft.ledger.topologies)) {
    if (!needed.has(version)) delete draft.ledger.topologies[version];
  }
}
