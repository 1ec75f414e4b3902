import { maxUnavailableOf } from "./budget.ts";
import { scheduledTotal } from "./desired.ts";
import type { Draft } from "./draft.ts";
import { leaderOf } from "./leader.ts";
import { Tally } from "./quorum.ts";
import type { Target } from "./target.ts";
import type { Figures } from "./types.ts";
import { viewOf } from "./view.ts";

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
    const { grant, done } = draft.entry(cluster);
    if (!grant) continue;
    granted += grant.replicas;
    if (grant.revision !== target?.revision) continue;
    released += grant.replicas - grant.partition;
    if (done) updated += grant.replicas - grant.partition;
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
