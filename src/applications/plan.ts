import { historyAfter, previousRevision, type TimeMs } from "../rollout/index.ts";
import { Draft, isRemoving } from "./draft.ts";
import { endAll, leave } from "./ending.ts";
import { adjust, sharesOf } from "./replicas.ts";
import { heedFailures, rollOut } from "./rollout.ts";
import { sayUnreachable, settle } from "./step.ts";
import { resolveTarget } from "./target.ts";
import type { ClusterPhase, Intent, Ledger, PlanResult, Seen } from "./types.ts";

/**
 * What happens next to one DistributedApplication: which cluster may go how far through which revision, with how many
 * replicas, and why everything else waits. SPEC.md has the rules, A1 to A22, A28 and A34. Planning again on the same input changes nothing.
 */
export function plan(intent: Intent, ledger: Ledger, seen: Seen, nowMs: TimeMs): PlanResult {
  const draft = new Draft(intent, ledger, seen, nowMs);
  let target = resolveTarget(draft);
  for (const cluster of Object.keys(ledger.clusters)) settle(draft, cluster);
  let finished = false;
  if (intent.ending) finished = endAll(draft, intent.ending);
  else {
    leave(draft);
    for (const cluster of draft.chosen) {
      if (draft.entry(cluster).grant === null && !draft.isReady(cluster)) sayUnreachable(draft, cluster);
    }
    const shares = sharesOf(draft);
    if (target !== null) {
      target = heedFailures(draft, target);
      rollOut(draft, target, (cluster) => ({ ...shares.get(cluster) }));
    }
    adjust(draft, shares);
  }
  return result(draft, ledger, target, finished);
}

function result(draft: Draft, before: Ledger, target: string | null, finished: boolean): PlanResult {
  const history = historyAfter(before, draft.ledger);
  if (history !== before.history) draft.set({ history });
  const { ledger } = draft;
  const previous = previousRevision(ledger, target, false);
  return {
    ledger,
    releases: draft.releases,
    reasons: draft.reasons,
    requeueAt: draft.requeueAt,
    finished,
    figures: {
      targetRevision: target,
      currentRevision: ledger.currentRevision,
      ...(previous !== undefined && { previousRevision: previous }),
      ...(ledger.override && ledger.override.instead !== "" && { rejectedRevision: ledger.override.instead }),
      phases: phasesOf(draft),
      lent: draft.lent,
    },
  };
}

function phasesOf(draft: Draft): Record<string, ClusterPhase> {
  const names = new Set([...draft.chosen, ...Object.keys(draft.ledger.clusters)]);
  return Object.fromEntries([...names].map((cluster) => [cluster, phaseOf(draft, cluster)]));
}

function phaseOf(draft: Draft, cluster: string): ClusterPhase {
  const entry = draft.entry(cluster);
  const { grant, failed, done, healthySinceMs } = entry;
  if (!grant) return "Pending";
  if (!draft.isReady(cluster)) return "Lost";
  if (isRemoving(entry)) return "Removing";
  if (failed !== null) return "Failed";
  if (done) return healthySinceMs === null ? "Unhealthy" : "Settled";
  return grant.mode === "Install" ? "Deploying" : grant.mode === "Rollback" ? "RollingBack" : "Updating";
}
