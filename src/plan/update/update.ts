import { batchAllowance, isInMaintenance, waitForMaintenance } from "../../rollout/index.ts";
import { LEADER_UNKNOWN_PATIENCE_MS, mayLead, mayTakeLeader, movesLeaderFirst } from "../evidence/leader.ts";
import { bringsBackFirst, readyTargets, serialCost, standsStill, viewIn } from "../evidence/view.ts";
import { instancesText } from "../evidence/words.ts";
import type { Draft } from "../ledger/draft.ts";
import { budgetEvidence, fitsBudget } from "../limits/budget.ts";
import { isInterrupted } from "../membership/member.ts";
import type { ClusterName, RollingUpdate } from "../types/index.ts";
import { isStuck } from "./failure.ts";
import { mendable } from "./mend.ts";
import type { RolloutView, Turns } from "./rollout.ts";
import { needsTurn, type Part } from "./share.ts";
import { type Way, wayTo } from "./supersede.ts";

const SECOND_MS = 1000;

/** [S6] What membership changes leave to update steps. */
export interface UpdateLimits {
  /** Where a membership change is due before the next update step. */
  readonly membershipFirst: ClusterName | null;
  /** Clusters with a membership change under way. */
  readonly busy: ReadonlySet<ClusterName>;
}

/**
 * [U6] Starts every update step that may start now. Returns the clusters that keep a finished turn because they are
 * asked for something else (a leader transfer).
 */
export function startUpdates(
  turns: Turns,
  update: RollingUpdate,
  view: RolloutView,
  limits: UpdateLimits,
): Set<ClusterName> {
  const { draft } = turns;
  const keep = new Set<ClusterName>();
  const due: Part[] = [];
  for (const part of view.parts) {
    if (part.state === "kept") reportKept(turns, part, view.rollout.to);
    if (part.state === "due") due.push(part);
  }
  if (view.held !== null) return keep;
  if (turns.leader.kind === "known" && draft.ledger.rollout && view.rollout.leaderUnknownSinceMs !== null) {
    draft.set("rollout", { ...draft.ledger.rollout, leaderUnknownSinceMs: null });
  }
  let allowance =
    view.rollout.kind === "rollback" ? Number.POSITIVE_INFINITY : batchAllowance(update.batches, view.parts);
  let blockedBy: ClusterName | null = null;
  const follower = view.parts.find(
    ({ cluster, state }) =>
      (state === "due" || state === "working") && view.isOpen(cluster) && !mayLead(turns.leader, cluster),
  );
  for (const part of inOrder(turns, update, due)) {
    const { cluster } = part;
    if (viewIn(draft, cluster).reach !== "ready") continue;
    // [C9] Scaling continues an interrupted membership change, not the rollout. Exception: the operator has nothing
    // left to do for it, and the new instance just never becomes ready.
    if (isInterrupted(draft.entry(cluster)) && needsTurn(draft, cluster)) continue;
    // [C11] A step in progress is finished or cured; no step begins.
    if (isInMaintenance(draft.intent, cluster) && !isUnderWay(draft, cluster)) {
      waitForMaintenance(draft, draft.intent, cluster, `it is updated to ${view.rollout.to}`);
      continue;
    }
    const way = wayTo(turns, view, part);
    if (way === "wait") continue;
    if (!way.anyWave && !view.isOpen(cluster)) {
      draft.wait(
        "WaveNotReached",
        cluster,
        `its wave comes after wave ${view.rollout.wave + 1}`,
        "Wait for the waves before it.",
        [{ object: `rollout to ${view.rollout.to}`, field: "wave", value: `${view.rollout.wave + 1}` }],
      );
      continue;
    }
    if (overtakesItself(draft, part, way.to)) {
      replaceNothing(
        turns,
        way,
        cluster,
        `first nothing may go down any more for ${draft.entry(cluster).grant?.revision}`,
      );
      continue;
    }
    if (!isAsked(turns, cluster) && !leaderAllows(turns, update, view, cluster, follower)) continue;
    const step = sizeStep(turns, part, way.to, way.back ? Number.POSITIVE_INFINITY : allowance);
    if (step.release === 0) {
      const incomplete = view.parts.filter(({ state }) => state === "working").map((each) => each.cluster);
      draft.wait("BatchInProgress", cluster, "the current batch is not complete", "Wait for the batch's instances.", [
        { object: `rollout to ${view.rollout.to}`, field: "not complete", value: incomplete.join(", ") },
      ]);
      continue;
    }
    const busyElsewhere = limits.busy.size > (limits.busy.has(cluster) ? 1 : 0);
    const cure = isInsideTurn(turns, cluster, step);
    if (!cure && step.cost > 0 && (blockedBy !== null || limits.membershipFirst !== null || busyElsewhere)) {
      reportBehind(turns, cluster, limits, busyElsewhere, blockedBy);
      continue;
    }
    if (!cure && !mayCost(turns, cluster, step)) {
      if (step.cost > 0 && !mends(turns, part, way)) blockedBy = cluster;
      continue;
    }
    const leaderMayGo = step.replacesReady && mayTakeLeader(draft, turns.leader, cluster, step.partition, step.below);
    if (leaderMayGo && movesLeaderFirst(draft, cluster, way.to, whyNow(turns, part, way.why))) {
      keep.add(cluster);
    } else {
      release(turns, part, way, step);
    }
    turns.tally.charge(cluster, step.cost, step.own);
    // A cluster that is rolled back may release more instances than the batch has left.
    allowance = Math.max(0, allowance - step.release);
  }
  return keep;
}

