import { isDeepStrictEqual } from "node:util";
import { foundGrantOf, parseFoundGrant, parseLedger, rebuildLedger } from "../ledger.ts";
import { REASONS } from "../reasons.ts";
import { topologyView } from "../topology.ts";
import type { ClusterEntry, ClusterName, Grant, Ledger, RollingUpdate } from "../types.ts";
import type { Deed } from "./member.ts";
import type { Planned, Planner } from "./moves.ts";
import { isReachable, memberOf, type State } from "./state.ts";

/**
 * The rules as an outsider reads them from SPEC.md. Each property looks at one thing that happened and says whether its
 * danger was there at all, and what broke. It shares no code with the planner's own arithmetic.
 */
export type Verdict = "quiet" | "danger" | { readonly broken: string };

export interface PlanProperty {
  readonly on: "plan";
  readonly rule: string;
  readonly name: string;
  readonly check: (planned: Planned, planner: Planner) => Verdict;
}

export interface DeedProperty {
  readonly on: "deed";
  readonly rule: string;
  readonly name: string;
  /** `state`: the world right after the deed; `before`: right before. */
  readonly check: (deed: Deed, before: State, state: State) => Verdict;
}

export type Property = PlanProperty | DeedProperty;

const broken = (text: string): Verdict => ({ broken: text });

// ---------------------------------------------------------------------------------------------------------------------
// Deeds: what really went down, whatever the planner believed.

export const budgetHolds: DeedProperty = {
  on: "deed",
  rule: "Q11",
  name: "by own action no more instances are down than maxUnavailable",
  check: (deed, _before, state) => {
    if (deed.kind !== "down" || deed.cause !== "update") return "quiet";
    let down = 0;
    for (const [cluster, { ownDown }] of Object.entries(state.members)) {
      const entry = state.ledger.clusters[cluster];
      if (cluster !== deed.cluster && entry?.lostAtMs !== null) continue;
      for (const cause of Object.values(ownDown)) if (cause === "update") down++;
    }
    if (down > state.maxUnavailable && state.ledger.clusters[deed.cluster]?.lostAtMs === null) {
      return broken(
        `${deed.cluster} takes ${deed.ordinal} down: ${down} are down by own action, ${state.maxUnavailable} may be`,
      );
    }
    return "danger";
  },
};

export const majorityHolds: DeedProperty = {
  on: "deed",
  rule: "Q8",
  name: "by own action the application never goes below its majority",
  check: (deed, _before, state) => {
    if (deed.kind !== "down" || state.intent.quorum !== "Majority" || state.intent.deletion) return "quiet";
    let voters = 0;
    let down = 0;
    for (const [cluster, entry] of Object.entries(state.ledger.clusters)) {
      if (entry.removedByLoss) continue;
      voters += entry.instances.length;
      const { ownDown } = memberOf(state, cluster);
      for (const { ordinal } of entry.instances) if (ownDown[ordinal] !== undefined) down++;
    }
    const spare = voters <= 2 ? 1 : voters - (Math.floor(voters / 2) + 1);
    if (down > spare)
      return broken(`${deed.cluster} takes ${deed.ordinal} down: ${down} of ${voters} voters by own action`);
    return "danger";
  },
};

export const onlyWhatWasGranted: DeedProperty = {
  on: "deed",
  rule: "U8",
  name: "an instance comes back on what its cluster was granted, or on what it ran before",
  check: (deed, before) => {
    if (deed.kind !== "created") return "quiet";
    const { ran, live, read } = memberOf(before, deed.cluster);
    const ranBefore = ran[deed.ordinal];
    const granted = [live?.grant.revision, read?.grant.revision];
    if (deed.revision !== ranBefore && !granted.includes(deed.revision)) {
      return broken(
        `${deed.cluster}: ${deed.ordinal} ran ${ranBefore}, ${granted[0]} is granted, and it comes back on ${deed.revision}`,
      );
    }
    return ranBefore === undefined ? "quiet" : "danger";
  },
};

export const removedEmpty: DeedProperty = {
  on: "deed",
  rule: "S9",
  name: "a cluster's object is removed only when nothing runs in it",
  check: (deed) => {
    if (deed.kind !== "removed") return "quiet";
    return deed.pods > 0 ? broken(`${deed.cluster} is removed with ${deed.pods} instances`) : "danger";
  },
};

// ---------------------------------------------------------------------------------------------------------------------
// Plans.

function changedGrants({ before, result }: Planned): Array<{ grant: Grant; was: Grant | null; entry: ClusterEntry }> {
  return Object.values(result.ledger.clusters).flatMap((entry) => {
    const { grant } = entry;
    const was = grant ? (before.ledger.clusters[grant.cluster]?.grant ?? null) : null;
    return grant && grant.epoch !== was?.epoch ? [{ grant, was, entry }] : [];
  });
}

