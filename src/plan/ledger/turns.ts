import { viewIn } from "../evidence/view.ts";
import { TOPOLOGIES_MAX_BYTES } from "../limits/size.ts";
import { withoutTurn } from "../membership/loss.ts";
import type { ClusterName, Grant, TopologyShape } from "../types/index.ts";
import type { Draft } from "./draft.ts";

/** [I20] How long one cluster that does not take delivery holds the topology back from the others. */
const SWEEP_PATIENCE_MS = 60_000;

/** [G7] A finished turn is taken away by a write; it counts until the cluster has acknowledged it. */
export function returnTurns(draft: Draft, keep: ReadonlySet<ClusterName>): void {
  for (const cluster of draft.order) {
    const entry = draft.entry(cluster);
    if (entry.turn !== "held" || !entry.done || !entry.grant || keep.has(cluster)) continue;
    // A drained cluster's object is about to be deleted; no other cluster waits for its turn.
    if (entry.grant.replicas === 0) continue;
    draft.write(
      cluster,
      { ...withoutTurn(entry.grant), initialClusterState: "existing" },
      { kind: "return-turn", why: "its step is finished", progress: null },
    );
  }
}

/**
 * [I20] Topology travels with every write. Clusters that need no other write get the newest one by one, the oldest view
 * first, each after the one before has it, so that an operator which restarts for it shows that in one cluster only.
 */
export function sweepTopology(draft: Draft): void {
  const version = draft.topologyVersion();
  let next: Grant | undefined;
  for (const cluster of draft.order) {
    const { grant, turn, ackedAtMs, votes, writtenAtMs } = draft.entry(cluster);
    if (!grant || turn !== "none" || votes !== "counted" || viewIn(draft, cluster).reach !== "ready") continue;
    if (ackedAtMs === null) {
      const patientUntilMs = writtenAtMs + SWEEP_PATIENCE_MS;
      if (draft.nowMs >= patientUntilMs) continue;
      draft.wakeAt(patientUntilMs);
      return;
    }
    if (grant.replicas > 0 && grant.topologyVersion < (next?.topologyVersion ?? version)) next = grant;
  }
  if (!next) return;
  // [I8] After the first deployment, instances of this cluster join the existing application.
  const initialClusterState = draft.entry(next.cluster).done ? "existing" : next.initialClusterState;
  draft.write(
    next.cluster,
    { ...next, turn: false, initialClusterState },
    { kind: "topology", why: `topology version ${version}` },
  );
}

/**
 * Views that no grant names any more are forgotten; the newest stays. [I19] So are the oldest, where all are too
 * much.
 */
export function pruneTopologies(draft: Draft): void {
  const { topologies, topologyVersion } = draft.ledger;
  const needed = new Set([String(topologyVersion)]);
  for (const cluster of draft.order) {
    const { grant } = draft.entry(cluster);
    if (grant) needed.add(String(grant.topologyVersion));
  }
  let bytes = 0;
  const newestFirst = Object.keys(topologies).sort((a, b) => Number(b) - Number(a));
  for (const version of newestFirst) {
    if (needed.has(version)) bytes += shapeBytes(topologies[version] ?? {});
    const isKept = needed.has(version) && (bytes <= TOPOLOGIES_MAX_BYTES || version === newestFirst[0]);
    if (!isKept) delete topologies[version];
  }
}

function shapeBytes(shape: TopologyShape): number {
  let bytes = 0;
  for (const cluster in shape) bytes += cluster.length + (shape[cluster]?.length ?? 0);
  return bytes;
}