function isUnderWay(draft: Draft, cluster: ClusterName): boolean {
  const { turn, done } = draft.entry(cluster);
  return turn === "held" && !done;
}

/**
 * [U6] Begun clusters first, then unhealthy ones (repair), then followers from the highest index down, the leader's
 * last.
 */
function inOrder({ draft, leader }: Turns, update: RollingUpdate, due: readonly Part[]): Part[] {
  const { schedule } = draft.intent;
  const listed = new Map<ClusterName, number>();
  if (schedule.kind === "known") for (const { cluster } of schedule.clusters) listed.set(cluster, listed.size);
  const rank = ({ cluster, released }: Part): number => {
    if (released > 0) return 0;
    if (!viewIn(draft, cluster).healthy) return 1;
    return update.order === "LeaderLast" && mayLead(leader, cluster) ? 3 : 2;
  };
  const within = ({ cluster }: Part): number =>
    update.order === "Listed" ? (listed.get(cluster) ?? Number.MAX_SAFE_INTEGER) : -draft.entry(cluster).index;
  return due
    .map((part) => ({ part, rank: rank(part), within: within(part) }))
    .sort((a, b) => a.rank - b.rank || a.within - b.within)
    .map(({ part }) => part);
}

/** [L2] The leader's cluster waits for every other cluster of its wave, unless it needs repair itself. */
function leaderAllows(
  turns: Turns,
  update: RollingUpdate,
  view: RolloutView,
  cluster: ClusterName,
  follower: Part | undefined,
): boolean {
  const { draft, leader } = turns;
  if (update.order !== "LeaderLast" || !mayLead(leader, cluster) || !viewIn(draft, cluster).healthy) return true;
  if (follower) {
    draft.wait(
      "LeaderLast",
      cluster,
      `it holds the leader; ${follower.cluster} goes first`,
      "Wait for the other clusters.",
      [
        {
          object: cluster,
          field: "leader",
          value: leader.kind === "known" ? (leader.instance ?? "here") : "possibly here",
        },
      ],
    );
    return false;
  }
  return leader.kind === "known" || leaderUnknownForLong(turns, update, view, cluster);
}

/** [L11] Its leader has been asked to move, and no leader is known now: the wait is for the move, not for a leader. */
function isAsked({ draft, leader }: Turns, cluster: ClusterName): boolean {
  return leader.kind === "unknown" && draft.entry(cluster).step?.kind === "transfer";
}

/** [L4] The wait for an unknown leader has a timeout: waiting does not help an application without a leader. */
function leaderUnknownForLong(
  { draft }: Turns,
  update: RollingUpdate,
  view: RolloutView,
  cluster: ClusterName,
): boolean {
  const sinceMs = view.rollout.leaderUnknownSinceMs ?? draft.nowMs;
  if (draft.ledger.rollout && draft.ledger.rollout.leaderUnknownSinceMs === null) {
    draft.set("rollout", { ...draft.ledger.rollout, leaderUnknownSinceMs: sinceMs });
  }
  const patienceMs = update.leaderTransfer
    ? update.leaderTransfer.timeoutSeconds * SECOND_MS
    : LEADER_UNKNOWN_PATIENCE_MS;
  if (draft.nowMs >= sinceMs + patienceMs) return true;
  draft.wakeAt(sinceMs + patienceMs);
  draft.wait(
    "LeaderUnknown",
    cluster,
    "it may hold the leader, but the leader is not known for sure",
    "Check what the members say about the leader.",
    [{ object: cluster, field: "leader", value: "unknown", sinceMs }],
  );
  return false;
}

