import { historyAfter } from "../rollout/index.ts";
import { leaderOf, reportUnreadable } from "./evidence/leader.ts";
import { reportReach, settle } from "./evidence/settle.ts";
import { viewOf } from "./evidence/view.ts";
import { identityOf } from "./identity/identity.ts";
import { Draft } from "./ledger/draft.ts";
import { pruneTopologies, returnTurns, sweepTopology } from "./ledger/turns.ts";
import { maxUnavailableOf } from "./limits/budget.ts";
import { figuresOf } from "./limits/figures.ts";
import { preflight } from "./limits/preflight.ts";
import { Tally } from "./limits/quorum.ts";
import { adopt, awaitsAdoption } from "./membership/adopt.ts";
import { deployStatic } from "./membership/deploy.ts";
import { desiredOf, registerClusters, scheduledTotal } from "./membership/desired.ts";
import { noteReach, takeTurnsOfLost } from "./membership/loss.ts";
import { reportMaintenance } from "./membership/maintenance.ts";
import { busyClusters } from "./membership/member.ts";
import { removeDrained, removeLeftovers, standingOf } from "./membership/removal.ts";
import { type ScaleOutcome, scale } from "./membership/scale.ts";
import { release, tearDown } from "./membership/teardown.ts";
import type { ClusterName, Grant, Intent, Ledger, Observations, PlanResult, TimeMs } from "./types/index.ts";
import { detectFailures } from "./update/failure.ts";
import { moveLeader } from "./update/leader-move.ts";
import { deletePods } from "./update/mend.ts";
import { handOut } from "./update/ondelete.ts";
import { type RolloutView, trackRollout } from "./update/rollout.ts";
import { resolveTarget, reviewHalt, type Target } from "./update/target.ts";
import { startUpdates } from "./update/update.ts";

/**
 * A pass works on the views that it starts with. If it changes the ledger, another pass follows. Each such pass gives a
 * grant, opens a gate or raises a mark, so few passes are needed. This limit guards against a bug in a rule; the next
 * call continues where this one stopped.
 */
const PASSES_MAX = 64;

/**
 * Decides everything that may happen now. Pure: the same arguments give the same result, no argument is changed, and
 * planning again on the result with the same observations changes nothing more.
 */
export function plan(intent: Intent, ledger: Ledger, observations: Observations, nowMs: TimeMs): PlanResult {
  const draft = new Draft(intent, ledger, observations, nowMs, identityOf(intent, ledger));
  let outcome: PassOutcome = { target: null, finished: false };
  for (let pass = 0; pass < PASSES_MAX; pass++) {
    const before = draft.changes;
    draft.startPass();
    outcome = onePass(draft);
    if (draft.changes === before) break;
  }
  for (const { severity, code, field, message, remedy } of preflight(intent, ledger)) {
    if (severity !== "error") continue;
    const evidence = [{ object: "CrossClusterStatefulset", field: `spec.${field}`, value: "cannot be met" }];
    draft.wait(code, undefined, `spec.${field}: ${message}`, remedy, evidence);
  }
  removeLeftovers(draft, outcome.finished);
  pruneTopologies(draft);
  const grants: Grant[] = [];
  for (const cluster of draft.order) {
    const { grant } = draft.entry(cluster);
    if (grant) grants.push(grant);
  }
  return {
    ledger: { ...draft.ledger, history: historyAfter(ledger, draft.ledger) },
    grants,
    standing: standingOf(draft, grants),
    actions: draft.actions,
    steps: draft.steps,
    completed: draft.completed,
    waiting: draft.waiting,
    figures: figuresOf(draft, outcome.target),
    finished: outcome.finished,
    ...(draft.requeueAtMs === undefined ? {} : { requeueAt: draft.requeueAtMs }),
  };
}

interface PassOutcome {
  readonly target: Target | null;
  readonly finished: boolean;
}

/** One pass over all rules. It ends early if it changed what its own views depend on; the next pass continues. */
function onePass(draft: Draft): PassOutcome {
  const started = draft.changes;
  const changed = () => draft.changes !== started;
  const { deletion } = draft.intent;
  if (!deletion) registerClusters(draft);
  noteReach(draft);
  if (deletion?.policy === "Release") {
    for (const cluster of draft.order) draft.views.set(cluster, viewOf(draft, cluster));
    reportReach(draft);
    return { target: null, finished: release(draft) };
  }
  settle(draft);
  reportReach(draft);
  takeTurnsOfLost(draft);
  if (deletion) {
    const finished = tearDown(draft);
    deletePods(draft);
    return { target: null, finished };
  }
  const target = resolveTarget(draft);
  if (target.frozen) {
    returnTurns(draft, new Set());
    return { target, finished: false };
  }
  adopt(draft, target);
  if (changed()) return { target, finished: false };
  const desired = desiredOf(draft);
  reviewHalt(draft, target);
  detectFailures(draft, target);
  if (changed()) return { target, finished: false };

  const tally = new Tally(draft, maxUnavailableOf(draft.intent, scheduledTotal(draft)));
  const turns = { draft, tally, leader: leaderOf(draft), target };
  const { update } = draft.intent;
  const rollout = update.type === "RollingUpdate" ? trackRollout(draft, update, target, desired) : null;
  const blind = awaitsAdoption(draft);
  const still = blind || draft.ledger.halt?.code === "AdoptedWithDifferences";
  const keep = new Set<ClusterName>();
  const updateSteps = (limits: Pick<ScaleOutcome, "membershipFirst" | "busy">, view: RolloutView | null) => {
    if (blind) return;
    if (update.type === "OnDelete") handOut(draft, target, desired);
    else if (view) for (const cluster of startUpdates(turns, update, view, limits)) keep.add(cluster);
  };
  if (!still) for (const cluster of moveLeader(turns)) keep.add(cluster);
  if (changed()) return { target, finished: false };
  // [F3] A rollback goes before membership; otherwise membership goes before the next update step.
  const back = rollout?.rollout.kind === "rollback";
  if (back && !changed()) {
    updateSteps({ membershipFirst: null, busy: busyWithQuorum(draft) }, rollout);
    if (changed()) return { target, finished: false };
  }
  let limits: Pick<ScaleOutcome, "membershipFirst" | "busy"> = { membershipFirst: null, busy: busyWithQuorum(draft) };
  if (desired && !still && !changed()) {
    const deployment = deployStatic(turns, desired, rollout);
    if (changed() || deployment === "waits") return { target, finished: false };
    const scaled = scale(turns, desired, rollout);
    for (const cluster of scaled.keep) keep.add(cluster);
    limits = scaled;
  }
  if (changed()) return { target, finished: false };
  if (!back) updateSteps(limits, rollout);
  returnTurns(draft, keep);
  if (!still) removeDrained(draft);
  deletePods(draft);
  reportUnreadable(draft);
  reportMaintenance(draft, turns.leader.kind === "known" ? turns.leader.cluster : undefined);
  if (!changed()) sweepTopology(draft);
  return { target, finished: false };
}

/** Without a quorum to keep, a membership change does not make other clusters wait. */
function busyWithQuorum(draft: Draft): Set<ClusterName> {
  return draft.intent.quorum === "None" ? new Set() : busyClusters(draft);
}
