import { leaderOf } from "../evidence/leader.ts";
import { updatedSeen, viewIn, viewOf } from "../evidence/view.ts";
import type { Draft } from "../ledger/draft.ts";
import { scheduledTotal } from "../membership/desired.ts";
import type { ClusterName, Figures, Grant } from "../types/index.ts";
import type { Target } from "../update/target.ts";
import { maxUnavailableOf } from "./budget.ts";
import { Tally } from "./quorum.ts";

/** [R3] The arithmetic as it stands after the plan. */
export function figuresOf(draft: Draft, target: Target | null): Figures {
  for (const cluster of draft.order) draft.views.set(cluster, viewOf(draft, cluster));
  const desired = scheduledTotal(draft);
  const tally = new Tally(draft, maxUnavailableOf(draft.intent, desired));
  const leader = leaderOf(draft);
  let granted = 0;
  let released = 0;
  let updated = 0;
  for (const cluster of draft.order) {
    const { grant } = draft.entry(cluster);
    if (!grant) continue;
    granted += grant.replicas;
    if (grant.revision !== target?.revision) continue;
    released += grant.replicas - grant.partition;
    updated += updatedIn(draft, cluster, grant);
  }
  return {
    desired,
    granted,
    ready: tally.ready,
    released,
    updated,
    maxUnavailable: tally.maxUnavailable,
    unavailable: tally.unavailable,
    pending: tally.pending,
    voters: tally.voters,
    majority: tally.majority,
    notFaultTolerant: tally.notFaultTolerant,
    currentRevision: draft.ledger.currentRevision,
    targetRevision: target?.revision ?? null,
    rejectedRevision: target?.rejected ?? null,
    leader: leader.kind === "known" ? leader.cluster : null,
  };
}

/**
 * [R3] Instances that run what the cluster was granted: all that were released once its gate has opened, as many as are
 * seen while it is at work. One that grows has those that it had, before its controller says anything about the new
 * ones.
 */
function updatedIn(draft: Draft, cluster: ClusterName, grant: Grant): number {
  const { done, step, baseRevision, instances } = draft.entry(cluster);
  const { present } = viewIn(draft, cluster);
  const released = grant.replicas - grant.partition;
  if (done && !grant.onDelete) return released;
  const seen = present?.live.revision === grant.revision ? (updatedSeen(present) ?? 0) : 0;
  if (grant.onDelete) return Math.min(seen, grant.replicas);
  const had = instances.filter(({ state }) => state === "member").length - grant.partition;
  const kept = step?.kind === "grow" || baseRevision === grant.revision ? Math.max(0, had) : 0;
  return Math.min(Math.max(seen, kept), released);
}
