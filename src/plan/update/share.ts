import type { UpdateState, WavePart } from "../../rollout/index.ts";
import { isObserved, updatedSeen, viewIn } from "../evidence/view.ts";
import type { Draft } from "../ledger/draft.ts";
import type { ClusterName, RevisionId, Rollout } from "../types/index.ts";

/**
 * [U4] Partition is a rank in the global order: the first `partition` instances stay old. Returns, for each cluster,
 * how many of its lowest instances that are.
 */
export function sharesOf(draft: Draft, partition: number): ReadonlyMap<ClusterName, number> {
  const shares = new Map<ClusterName, number>();
  if (partition <= 0) return shares;
  const ordinals: number[] = [];
  for (const cluster of draft.order) {
    const entry = draft.entry(cluster);
    if (entry.votes === "counted") for (const { ordinal } of entry.instances) ordinals.push(ordinal);
  }
  ordinals.sort((a, b) => a - b);
  const firstReleased = ordinals[partition] ?? Number.POSITIVE_INFINITY;
  for (const cluster of draft.order) {
    let share = 0;
    for (const { ordinal } of draft.entry(cluster).instances) if (ordinal < firstReleased) share++;
    if (share > 0) shares.set(cluster, share);
  }
  return shares;
}

/** What one cluster still has to do for a rollout, and how far it may go. */
export interface Part extends WavePart {
  /** The partition that it has to end with. */
  readonly share: number;
}

/**
 * [U23] Who takes part in a rollout: it holds instances, is not lost, and is not being drained. A drained cluster that
 * is in the middle of an update step stays in it until that step is over: stuck there, it may need the rollout's next
 * revision. So does one that has a step to repeat: with a turn to remove an instance it would restart the others too,
 * and that may be more than the majority allows.
 */
export function takesPart(draft: Draft, cluster: ClusterName, drains: boolean): boolean {
  const { grant, instances, votes, presence, turn, done, step } = draft.entry(cluster);
  if (!grant || instances.length === 0 || votes !== "counted" || presence.kind === "lost") return false;
  const updates = turn === "held" && !done && (step?.kind === "update" || step?.kind === "rollback");
  return !drains || updates || needsTurn(draft, cluster);
}

/** Every cluster that takes part. */
export function partsOf(
  draft: Draft,
  rollout: Rollout,
  partition: number,
  drains: (cluster: ClusterName) => boolean,
): Part[] {
  const shares = rollout.kind === "rollback" ? new Map<ClusterName, number>() : sharesOf(draft, partition);
  const parts: Part[] = [];
  for (const cluster of draft.order) {
    const entry = draft.entry(cluster);
    if (!entry.grant || !takesPart(draft, cluster, drains(cluster))) continue;
    const wanted = shares.get(cluster) ?? 0;
    // [U5] Without a member partition the cluster is indivisible: if one of its instances stays old, all do.
    const share = wanted > 0 && !draft.intent.workload.hasPartition ? entry.instances.length : wanted;
    const state = stateOf(draft, cluster, rollout.to, share);
    const on = entry.grant.revision === rollout.to && !entry.grant.onDelete;
    parts.push({ cluster, state, share, released: on ? entry.grant.replicas - entry.grant.partition : 0 });
  }
  return parts;
}

function stateOf(draft: Draft, cluster: ClusterName, to: RevisionId, share: number): UpdateState {
  const { grant, done, turn } = draft.entry(cluster);
  if (!grant) return "kept";
  // [U14] It is being mended; the rollout's step follows.
  if (grant.revision === to && grant.onDelete && !done && turn === "held") return "working";
  if (grant.revision !== to || grant.onDelete) return share >= grant.replicas && !grant.onDelete ? "kept" : "due";
  if (!done) return turn === "none" && needsTurn(draft, cluster) ? "due" : "working";
  return grant.partition <= share ? "complete" : "due";
}

/**
 * [C9] For a cluster without a turn that is not finished: whether its operator has to act, or an instance is only not
 * ready yet. If the snapshot does not show it, the operator has to act.
 */
export function needsTurn(draft: Draft, cluster: ClusterName): boolean {
  const { grant, done, turn } = draft.entry(cluster);
  const { present } = viewIn(draft, cluster);
  if (!grant || done || turn !== "none" || !present || present.live.epoch !== grant.epoch) return false;
  const wanted = grant.onDelete ? 0 : grant.replicas - grant.partition;
  // Its controller has not seen the spec yet, but will.
  if (!isObserved(present)) return false;
  return (updatedSeen(present) ?? -1) < wanted || (present.counts.replicas ?? -1) !== grant.replicas;
}
