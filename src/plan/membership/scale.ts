import { mayLead, mayTakeLeader, movesLeaderFirst } from "../evidence/leader.ts";
import { areLeaversGone, dropLeavers } from "../evidence/settle.ts";
import { viewIn } from "../evidence/view.ts";
import { withState } from "../identity/identity.ts";
import type { Draft } from "../ledger/draft.ts";
import type { ClusterName, Grant } from "../types/index.ts";
import { isStuck } from "../update/failure.ts";
import type { RolloutView, Turns } from "../update/rollout.ts";
import { needsTurn } from "../update/share.ts";
import { isRefused, type UpdateLimits } from "../update/update.ts";
import { type Desired, isDraining, scheduledTotal } from "./desired.ts";
import {
  addInstance,
  busyClusters,
  canHost,
  heldCount,
  isInterrupted,
  memberTotal,
  newcomerRevision,
  nextOrdinal,
  outstandingAdditions,
  topInstance,
  topMayBeReady,
  turnElsewhere,
} from "./member.ts";

export interface ScaleOutcome extends UpdateLimits {
  /** Clusters that keep a finished turn because they are asked to transfer the leader. */
  readonly keep: ReadonlySet<ClusterName>;
}

/**
 * [S2] Starts the next membership change. With a majority to keep, or in OrderedReady, it is one instance in one
 * cluster at a time; without either, every cluster moves by its whole difference at once.
 */
export function scale(turns: Turns, desired: Desired, rollout: RolloutView | null): ScaleOutcome {
  const { draft } = turns;
  const facts = gather(draft, desired);
  const atOnce = draft.intent.quorum === "None" && draft.intent.podManagementPolicy === "Parallel";
  const keep = new Set<ClusterName>();
  cancelJoins(turns, desired, atOnce);
  let membershipFirst: ClusterName | null = null;
  for (const cluster of draft.order) {
    const outcome = takeUp(turns, desired, cluster, atOnce);
    if (outcome === "waitsForTurn") membershipFirst = cluster;
    if (outcome !== "nothing" && !atOnce) return { membershipFirst, busy: busyClusters(draft), keep };
  }
  for (const cluster of draft.order) {
    const outcome = grow(turns, desired, rollout, cluster, atOnce, facts);
    if (outcome === "waitsForTurn") membershipFirst = cluster;
    if (outcome === "started" && !atOnce) return { membershipFirst, busy: busyClusters(draft), keep };
    if (outcome === "waitsForTurn" && !atOnce) break;
  }
  for (const cluster of leaderLast(turns)) {
    // [S13] Growth may wait for a cluster that is to be drained itself, and never ends what it does: only that one goes
    // first.
    if (membershipFirst !== null && !atOnce && !goesBeforeGrowth(draft, desired, cluster)) continue;
    const outcome = shrink(turns, desired, cluster, atOnce, facts, keep);
    if (outcome === "waitsForTurn") membershipFirst = cluster;
    if (outcome !== "nothing" && !atOnce) break;
  }
  return { membershipFirst: atOnce ? null : membershipFirst, busy: atOnce ? new Set() : busyClusters(draft), keep };
}

/** What the whole fleet says, gathered once per pass. */
interface Facts {
  readonly total: number;
  readonly members: number;
  readonly additions: number;
  /** A lost cluster that the schedule has left, and whose instances still vote. */
  readonly unconfirmedLoss: ClusterName | undefined;
  /** A membership change is under way. */
  readonly busy: boolean;
}

function gather(draft: Draft, desired: Desired): Facts {
  const { schedule } = draft.intent;
  const scheduled = new Map<ClusterName, number>();
  if (schedule.kind === "known")
    for (const { cluster, replicas } of schedule.clusters) scheduled.set(cluster, replicas);
  return {
    total: scheduledTotal(draft),
    members: memberTotal(draft),
    additions: outstandingAdditions(draft, desired),
    busy: busyClusters(draft).size > 0,
    unconfirmedLoss: draft.order.find((cluster) => {
      const { presence, votes, instances } = draft.entry(cluster);
      return presence.kind === "lost" && votes === "counted" && instances.length > (scheduled.get(cluster) ?? 0);
    }),
  };
}

type Outcome = "nothing" | "started" | "waitsForTurn";