/** What the planner was shown of one cluster's instances: members, how many of them not seen ready, and who may go on. */
function shownOf({ before, observations, result }: Planned, cluster: ClusterName) {
  const was = before.ledger.clusters[cluster];
  const is = result.ledger.clusters[cluster];
  const members = is && !is.removedByLoss ? is.instances.filter(({ state }) => state !== "joining").length : 0;
  const voters = is && !is.removedByLoss ? is.instances.length : 0;
  const seen = observations.clusters[cluster];
  let ready = 0;
  if (seen?.kind === "present" && before.intent.fleet[cluster]?.state === "Ready") {
    const { ready: counted = 0 } = seen.counts;
    const serving = seen.instances?.filter((each) => each.ready && !each.terminating).length;
    ready = Math.min(counted, serving ?? counted);
  }
  const lost = (is?.lostAtMs ?? null) !== null;
  return { was, is, lost, voters, ready: Math.min(ready, voters), down: Math.max(0, members - ready) };
}

/** A Serial member may take one down; those that wait for their own take none while one of theirs is down. */
function mayStillTake(state: State, entry: ClusterEntry, shown: { ready: number; down: number }): number {
  const { grant } = entry;
  if (entry.turn === "none" || !grant) return 0;
  const { memberConcurrency, workload } = state.intent;
  if (memberConcurrency === "Parallel") {
    const { pods, live } = memberOf(state, grant.cluster);
    const stale = pods.filter(
      ({ ordinal, revision, phase }) =>
        phase === "ready" && revision !== grant.revision && (live?.ordinals.indexOf(ordinal) ?? 0) >= grant.partition,
    );
    return Math.min(shown.ready, stale.length);
  }
  const { protocol, memberOrdered } = workload;
  const waits = protocol === "contract" || (protocol === "statefulset" && memberOrdered);
  const spent = shown.down > 0 && (waits || isRestarting(state, grant));
  return spent ? 0 : Math.min(1, shown.ready);
}

/** A member that goes from the highest instance down is really in the middle of one, and so takes no other. */
function isRestarting(state: State, { cluster, revision }: Grant): boolean {
  const next = memberOf(state, cluster).pods.findLast((pod) => pod.revision !== revision || pod.phase !== "ready");
  return next !== undefined && (next.phase === "terminating" || next.revision === revision);
}

/** What turns may take over all clusters, before or after a plan. */
function pendingIn(planned: Planned, ledger: Ledger, counts: (cluster: ClusterName) => boolean): number {
  let pending = 0;
  for (const [cluster, entry] of Object.entries(ledger.clusters)) {
    if (counts(cluster) && !(ledger === planned.before.ledger && entry.done)) {
      pending += mayStillTake(planned.before, entry, shownOf(planned, cluster));
    }
  }
  return pending;
}

/** Starts that take ready instances down: an update step written by this plan. */
function costlyStarts(planned: Planned): ClusterName[] {
  const { before, result } = planned;
  if (result.ledger.identity === null || before.intent.deletion) return [];
  return changedGrants(planned).flatMap(({ grant, was, entry }) => {
    const changes = was && (was.revision !== grant.revision || grant.partition < was.partition);
    if (!changes || !grant.processor || grant.replicas !== was.replicas || grant.onDelete) return [];
    const shown = shownOf(planned, grant.cluster);
    return mayStillTake(before, entry, shown) > 0 ? [grant.cluster] : [];
  });
}

export const accidentsShrinkTheRoom: PlanProperty = {
  on: "plan",
  rule: "Q11 Q5",
  name: "a step starts only if what is seen down and what turns may take stays within maxUnavailable",
  check: (planned) => {
    const { before, result } = planned;
    const starts = costlyStarts(planned);
    if (starts.length === 0 || before.intent.update.type !== "RollingUpdate") return "quiet";
    let down = 0;
    let took = 0;
    for (const cluster of Object.keys(result.ledger.clusters)) {
      const shown = shownOf(planned, cluster);
      if (shown.lost) continue;
      down += shown.down;
      // An instance that is down in a cluster that held the turn already is the one it took.
      const isHeld = before.intent.workload.protocol === "ignorant" && shown.was?.turn === "held";
      if (isHeld && shown.was?.done) took += Math.min(1, shown.down);
    }
    const counts = (cluster: ClusterName) => !shownOf(planned, cluster).lost;
    const pending = pendingIn(planned, result.ledger, counts) - took;
    const allowed = Number(before.intent.update.maxUnavailable);
    // What turns that were out already may take is not this plan's doing.
    if (down + pending > allowed && pending > pendingIn(planned, before.ledger, counts)) {
      return broken(`${starts} may start: ${down} seen down, ${pending} may go down, ${allowed} may be`);
    }
    return down > 0 || pending > 1 ? "danger" : "quiet";
  },
};