interface StepSize {
  readonly partition: number;
  /** Instances from here up run the revision already. */
  readonly below: number;
  readonly release: number;
  readonly cost: number;
  /** The cost for the majority: 0 if the step brings one instance back before it takes one down; leavers are added. */
  readonly quorumCost: number;
  /** What it would cost if everything that it replaces were up. */
  readonly own: number;
  readonly replacesReady: boolean;
}

/** [U7] [Q2] How far this step releases the cluster, and how many ready instances it may take down. */
function sizeStep(turns: Turns, part: Part, to: string, allowance: number): StepSize {
  const { draft } = turns;
  const { cluster } = part;
  const { intent } = draft;
  const entry = draft.entry(cluster);
  const replicas = entry.grant?.replicas ?? 0;
  const onIt = entry.grant?.revision === to && !entry.grant.onDelete;
  const from = onIt ? (entry.grant?.partition ?? 0) : replicas;
  const share = onIt || to !== entry.baseRevision ? Math.min(part.share, replicas) : 0;
  const repeats = onIt && !entry.done;
  let partition = repeats ? from : share;
  if (intent.workload.hasPartition && !repeats && from > share) {
    let release = Math.min(from - share, allowance);
    if (intent.memberConcurrency === "Parallel") release = Math.min(release, parallelRoom(turns, cluster));
    if (allowance > 0 && release < 1) release = 1;
    partition = from - release;
  } else if (!repeats && allowance <= 0) {
    partition = from;
  }
  // Instances that were released before and are verified already run the revision.
  const below = onIt && entry.done ? from : replicas;
  const targets = readyTargets(draft, cluster, to, partition, below);
  const { awaited, leaving } = viewIn(draft, cluster);
  const serial = targets > 0 ? serialCost(intent, awaited, 0) : 0;
  const cost = intent.memberConcurrency === "Parallel" ? targets : serial;
  const own = intent.memberConcurrency === "Parallel" ? below - partition : Math.min(1, below - partition);
  const restarts = cost > 0 && bringsBackFirst(draft, cluster, to, partition, below) ? 0 : cost;
  const quorumCost = cost > 0 ? restarts + leaving : 0;
  const release = repeats ? 1 : from - partition;
  return { partition, below, release, cost, quorumCost, own, replacesReady: targets > 0 };
}

/** [U20] A Parallel member takes all that is released down at once, so it is released as far as the budget reaches. */
function parallelRoom({ draft, tally }: Turns, cluster: ClusterName): number {
  const elsewhere = tally.pendingElsewhere(cluster);
  const inBudget = tally.maxUnavailable - tally.unavailable - elsewhere;
  const spare = draft.intent.quorum === "None" ? Number.POSITIVE_INFINITY : tally.ready - elsewhere - tally.majority;
  const room = Math.max(0, Math.min(inBudget, spare));
  return viewIn(draft, cluster).ready <= room ? Number.POSITIVE_INFINITY : room;
}

/**
 * [Q15] The restarts that its turn is for may take as much down anyway: other content inside it cannot make that worse,
 * only end it. A turn to create instances is no turn to restart them.
 */
function isInsideTurn({ draft, tally }: Turns, cluster: ClusterName, { cost }: StepSize): boolean {
  const { turn, step } = draft.entry(cluster);
  const restarts = step?.kind === "update" || step?.kind === "rollback";
  return cost > 0 && turn === "held" && restarts && cost <= tally.pendingIn(cluster);
}

/**
 * [Q21] A StatefulSet in Parallel takes its highest pod of another revision down, even while a lower one is down: given
 * new content in the middle of a step, it may have just taken one for the old content and takes another for the new. So
 * it is paused first (U14), even if the step already counts as stuck.
 */
