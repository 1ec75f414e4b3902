import type { Draft } from "./draft.ts";
import { instanceKey, localName } from "./identity.ts";
import type { ClusterName, TimeMs } from "./types.ts";
import { viewIn } from "./view.ts";

const SECOND_MS = 1000;
/** [L4] How long an unknown leader holds its possible clusters back when no transfer timeout says otherwise. */
export const LEADER_UNKNOWN_PATIENCE_MS = 60_000;

export type Leader =
  /** Nobody reports a leader: there is none to wait for. */
  | { readonly kind: "none" }
  | { readonly kind: "known"; readonly cluster: ClusterName; readonly instance: string | undefined }
  /** [L3] None or several claim it: each of these clusters may hold it. */
  | { readonly kind: "unknown"; readonly suspects: ReadonlySet<ClusterName> };

/** [L1] Where the leader is, by the claims of clusters that are Ready and observed. */
export function leaderOf(draft: Draft): Leader {
  if (!draft.intent.workload.reportsLeader) return { kind: "none" };
  const claiming: ClusterName[] = [];
  const silent: ClusterName[] = [];
  const present: ClusterName[] = [];
  let instance: string | undefined;
  for (const cluster of draft.order) {
    const seen = viewIn(draft, cluster).present;
    if (!seen || draft.entry(cluster).instances.length === 0) continue;
    present.push(cluster);
    if (seen.leader.kind === "here") {
      claiming.push(cluster);
      instance = seen.leader.instance;
    } else if (seen.leader.kind === "unknown") silent.push(cluster);
  }
  const [first, second] = claiming;
  if (first !== undefined && second === undefined) return { kind: "known", cluster: first, instance };
  if (first !== undefined) return { kind: "unknown", suspects: new Set(claiming) };
  return { kind: "unknown", suspects: new Set(silent.length > 0 ? silent : present) };
}

export function mayLead(leader: Leader, cluster: ClusterName): boolean {
  return leader.kind === "known"
    ? leader.cluster === cluster
    : leader.kind === "unknown" && leader.suspects.has(cluster);
}

/**
 * [L5] Whom the leader is asked to hand over to: the first instance, in global order, of another cluster that has completed
 * `revision` and is healthy; without one, of any healthy other cluster. Undefined: nobody.
 */
function transferTarget(draft: Draft, from: ClusterName, revision: string | null): string | undefined {
  let fallback: string | undefined;
  for (const cluster of draft.order) {
    if (cluster === from || !viewIn(draft, cluster).healthy) continue;
    const entry = draft.entry(cluster);
    if (!entry.grant || entry.removedByLoss) continue;
    const updated = entry.done && entry.grant.revision === revision;
    const chosen = entry.instances.find(
      ({ state }, i) => state === "member" && (!updated || i >= (entry.grant?.partition ?? 0)),
    );
    if (!chosen) continue;
    const name = instanceKey(draft.identity, cluster, entry, chosen.ordinal);
    if (updated) return name;
    fallback ??= name;
  }
  return fallback;
}

/** Whether the leader is, or may be, the `from`-th to the last instance before `below` of its cluster. Not named: any of them. */
export function mayTakeLeader(
  draft: Draft,
  leader: Leader,
  cluster: ClusterName,
  from: number,
  below: number = draft.entry(cluster).instances.length,
): boolean {
  const { step } = draft.entry(cluster);
  // Asked to move, and nobody claims it: it may be on its way, and may yet stay.
  if (leader.kind === "unknown") return step?.kind === "transfer";
  if (leader.kind !== "known" || leader.cluster !== cluster) return false;
  const named = leader.instance;
  if (named === undefined) return true;
  const entry = draft.entry(cluster);
  const at = entry.instances.findIndex(
    ({ ordinal }) =>
      named === localName(draft.identity, entry, ordinal) ||
      named === instanceKey(draft.identity, cluster, entry, ordinal),
  );
  return at < 0 || (at >= from && at < below);
}

/**
 * [L6] Before the leader may be taken down, it is asked to move; its cluster gets the turn for it, on the content it has.
 * Returns true while that is under way, an election without any leader included; false: it moved, it may not be asked,
 * nobody could take over, or it has been asked for long enough.
 */
export function movesLeaderFirst(draft: Draft, cluster: ClusterName, revision: string | null, why: string): boolean {
  const { update } = draft.intent;
  const timeout = update.type === "RollingUpdate" ? update.leaderTransfer?.timeoutSeconds : undefined;
  const { grant, step } = draft.entry(cluster);
  if (timeout === undefined || !grant) return false;
  if (step?.kind !== "transfer") {
    const target = transferTarget(draft, cluster, revision);
    if (target === undefined) return false;
    draft.write(
      cluster,
      { ...grant, processor: true, transferLeaderTo: target },
      {
        kind: "transfer",
        why: `${why}; first the leader is asked to move to ${target}`,
        progress: draft.startStep("transfer", cluster),
      },
    );
    return true;
  }
  const endsAtMs: TimeMs = step.sinceMs + timeout * SECOND_MS;
  if (draft.nowMs >= endsAtMs) return false;
  draft.wakeAt(endsAtMs);
  draft.wait(
    "LeaderTransfer",
    cluster,
    `the leader has been asked to move to ${grant.transferLeaderTo ?? "another cluster"}`,
    "Wait; after leaderTransfer.timeoutSeconds the cluster is touched all the same.",
    [{ object: cluster, field: "leader", value: "not seen elsewhere", sinceMs: step.sinceMs }],
  );
  return true;
}