export const lostVotersCount: PlanProperty = {
  on: "plan",
  rule: "Q8 Q1",
  name: "a step starts only if a majority of all voters, lost ones included, is seen ready afterwards",
  check: (planned) => {
    const { before, result } = planned;
    const starts = costlyStarts(planned);
    if (starts.length === 0 || before.intent.quorum !== "Majority") return "quiet";
    let voters = 0;
    let ready = 0;
    let lost = false;
    for (const cluster of Object.keys(result.ledger.clusters)) {
      const shown = shownOf(planned, cluster);
      voters += shown.voters;
      ready += shown.ready;
      lost ||= shown.lost && shown.voters > 0;
    }
    const counts = (cluster: ClusterName) => isReachable(before, cluster);
    const pending = pendingIn(planned, result.ledger, counts);
    const majority = Math.floor(voters / 2) + 1;
    const allThere = voters <= 2 && ready === voters && pending <= 1;
    if (ready - pending < majority && !allThere && pending > pendingIn(planned, before.ledger, counts)) {
      return broken(
        `${starts} may start: ${ready} of ${voters} voters seen ready, ${pending} may go down, ${majority} are needed`,
      );
    }
    return lost || ready < voters ? "danger" : "quiet";
  },
};

function membershipChanges(ledger: Ledger): ClusterName[] {
  return Object.entries(ledger.clusters).flatMap(([cluster, { instances, done, lostAtMs, removedByLoss }]) =>
    lostAtMs === null && !removedByLoss && !done && instances.some(({ state }) => state !== "member") ? [cluster] : [],
  );
}

export const oneMembershipChange: PlanProperty = {
  on: "plan",
  rule: "S2",
  name: "at most one membership change at a time",
  check: ({ before, result }) => {
    const { intent, ledger } = before;
    if (intent.quorum !== "Majority" || intent.deletion) return "quiet";
    const grew = (cluster: ClusterName) => {
      const was = ledger.clusters[cluster]?.instances.filter(({ state }) => state !== "member").length ?? 0;
      return (result.ledger.clusters[cluster]?.instances.filter(({ state }) => state !== "member").length ?? 0) > was;
    };
    const isStatic = intent.podManagementPolicy === "Parallel" && ledger.currentRevision === null;
    const changing = membershipChanges(result.ledger);
    const started = changing.filter(grew);
    if (started.length === 0 || isStatic) return "quiet";
    if (changing.length > 1) return broken(`membership changes in ${changing} at once; ${started} just started`);
    const cluster = started[0] ?? "";
    const moving = result.ledger.clusters[cluster]?.instances.filter(({ state }) => state !== "member").length ?? 0;
    const moved = ledger.clusters[cluster]?.instances.filter(({ state }) => state !== "member").length ?? 0;
    if (moving - moved > 1) return broken(`${cluster} changes ${moving - moved} members at once`);
    return "danger";
  },
};

export const membershipGoesAlone: PlanProperty = {
  on: "plan",
  rule: "S5",
  name: "a membership change starts only when no other cluster holds a turn or has not returned it",
  check: ({ before, result }) => {
    const { intent } = before;
    if (intent.quorum !== "Majority" || intent.deletion) return "quiet";
    if (intent.podManagementPolicy === "Parallel" && before.ledger.currentRevision === null) return "quiet";
    for (const { cluster, kind } of result.steps) {
      const held = result.ledger.clusters[cluster]?.grant;
      if ((kind !== "grow" && kind !== "shrink") || held?.replicas === before.ledger.clusters[cluster]?.grant?.replicas)
        continue;
      // Instances that were removed from the application while their cluster was lost are no members any more.
      if (result.ledger.clusters[cluster]?.removedByLoss) continue;
      const other = Object.entries(result.ledger.clusters).find(([name, entry]) => {
        const emptied = entry.grant?.replicas === 0 && entry.done;
        return name !== cluster && entry.turn !== "none" && entry.lostAtMs === null && entry.grant && !emptied;
      });
      if (other) return broken(`${cluster} starts to ${kind} while ${other[0]}'s turn is ${other[1].turn}`);
      return "danger";
    }
    return "quiet";
  },
};

export const epochsRise: PlanProperty = {
  on: "plan",
  rule: "G2",
  name: "epochs only rise, and every change of a grant raises its cluster's epoch",
  check: ({ before, result }) => {
    let verdict: Verdict = "quiet";
    for (const [cluster, was] of Object.entries(before.ledger.clusters)) {
      const is = result.ledger.clusters[cluster];
      if (!is) return broken(`${cluster} vanished from the ledger`);
      if (is.epoch < was.epoch) return broken(`${cluster}: the epoch fell from ${was.epoch} to ${is.epoch}`);
      if (!is.grant || !was.grant || isDeepStrictEqual(is.grant, was.grant)) continue;
      verdict = "danger";
      if (is.grant.epoch <= was.grant.epoch) return broken(`${cluster}: the grant changed and its epoch did not`);
    }
    // What stands on the hub is never overtaken by something of the same epoch.
    for (const grant of result.grants) {
      const on = before.hub[grant.cluster]?.grant;
      if (on && on.epoch === grant.epoch && !isDeepStrictEqual(on, grant)) {
        return broken(`${grant.cluster}: epoch ${grant.epoch} was dispatched with another content`);
      }
    }
    return verdict;
  },
};