/** [C9] Gives the turn for an interrupted membership change again, on the content that was granted. */
function takeUp({ draft, tally }: Turns, desired: Desired, cluster: ClusterName, atOnce: boolean): Outcome {
  const entry = draft.entry(cluster);
  if (!entry.grant || !isInterrupted(entry) || viewIn(draft, cluster).reach !== "ready" || !needsTurn(draft, cluster))
    return "nothing";
  const leaves = entry.instances.some(({ state }) => state === "leaving");
  // [C14] If its instances no longer vote, only their removal continues, after a user has allowed the drain.
  if (entry.votes !== "counted" && (!leaves || !isDraining(desired, cluster))) return "nothing";
  const other = turnElsewhere(draft, cluster);
  if (other !== undefined && !atOnce) return waitForTurn(draft, cluster, other);
  if (leaves && !tally.keepsMajority(viewIn(draft, cluster).ready > 0 ? 1 : 0, tally.pendingElsewhere(cluster))) {
    draft.wait(
      "QuorumAtRisk",
      cluster,
      `the removal that was interrupted may leave ${tally.ready - 1} ready of ${tally.voters} ` +
        `voters; ${tally.majority} are needed`,
      "Bring the instances that are not ready back first.",
      tally.evidence(),
    );
    return "nothing";
  }
  giveTurnAgain(draft, cluster, entry.grant, leaves ? "shrink" : "grow");
  return "started";
}

export function giveTurnAgain(draft: Draft, cluster: ClusterName, grant: Grant, kind: "grow" | "shrink"): void {
  draft.write(
    cluster,
    { ...grant, turn: true },
    { kind, why: "it was interrupted and is taken up again", progress: draft.startStep(kind, cluster) },
  );
}

function grow(
  turns: Turns,
  desired: Desired,
  rollout: RolloutView | null,
  cluster: ClusterName,
  atOnce: boolean,
  facts: Facts,
): Outcome {
  const { draft, tally, target } = turns;
  const entry = draft.entry(cluster);
  const missing = (desired.get(cluster) ?? 0) - heldCount(entry);
  if (missing <= 0 || !draft.mayGrow || entry.votes !== "counted") return "nothing";
  if (!canHost(draft, cluster, atOnce ? missing : 1)) return "nothing";
  // Its own gate says what it waits for.
  if (entry.grant ? !entry.done : entry.instances.length > 0) return "nothing";
  if (lacksEvidence(turns, facts, cluster) || updatesFirst(turns, rollout, cluster)) return "nothing";
  const ordinal = nextOrdinal(draft, cluster);
  if (ordinal === undefined) return "nothing";
  const revision = newcomerRevision(draft, target, rollout, cluster, ordinal);
  if (revision === null) return "nothing";
  const other = turnElsewhere(draft, cluster);
  if (!tally.toleratesJoiner(0) && !(other !== undefined && facts.busy)) {
    draft.wait(
      "QuorumAtRisk",
      cluster,
      `a new voter would raise the majority of ${tally.voters} voters beyond the ${tally.ready} that are ready`,
      "Bring the instances that are not ready back first.",
      tally.evidence(),
    );
    return "nothing";
  }
  if (other !== undefined && !atOnce) return waitForTurn(draft, cluster, other);
  const first = tally.voters === 0;
  const added = atOnce ? missing : 1;
  const isBeyond = draft.identity.mode === "Dense" && ordinal > draft.ledger.nextOrdinal;
  const beyond = isBeyond ? ", past those with old volumes" : "";
  addInstance(draft, cluster, ordinal);
  for (let i = 1; i < added; i++) {
    const next = nextOrdinal(draft, cluster);
    if (next === undefined) break;
    addInstance(draft, cluster, next);
  }
  const { instances, grant } = draft.entry(cluster);
  const kind = draft.ledger.currentRevision === null ? "deploy" : "grow";
  draft.write(
    cluster,
    {
      revision,
      replicas: instances.length,
      partition: grant?.partition ?? 0,
      turn: true,
      initialClusterState: first ? "new" : "existing",
      onDelete: grant?.onDelete ?? false,
    },
    {
      kind,
      why:
        `${kind === "deploy" ? "the next instance in the global order" : "scaled out"}: ordinal ` +
        `${ordinal}${beyond} (${tally.ready}/${tally.voters} ready)`,
      progress: draft.startStep(kind, cluster),
    },
  );
  return "started";
}