function overtakesItself(draft: Draft, { cluster, share }: Part, to: string): boolean {
  const { intent } = draft;
  const entry = draft.entry(cluster);
  // A pod that dies meanwhile comes back on the new revision, which is wrong if the partition keeps some.
  if (share > 0 && to !== entry.baseRevision) return false;
  const { protocol, memberOrdered } = intent.workload;
  if (protocol !== "statefulset" || memberOrdered || intent.memberConcurrency === "Parallel") return false;
  const restarts = entry.step?.kind === "update" || entry.step?.kind === "rollback";
  // Even without a step in the ledger, it continues with the revision that it was given.
  const goesOn = entry.turn === "held" ? restarts : entry.baseRevision !== null && entry.grant?.revision !== to;
  return goesOn && !entry.done && !standsStill(intent, entry, viewIn(draft, cluster).present);
}

/** [Q15] If the cluster made no progress in this turn for so long, its instance will not come up by itself. */
function isCureOfStuck(draft: Draft, cluster: ClusterName): boolean {
  return draft.entry(cluster).turn === "held" && isStuck(draft, cluster);
}

/** [S7] Whether quorum or budget alone keep the cluster's next step from starting now. Reports nothing. */
export function isRefused(turns: Turns, part: Part, to: string): boolean {
  const { tally } = turns;
  const { cluster } = part;
  const { cost, quorumCost, own } = sizeStep(turns, part, to, Number.POSITIVE_INFINITY);
  if (cost === 0) return !tally.mayRepair(cluster, own);
  const elsewhere = tally.pendingElsewhere(cluster);
  return !tally.keepsMajority(quorumCost, elsewhere) || !fitsBudget(tally, cluster, cost, spentHere(turns, cluster));
}

/**
 * [Q11] What counts in the budget already and is the step's own: what its turn has down for it, or a doubt about the
 * cluster.
 */
function spentHere({ draft }: Turns, cluster: ClusterName): number {
  const { down, unavailable } = viewIn(draft, cluster);
  const { turn, done } = draft.entry(cluster);
  return turn === "held" && !done ? Math.min(1, down) : unavailable - down;
}

function mayCost(turns: Turns, cluster: ClusterName, { cost, quorumCost, own }: StepSize): boolean {
  const { draft, tally } = turns;
  if (cost === 0) {
    if (tally.mayRepair(cluster, own) || isCureOfStuck(draft, cluster)) return true;
    draft.wait(
      "BudgetExhausted",
      cluster,
      "what is down here may come up by itself, and other turns leave no room for it then",
      "Wait for the other turns to come back.",
      [...budgetEvidence(tally), ...tally.evidence()],
    );
    return false;
  }
  if (!tally.keepsMajority(quorumCost, tally.pendingElsewhere(cluster))) {
    const leavers = Math.max(0, quorumCost - cost);
    const beside = leavers > 0 ? ` beside ${instancesText(leavers)} leaving` : "";
    draft.wait(
      "QuorumAtRisk",
      cluster,
      `the step may take ${instancesText(cost)} down${beside}, other turns ` +
        `${tally.pendingElsewhere(cluster)}; ${tally.ready} of ${tally.voters} voters ` +
        `are ready and ${tally.majority} are needed`,
      tally.keepsMajority(cost, 0)
        ? leavers > 0
          ? "Wait for what leaves to be gone."
          : "Wait for the turns that are out to come back."
        : "Bring the instances that are not ready back; they are named in the members' status.",
      tally.evidence(),
    );
    return false;
  }
  if (!fitsBudget(tally, cluster, cost, spentHere(turns, cluster))) {
    draft.wait(
      "BudgetExhausted",
      cluster,
      spentText(tally, cluster),
      "Wait for them, repair them, or raise maxUnavailable.",
      budgetEvidence(tally),
    );
    return false;
  }
  return true;
}

/** The message that says what uses the budget: instances that are down, other turns, or this step alone. */
function spentText(tally: Turns["tally"], cluster: ClusterName): string {
  const elsewhere = tally.pendingElsewhere(cluster);
  const spent = [
    ...(tally.unavailable > 0 ? [`${instancesText(tally.unavailable)} unavailable`] : []),
    ...(elsewhere > 0 ? [`${instancesText(elsewhere)} that other turns may take down`] : []),
  ];
  const allowed = `maxUnavailable is ${tally.maxUnavailable}`;
  return spent.length === 0
    ? `the step alone may take more down than allowed: ${allowed}`
    : `${spent.join(" and ")}; ${allowed}`;
}