export const gateNeedsTheWork: PlanProperty = {
  on: "plan",
  rule: "G1 G3 G4 G5",
  name: "a gate opens only when the cluster has really done what this grant asks for",
  check: ({ before, observations, result }) => {
    let verdict: Verdict = "quiet";
    for (const [cluster, entry] of Object.entries(result.ledger.clusters)) {
      const was = before.ledger.clusters[cluster];
      const { grant } = entry;
      if (!grant || !entry.done || (was?.done && was.grant === grant)) continue;
      // A write that changes nothing but the turn or the topology does not close a gate.
      if (was?.done && was.grant && sameWork(was.grant, grant)) continue;
      verdict = "danger";
      const seen = observations.clusters[cluster];
      if (seen?.kind !== "present") return broken(`${cluster}: done, and nothing was seen of it`);
      const proven = was?.grant && sameWork(was.grant, grant) ? was.grant.epoch : grant.epoch;
      if (seen.live.epoch !== proven)
        return broken(`${cluster}: done at ${grant.epoch}, epoch ${seen.live.epoch} was seen`);
      if (seen.health !== "healthy" && grant.replicas > 0)
        return broken(`${cluster}: done, and its health is ${seen.health}`);
      const { pods, ownDown, live } = memberOf(before, cluster);
      if (live?.grant.epoch !== seen.live.epoch) continue;
      const left = pods.filter(
        ({ ordinal, revision }) =>
          !grant.onDelete && live.ordinals.indexOf(ordinal) >= grant.partition && revision !== grant.revision,
      );
      if (left.length > 0)
        return broken(`${cluster}: done, and ${left.map(({ ordinal }) => ordinal)} still run the old revision`);
      const surplus = pods.filter(({ ordinal }) => !live.ordinals.includes(ordinal));
      if (surplus.length > 0)
        return broken(`${cluster}: done, and ${surplus.map(({ ordinal }) => ordinal)} are still there`);
      const down = Object.keys(ownDown).filter((ordinal) => live.ordinals.includes(Number(ordinal)));
      if (down.length > 0) return broken(`${cluster}: done, and ${down} are still down by its own work`);
    }
    return verdict;
  },
};

function sameWork(a: Grant, b: Grant): boolean {
  return (
    a.revision === b.revision && a.replicas === b.replicas && a.partition === b.partition && a.onDelete === b.onDelete
  );
}

export const turnsAreAcknowledged: PlanProperty = {
  on: "plan",
  rule: "G7",
  name: "a turn counts until the cluster shows that it has read the end of it",
  check: ({ before, observations, result }) => {
    let verdict: Verdict = "quiet";
    for (const [cluster, entry] of Object.entries(result.ledger.clusters)) {
      const was = before.ledger.clusters[cluster];
      if (!was || was.turn === "none" || entry.turn !== "none" || !entry.grant) continue;
      verdict = "danger";
      const seen = observations.clusters[cluster];
      const shown = seen?.kind === "present" ? seen.live.epoch : undefined;
      if (shown !== was.grant?.epoch)
        return broken(`${cluster}: its turn is over at ${was.grant?.epoch}, ${shown} was seen`);
      const { read } = memberOf(before, cluster);
      if (before.intent.workload.protocol === "contract" && read?.grant.processor) {
        return broken(`${cluster}: its turn is over, and its operator still believes to have it`);
      }
    }
    return verdict;
  },
};

export const nothingDeletedUnseen: PlanProperty = {
  on: "plan",
  rule: "C2 C6",
  name: "nothing is deleted on a cluster that is away, lost, or came back after it was dropped",
  check: (planned) => {
    const { before, result } = planned;
    let verdict: Verdict = "quiet";
    const { confirmedDrain } = before.intent.requests;
    const guarded = (cluster: ClusterName) => {
      if (!isReachable(before, cluster)) return "away";
      const kept = before.droppedWhileLost.includes(cluster) && !confirmedDrain.includes(cluster);
      return kept && !before.intent.deletion ? "back after it was dropped" : undefined;
    };
    for (const cluster of Object.keys(before.ledger.clusters)) if (guarded(cluster)) verdict = "danger";
    for (const action of result.actions) {
      const why = action.kind === "release" ? undefined : guarded(action.cluster);
      if (why) return broken(`${action.kind} in ${action.cluster}, which is ${why}`);
    }
    for (const { grant, was } of changedGrants(planned)) {
      const why = was && grant.replicas < was.replicas ? guarded(grant.cluster) : undefined;
      if (why) return broken(`${grant.cluster} is to shrink, and is ${why}`);
    }
    return verdict;
  },
};