/**
 * [S13] Two kinds of clusters are drained before others grow. First, a cluster to be drained that is stuck, or that was
 * interrupted between two turns: no other rule gives it the turn again. Second, a cluster that came back after its
 * instances were voted out, once a user has allowed its drain: they do not vote, and its old step may never end.
 */
function goesBeforeGrowth(draft: Draft, desired: Desired, cluster: ClusterName): boolean {
  const entry = draft.entry(cluster);
  if (heldCount(entry) <= (desired.get(cluster) ?? 0)) return false;
  if (entry.votes !== "counted") return true;
  const isLeftAlone = entry.turn === "none" || (entry.turn === "held" && entry.step !== null);
  return isLeftAlone && !entry.done && isStuck(draft, cluster);
}

/** [S3] Removing goes from the highest ordinal down, the leader's cluster last. */
function leaderLast({ draft, leader }: Turns): ClusterName[] {
  const down = [...draft.order].reverse();
  return [
    ...down.filter((cluster) => !mayLead(leader, cluster)),
    ...down.filter((cluster) => mayLead(leader, cluster)),
  ];
}

function shrink(
  turns: Turns,
  desired: Desired,
  cluster: ClusterName,
  atOnce: boolean,
  facts: Facts,
  keep: Set<ClusterName>,
): Outcome {
  const { draft, tally, leader } = turns;
  const entry = draft.entry(cluster);
  const surplus = heldCount(entry) - (desired.get(cluster) ?? 0);
  const top = topInstance(entry);
  if (surplus <= 0 || !top || !entry.grant || viewIn(draft, cluster).reach !== "ready") return "nothing";
  if (entry.instances.some(({ state }) => state === "leaving")) {
    // [S12] The remaining instances never become ready: a cluster that is drained further need not wait for them.
    if (!areLeaversGone(draft, cluster) || !isStuck(draft, cluster)) return "nothing";
    dropLeavers(draft, cluster);
    return "started";
  }
  const leaver = topMayBeReady(draft, cluster, top.ordinal) ? 1 : 0;
  const cost = leaver + takesBeside(draft, cluster, leaver);
  if (cost > 0 && entry.votes === "counted" && facts.members - 1 < facts.total && facts.additions > 0) {
    draft.wait(
      "AddBeforeRemove",
      cluster,
      `ordinal ${top.ordinal} leaves when those that replace it are there`,
      "Wait for the additions.",
      [{ object: "all clusters", field: "instances to add first", value: `${facts.additions}` }],
    );
    return "nothing";
  }
  if (!tally.keepsMajority(cost, atOnce ? tally.pendingElsewhere(cluster) : 0)) {
    draft.wait(
      "QuorumAtRisk",
      cluster,
      `removing ordinal ${top.ordinal} may leave ${tally.ready - cost} ready of ${tally.voters} ` +
        `voters; ${tally.majority} are needed`,
      "Bring the instances that are not ready back first, or remove one of those.",
      tally.evidence(),
    );
    return "nothing";
  }
  const other = turnElsewhere(draft, cluster);
  if (other !== undefined && !atOnce) return waitForTurn(draft, cluster, other);
  const newest = draft.ledger.rollout?.to ?? draft.ledger.currentRevision;
  // [C14] Instances that were voted out do not vote, and no topology lists those that would stay: remove all at once.
  const count = atOnce || entry.votes !== "counted" ? surplus : 1;
  const leaderMayGo = cost > 0 && mayTakeLeader(draft, leader, cluster, entry.instances.indexOf(top) + 1 - count);
  if (leaderMayGo && movesLeaderFirst(draft, cluster, newest, "the leader's instance is to leave")) {
    keep.add(cluster);
    return "started";
  }
  takeTop(draft, cluster, count, `scaled in: ordinal ${top.ordinal} (${tally.ready}/${tally.voters} ready)`);
  return "started";
}

/**
 * [Q8] What a step under way in the leaver's own cluster may take: before its operator reads that one is to leave, and
 * after that one is gone. A member that waits for the leaver to come up waits no longer then, and the leaver still
 * votes.
 */
function takesBeside(draft: Draft, cluster: ClusterName, leaver: number): number {
  const { done, step } = draft.entry(cluster);
  const { pending, ready } = viewIn(draft, cluster);
  if (done) return 0;
  const restarts = step === null || step.kind === "update" || step.kind === "rollback";
  return restarts && draft.intent.memberConcurrency === "Serial"
    ? Math.max(pending, Math.min(1, Math.max(0, ready - leaver)))
    : pending;
}