/** [U14] The whole step may take too much down; what is broken already can be replaced without taking anything. */
function mends(turns: Turns, part: Part, way: Way): boolean {
  const { draft, tally } = turns;
  const { cluster } = part;
  const broken = mendable(draft, part);
  if (broken === 0 || !tally.mayRepair(cluster, broken)) return false;
  replaceNothing(turns, way, cluster, "only what is broken is replaced, for the whole step may take a ready one too");
  tally.charge(cluster, 0, broken);
  return true;
}

/** [U14] Grants the revision to a StatefulSet in such a way that no pod goes down for it by itself. */
function replaceNothing(turns: Turns, way: Way, cluster: ClusterName, why: string): void {
  const { draft } = turns;
  const { grant } = draft.entry(cluster);
  if (!grant) return;
  const kind = way.back ? "rollback" : "update";
  draft.write(
    cluster,
    { ...grant, revision: way.to, partition: 0, turn: true, initialClusterState: "existing", onDelete: true },
    { kind, why: `${why} (${figures(turns, cluster)})`, progress: draft.startStep(kind, cluster, way.back) },
  );
}

function release(turns: Turns, part: Part, way: Way, step: StepSize): void {
  const { draft } = turns;
  const { cluster } = part;
  const { grant, baseRevision } = draft.entry(cluster);
  if (!grant) return;
  const kind = way.back ? "rollback" : "update";
  draft.write(
    cluster,
    {
      revision: way.to,
      replicas: grant.replicas,
      partition: step.partition,
      turn: true,
      initialClusterState: baseRevision === null ? grant.initialClusterState : "existing",
      onDelete: false,
    },
    { kind, why: whyNow(turns, part, way.why), progress: draft.startStep(kind, cluster, way.back) },
  );
}

function whyNow(turns: Turns, { cluster, released }: Part, why: string): string {
  const { draft, leader } = turns;
  const { update } = draft.intent;
  const isListed = update.type === "RollingUpdate" && update.order === "Listed";
  const order =
    released > 0
      ? "it continues its own update"
      : !viewIn(draft, cluster).healthy
        ? "unhealthy clusters go first"
        : mayLead(leader, cluster) && !isListed
          ? "the leader's cluster goes last"
          : isListed
            ? "clusters go in the order of the schedule"
            : "followers go from the highest ordinal down";
  return `${why === "" ? order : `${why}; ${order}`} (${figures(turns, cluster)})`;
}

function figures({ tally }: Turns, cluster: ClusterName): string {
  const unavailable = tally.unavailable + tally.pendingElsewhere(cluster);
  return (
    `${tally.ready}/${tally.voters} ready, majority ${tally.majority}, ${unavailable} of ` +
    `${tally.maxUnavailable} unavailable`
  );
}

function reportBehind(
  { draft }: Turns,
  cluster: ClusterName,
  limits: UpdateLimits,
  busyElsewhere: boolean,
  blockedBy: ClusterName | null,
): void {
  if (busyElsewhere) {
    const where = [...limits.busy].join(", ");
    draft.wait(
      "MembershipInProgress",
      cluster,
      `a membership change is under way in ${where}`,
      "Wait for it to finish.",
      [{ object: where, field: "membership change", value: "under way" }],
    );
  } else if (limits.membershipFirst !== null) {
    draft.wait(
      "MembershipFirst",
      cluster,
      `a membership change in ${limits.membershipFirst} is due before the next update step`,
      "Wait for the scaling to finish.",
      [{ object: limits.membershipFirst, field: "membership change", value: "due" }],
    );
  } else {
    const before = blockedBy ?? "a cluster before it";
    draft.wait(
      "OrderFirst",
      cluster,
      `${before} comes before it, and waits for budget or quorum`,
      "Wait; see that cluster's reason.",
      [{ object: before, field: "started", value: "no" }],
    );
  }
}

function reportKept({ draft }: Turns, { cluster, share }: Part, to: string): void {
  const whole = draft.intent.workload.hasPartition;
  draft.wait(
    whole ? "Partitioned" : "PartitionIndivisible",
    cluster,
    `its ${instancesText(share)} will stay on the old revision instead of ${to}`,
    whole
      ? "Lower the partition to continue."
      : "Lower the partition below this cluster's first instance, or use a member that has a partition.",
    [{ object: cluster, field: "instances kept by the partition", value: `${share}` }],
  );
}