export const releaseMovesNothing: PlanProperty = {
  on: "plan",
  rule: "T1",
  name: "a release writes no grant and deletes nothing",
  check: (planned) => {
    const { before, result } = planned;
    if (before.intent.deletion?.policy !== "Release") return "quiet";
    const written = changedGrants(planned);
    if (written.length > 0) return broken(`${written.map(({ grant }) => grant.cluster)} get a grant in a release`);
    const deletes = result.actions.find(({ kind }) => kind !== "release");
    if (deletes) return broken(`${deletes.kind} in ${deletes.cluster} in a release`);
    return "danger";
  },
};

export const teardownInReverse: PlanProperty = {
  on: "plan",
  rule: "T2",
  name: "a teardown goes from the highest ordinal down and says what it cannot reach",
  check: ({ before, result }) => {
    if (before.intent.deletion?.policy !== "Teardown") return "quiet";
    let verdict: Verdict = "quiet";
    for (const [cluster, entry] of Object.entries(result.ledger.clusters)) {
      if (!entry.grant || isReachable(before, cluster)) continue;
      verdict = "danger";
      if (!result.waiting.some((each) => each.cluster === cluster && each.code === "TeardownUnreachable")) {
        return broken(`${cluster} cannot be reached, and nobody is told`);
      }
    }
    if (before.intent.podManagementPolicy === "Parallel") return verdict;
    for (const [cluster, entry] of Object.entries(result.ledger.clusters)) {
      const was = before.ledger.clusters[cluster];
      const leaves = entry.instances.filter(
        ({ ordinal, state }) =>
          state === "leaving" && was?.instances.find((each) => each.ordinal === ordinal)?.state !== "leaving",
      );
      if (leaves.length === 0) continue;
      verdict = "danger";
      if (leaves.length > 1) return broken(`${cluster}: ${leaves.length} instances leave at once`);
      const later = Object.entries(result.ledger.clusters).find(
        ([other, { index, grant, done }]) =>
          index > entry.index && grant && isReachable(before, other) && !(grant.replicas === 0 && done),
      );
      if (later) return broken(`${cluster}: ${leaves[0]?.ordinal} leaves before ${later[0]} is empty`);
    }
    return verdict;
  },
};

export const identityIsKept: PlanProperty = {
  on: "plan",
  rule: "I2 I3 I5",
  name: "ordinals are unique, stay in their block, are never renumbered, and not reused while a volume may survive",
  check: ({ before, result }) => {
    const holders = new Map<number, ClusterName>();
    const { identity } = result.ledger;
    if (!identity) return "quiet";
    let verdict: Verdict = "quiet";
    for (const [cluster, entry] of Object.entries(result.ledger.clusters)) {
      const was = before.ledger.clusters[cluster];
      if (was && (was.index !== entry.index || was.start !== entry.start))
        return broken(`${cluster} moved in the order`);
      const had = new Set(was?.instances.map(({ ordinal }) => ordinal));
      const has = entry.instances.map(({ ordinal }) => ordinal);
      const lowest = identity.mode === "Dense" ? 0 : entry.index * identity.blockSize;
      for (const [rank, ordinal] of has.entries()) {
        const holder = holders.get(ordinal);
        if (holder !== undefined) return broken(`ordinal ${ordinal} is held by ${holder} and ${cluster}`);
        holders.set(ordinal, cluster);
        if (identity.mode !== "Dense" && ordinal !== lowest + rank)
          return broken(`${cluster}: ordinal ${ordinal} at place ${rank}`);
        if (identity.mode !== "Dense" && rank >= identity.blockSize)
          return broken(`${cluster}: ${ordinal} is beyond its block`);
        if (had.has(ordinal) || !was) continue;
        verdict = "danger";
        for (const [other, member] of Object.entries(before.members)) {
          const reuses = identity.reuseVolumes && other === cluster;
          if (!reuses && member.volumes.includes(ordinal))
            return broken(`${cluster} gets ordinal ${ordinal}, whose volume is in ${other}`);
          if (other !== cluster && member.pods.some((pod) => pod.ordinal === ordinal)) {
            return broken(`${cluster} gets ordinal ${ordinal}, which runs in ${other}`);
          }
        }
      }
    }
    return verdict;
  },
};

export const topologyIsVersioned: PlanProperty = {
  on: "plan",
  rule: "I7",
  name: "the topology's version only rises, and every grant's version can be rendered",
  check: ({ before, result }) => {
    const { ledger } = result;
    if (ledger.topologyVersion < before.ledger.topologyVersion) return broken("the topology's version fell");
    for (const { cluster, topologyVersion } of result.grants) {
      const was = before.ledger.topologies[String(topologyVersion)];
      const is = ledger.topologies[String(topologyVersion)];
      if (was && is && !isDeepStrictEqual(was, is)) return broken(`version ${topologyVersion} changed its meaning`);
      try {
        topologyView(ledger, topologyVersion);
      } catch (error) {
        return broken(`${cluster}'s grant cannot be rendered: ${String(error)}`);
      }
    }
    return ledger.topologyVersion > before.ledger.topologyVersion ? "danger" : "quiet";
  },
};