/**
 * [S8] Marks the highest instances as leaving and grants the smaller number. They vote until the gate says they are
 * gone.
 */
export function takeTop(draft: Draft, cluster: ClusterName, count: number, why: string): void {
  let { instances } = draft.entry(cluster);
  for (let i = 0; i < count; i++) {
    const top = instances.findLast(({ state }) => state !== "leaving");
    if (top) instances = withState(instances, top.ordinal, "leaving");
  }
  const { grant } = draft.patch(cluster, { instances });
  if (!grant) return;
  draft.write(
    cluster,
    {
      revision: grant.revision,
      replicas: Math.max(0, grant.replicas - count),
      partition: grant.partition,
      turn: true,
      initialClusterState: grant.initialClusterState,
      onDelete: grant.onDelete,
    },
    { kind: "shrink", why, progress: draft.startStep("shrink", cluster) },
  );
}

/**
 * [S10] A join that is no longer wanted is cancelled in the same turn; it need not finish first. The instance may come
 * up at any moment, so it is removed like any other: one at a time, and one that may be serving only if the majority
 * stays. The next one is removed when the previous one is gone; its readiness does not matter, because it leaves, too.
 */
function cancelJoins({ draft, tally }: Turns, desired: Desired, atOnce: boolean): void {
  for (const cluster of draft.order) {
    const entry = draft.entry(cluster);
    if (entry.done || entry.turn !== "held" || viewIn(draft, cluster).reach !== "ready") continue;
    const surplus = heldCount(entry) - (desired.get(cluster) ?? 0);
    const joining = entry.instances.filter(({ state }) => state === "joining").length;
    const cancelled = Math.min(surplus, joining);
    if (cancelled <= 0) continue;
    const serves = viewIn(draft, cluster).serving > heldCount(entry) - joining;
    if (serves && !tally.keepsMajority(1, tally.pendingElsewhere(cluster))) continue;
    if (entry.instances.some(({ state }) => state === "leaving")) {
      if (!areLeaversGone(draft, cluster)) continue;
      dropLeavers(draft, cluster);
    }
    takeTop(draft, cluster, atOnce ? cancelled : 1, "the join is no longer wanted");
  }
}

/**
 * [S7] A cluster that the rollout can reach now is updated before it grows. A cluster that is held back grows on the
 * revision that it runs. This includes a cluster that only quorum or budget hold back while no other cluster works: the
 * new instance may be what they lack.
 */
function updatesFirst(turns: Turns, rollout: RolloutView | null, cluster: ClusterName): boolean {
  const { draft } = turns;
  const part = rollout?.parts.find((each) => each.cluster === cluster);
  if (!rollout || rollout.held !== null || part?.state !== "due" || !rollout.isOpen(cluster)) return false;
  if (turnElsewhere(draft, cluster) === undefined && isRefused(turns, part, rollout.rollout.to)) return false;
  draft.wait(
    "UpdateBeforeGrowth",
    cluster,
    `it is updated to ${rollout.rollout.to} before it grows`,
    "Wait for its update.",
    [{ object: cluster, field: "revision", value: `${draft.entry(cluster).grant?.revision ?? "none"}` }],
  );
  return true;
}

/** [C13] While a lost cluster's instances still vote, more instances elsewhere are replacements, and need evidence. */
function lacksEvidence({ draft, tally }: Turns, { total, unconfirmedLoss }: Facts, cluster: ClusterName): boolean {
  if (unconfirmedLoss === undefined || tally.voters < total) return false;
  const held = draft.entry(unconfirmedLoss).instances.length;
  draft.wait(
    "WaitingForLossEvidence",
    cluster,
    `its new instances would replace those of ${unconfirmedLoss}, which may still be alive`,
    `Have the application remove the old members, or run 'lockstep confirm-lost ${unconfirmedLoss}'.`,
    [{ object: `cluster ${unconfirmedLoss}`, field: "instances", value: `${held}, not confirmed removed` }],
  );
  return true;
}

function waitForTurn(draft: Draft, cluster: ClusterName, other: ClusterName): Outcome {
  draft.wait(
    "MembershipInProgress",
    cluster,
    `${other} holds the turn; membership changes go alone`,
    "Wait for it to finish.",
    [{ object: other, field: "turn", value: draft.entry(other).turn }],
  );
  return "waitsForTurn";
}