export const partitionIsGlobal: PlanProperty = {
  on: "plan",
  rule: "U4",
  name: "the first p instances of the global order are not released",
  check: (planned) => {
    const { before, result } = planned;
    const { update, workload } = before.intent;
    if (update.type !== "RollingUpdate" || update.partition === 0 || result.ledger.rollout?.kind !== "update")
      return "quiet";
    const { to } = result.ledger.rollout;
    const ranks = ordinalsOf(result.ledger);
    const firstReleased = ranks[update.partition] ?? Number.POSITIVE_INFINITY;
    let verdict: Verdict = "quiet";
    for (const { grant, was, entry } of changedGrants(planned)) {
      if (!was || grant.revision !== to || grant.onDelete || grant.replicas !== was.replicas) continue;
      if (was.revision === to && grant.partition >= was.partition) continue;
      if (entry.baseRevision === to) continue;
      verdict = "danger";
      const from = workload.hasPartition ? grant.partition : 0;
      const released = entry.instances[from]?.ordinal;
      if (released !== undefined && released < firstReleased) {
        return broken(`${grant.cluster}: ${released} is released; the first ${update.partition} stay old`);
      }
    }
    return verdict;
  },
};

export const leaderGoesLast: PlanProperty = {
  on: "plan",
  rule: "L2",
  name: "the leader's cluster starts after every other cluster of the open waves",
  check: (planned) => {
    const { before, observations, result } = planned;
    const { update, workload } = before.intent;
    const { rollout } = result.ledger;
    if (update.type !== "RollingUpdate" || update.order !== "LeaderLast" || !workload.reportsLeader || !rollout)
      return "quiet";
    const claims = Object.keys(result.ledger.clusters).filter((cluster) => {
      const seen = observations.clusters[cluster];
      return isReachable(before, cluster) && seen?.kind === "present" && seen.leader.kind === "here";
    });
    const [leader] = claims;
    if (leader === undefined || claims.length > 1) return "quiet";
    const started = changedGrants(planned).find(({ grant }) => grant.cluster === leader);
    if (!started?.was || started.grant.revision !== rollout.to || started.was.revision === rollout.to) return "quiet";
    const shown = shownOf(planned, leader);
    const seen = observations.clusters[leader];
    if (shown.down > 0 || (seen?.kind === "present" && seen.health !== "healthy")) return "quiet";
    const late = Object.keys(result.ledger.clusters).find(
      (cluster) => cluster !== leader && waveOf(update, cluster) <= rollout.wave && isLate(planned, update, cluster),
    );
    return late ? broken(`${leader} leads and starts before ${late} is complete`) : "danger";
  },
};

/** Clusters that this plan gives the rollout's revision for the first time. */
function begins(planned: Planned): ClusterName[] {
  const { rollout } = planned.result.ledger;
  if (rollout?.kind !== "update" || planned.before.intent.deletion) return [];
  return changedGrants(planned).flatMap(({ grant, was, entry }) => {
    const first = was !== null && was.replicas === grant.replicas && was.revision !== rollout.to;
    return first && grant.revision === rollout.to && entry.baseRevision !== rollout.to ? [grant.cluster] : [];
  });
}

function waveOf(update: RollingUpdate, cluster: ClusterName): number {
  const found = update.waves.findIndex(({ clusters }) => clusters.includes(cluster));
  return found < 0 ? update.waves.length : found;
}

/**
 * Takes part in the rollout (not lost, not drained, not kept by the partition), and really has not finished its update: one of
 * its instances that are to be updated runs another revision, or is still down by its own work.
 */
function isLate({ before, result }: Planned, update: RollingUpdate, cluster: ClusterName): boolean {
  const { rollout, clusters } = result.ledger;
  const entry = clusters[cluster];
  const { schedule, workload } = before.intent;
  if (!rollout || !entry?.grant || entry.lostAtMs !== null || entry.removedByLoss) return false;
  if (schedule.kind === "known" && !schedule.clusters.some((each) => each.cluster === cluster && each.replicas > 0))
    return false;
  const firstReleased = ordinalsOf(result.ledger)[update.partition] ?? Number.POSITIVE_INFINITY;
  const lowest = entry.instances[0]?.ordinal ?? 0;
  if (!workload.hasPartition && lowest < firstReleased && update.partition > 0) return false;
  const { pods, ownDown } = memberOf(before, cluster);
  const held = new Set(entry.instances.map(({ ordinal }) => ordinal));
  const stale = pods.some(
    ({ ordinal, revision }) => held.has(ordinal) && ordinal >= firstReleased && revision !== rollout.to,
  );
  return stale || Object.values(ownDown).includes("update");
}

function ordinalsOf(ledger: Ledger): number[] {
  return Object.values(ledger.clusters)
    .flatMap(({ instances, removedByLoss }) => (removedByLoss ? [] : instances.map(({ ordinal }) => ordinal)))
    .sort((a, b) => a - b);
}

export const wavesGoInOrder: PlanProperty = {
  on: "plan",
  rule: "W3",
  name: "a wave opens only when the one before is complete and approved, and its clusters begin only then",
  check: (planned) => {
    const { before, result } = planned;
    const { update, requests } = before.intent;
    const { rollout } = result.ledger;
    if (update.type !== "RollingUpdate" || update.waves.length === 0 || rollout?.kind !== "update") return "quiet";
    const early = begins(planned).find((cluster) => waveOf(update, cluster) > rollout.wave);
    if (early)
      return broken(`${early} begins in wave ${waveOf(update, early) + 1}, and wave ${rollout.wave + 1} is open`);
    // A straggler of a rollout that has ended knows no waves.
    if (rollout.to === rollout.from) return "quiet";
    const was = before.ledger.rollout?.to === rollout.to ? before.ledger.rollout.wave : 0;
    const participants = Object.keys(result.ledger.clusters);
    for (let wave = was; wave < Math.min(rollout.wave, update.waves.length); wave++) {
      // What this plan itself has just begun in the wave that it opened is late for nobody.
      const late = participants.find((cluster) => waveOf(update, cluster) <= wave && isLate(planned, update, cluster));
      if (late) return broken(`wave ${wave + 1} is passed, and ${late} is not complete`);
      const approved = requests.approvals.some((each) => each.wave === wave && each.revision === rollout.to);
      const later = participants.some((cluster) => waveOf(update, cluster) > wave && isLate(planned, update, cluster));
      if (later && update.waves[wave]?.approval === "Manual" && !approved)
        return broken(`nobody approved wave ${wave + 1}`);
    }
    return rollout.wave > was ? "danger" : "quiet";
  },
};

export const pauseHolds: PlanProperty = {
  on: "plan",
  rule: "U3",
  name: "while the rollout is paused no cluster begins its update",
  check: (planned) => {
    const { update } = planned.before.intent;
    if (update.type !== "RollingUpdate" || !update.paused) return "quiet";
    const begun = begins(planned);
    return begun.length > 0 ? broken(`${begun} begin although the rollout is paused`) : "danger";
  },
};

export const gateIsHeld: PlanProperty = {
  on: "plan",
  rule: "G9",
  name: "a gate stays open for minReadySeconds before it counts",
  check: ({ before, result }) => {
    const { minReadySeconds } = before.intent;
    if (minReadySeconds === 0) return "quiet";
    let verdict: Verdict = "quiet";
    for (const [cluster, entry] of Object.entries(result.ledger.clusters)) {
      const was = before.ledger.clusters[cluster];
      if (!entry.done || !was || was.done || entry.grant?.replicas === 0) continue;
      verdict = "danger";
      const heldMs = was.openSinceMs === null ? 0 : before.nowMs - was.openSinceMs;
      if (heldMs < minReadySeconds * 1000) return broken(`${cluster}: done after ${heldMs} ms`);
    }
    return verdict;
  },
};

export const everyWaitIsExplained: PlanProperty = {
  on: "plan",
  rule: "R1",
  name: "whatever is wanted and does not happen has a reason with a remedy, a grant on its way, or a time",
  check: ({ before, result }) => {
    for (const { code, message, remedy } of result.waiting) {
      if (!(code in REASONS) || message === "" || remedy === "") return broken(`a reason without words: ${code}`);
    }
    const { intent } = before;
    if (intent.deletion?.policy === "Release" || result.finished) return "quiet";
    const { schedule, revision, deletion } = intent;
    const open = Object.entries(result.ledger.clusters).find(([cluster, entry]) => {
      const wanted =
        schedule.kind === "known" && !deletion
          ? (schedule.clusters.find((each) => each.cluster === cluster)?.replicas ?? 0)
          : 0;
      if (entry.instances.length !== wanted || (entry.grant !== null && !entry.done)) return true;
      return entry.grant !== null && revision.kind === "ready" && entry.grant.revision !== revision.id;
    });
    if (!open) return "quiet";
    const onItsWay = result.grants.some(({ cluster, epoch }) => {
      const seen = before.seen[cluster]?.observation;
      return seen?.kind !== "present" || seen.live.epoch !== epoch;
    });
    if (result.waiting.length === 0 && result.actions.length === 0 && !onItsWay && result.requeueAt === undefined) {
      return broken(`${open[0]} is not as asked for, nothing is on its way, and nothing says why`);
    }
    return "danger";
  },
};

export const requeueIsInTheFuture: PlanProperty = {
  on: "plan",
  rule: "R5",
  name: "the time to look again lies ahead",
  check: ({ before, result }) => {
    if (result.requeueAt === undefined) return "quiet";
    return result.requeueAt <= before.nowMs
      ? broken(`requeueAt ${result.requeueAt} is not after ${before.nowMs}`)
      : "danger";
  },
};

export const planningAgainChangesNothing: PlanProperty = {
  on: "plan",
  rule: "R2",
  name: "planning again on the result with the same inputs changes nothing",
  check: ({ before, observations, result }, planner) => {
    const again = planner(before.intent, result.ledger, observations, before.nowMs);
    if (again.steps.length > 0) return broken(`a second plan starts ${JSON.stringify(again.steps)}`);
    for (const key of ["ledger", "grants", "actions", "waiting", "figures", "requeueAt"] as const) {
      if (!isDeepStrictEqual(again[key], result[key])) {
        return broken(
          `a second plan has other ${key}: ${JSON.stringify(result[key])} became ${JSON.stringify(again[key])}`,
        );
      }
    }
    return result.steps.length > 0 ? "danger" : "quiet";
  },
};

export const sameInputsSameAnswer: PlanProperty = {
  on: "plan",
  rule: "R2",
  name: "the same inputs give the same answer",
  check: ({ before, observations, result }, planner) => {
    const twin = planner(before.intent, before.ledger, observations, before.nowMs);
    return isDeepStrictEqual(twin, result) ? "danger" : broken("two plans on the same inputs differ");
  },
};

export const ledgerSurvivesStorage: PlanProperty = {
  on: "plan",
  rule: "I9",
  name: "a ledger that is written and read again is the same",
  check: ({ result }) => {
    const stored: unknown = JSON.parse(JSON.stringify(result.ledger));
    return isDeepStrictEqual(parseLedger(stored), result.ledger)
      ? "danger"
      : broken("the ledger does not survive JSON");
  },
};

export const rebuiltLedgerMovesNothing: PlanProperty = {
  on: "plan",
  rule: "I9",
  name: "from rest, a ledger rebuilt from the grants keeps every identity and moves nothing",
  check: ({ before, observations, result }, planner) => {
    const { ledger } = result;
    if (before.intent.deletion || ledger.rollout || ledger.halt || ledger.override || result.steps.length > 0)
      return "quiet";
    const entries = Object.entries(ledger.clusters).filter(([, { grant }]) => grant !== null);
    const atRest = entries.every(([cluster, { done, turn, lostAtMs, removedByLoss, grant }]) => {
      const seen = observations.clusters[cluster];
      const shown = seen?.kind === "present" && seen.live.epoch === grant?.epoch;
      return done && turn === "none" && lostAtMs === null && !removedByLoss && shown && isReachable(before, cluster);
    });
    if (!atRest || entries.length === 0 || result.waiting.length > 0) return "quiet";
    const found = entries.flatMap(([cluster]) => foundGrantOf(ledger, cluster) ?? []);
    const restored = rebuildLedger(found.map((each) => parseFoundGrant(JSON.parse(JSON.stringify(each)))));
    const again = planner(before.intent, restored, observations, before.nowMs);
    if (again.actions.length > 0) return broken(`a rebuilt ledger acts: ${JSON.stringify(again.actions)}`);
    for (const [cluster, { grant, instances }] of entries) {
      const rebuilt = again.ledger.clusters[cluster];
      if (!isDeepStrictEqual(rebuilt?.instances, instances)) return broken(`${cluster} lost its identity`);
      if (!rebuilt?.grant || !grant || !sameWork(rebuilt.grant, grant))
        return broken(`${cluster} is moved by a rebuilt ledger`);
    }
    return "danger";
  },
};

/** Checked on every plan. */
export const PROPERTIES: readonly Property[] = [
  budgetHolds,
  majorityHolds,
  onlyWhatWasGranted,
  removedEmpty,
  accidentsShrinkTheRoom,
  lostVotersCount,
  oneMembershipChange,
  membershipGoesAlone,
  epochsRise,
  gateNeedsTheWork,
  turnsAreAcknowledged,
  nothingDeletedUnseen,
  releaseMovesNothing,
  teardownInReverse,
  identityIsKept,
  topologyIsVersioned,
  partitionIsGlobal,
  leaderGoesLast,
  wavesGoInOrder,
  pauseHolds,
  gateIsHeld,
  everyWaitIsExplained,
  requeueIsInTheFuture,
  planningAgainChangesNothing,
];

/** Checked on a part of the plans: they cost much and depend on little. */
export const COSTLY_PROPERTIES: readonly Property[] = [
  sameInputsSameAnswer,
  ledgerSurvivesStorage,
  rebuiltLedgerMovesNothing,
];
