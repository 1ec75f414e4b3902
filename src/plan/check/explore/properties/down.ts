import type { ClusterEntry, ClusterName, Grant, Ledger, RevisionId } from "../../../types/index.ts";
import type { Planned } from "../controller.ts";
import { allowedBy } from "../person.ts";
import { isReachable, type Live, memberOf, type Pod, placeOf, type State } from "../state.ts";
import { broken, changedGrants, type DeedProperty, type PlanAlone, type WorldProperty } from "./property.ts";

// What really went down, whatever the planner believed.

export const budgetHolds: DeedProperty = {
  on: "deed",
  rule: "Q11",
  name: "by own action no more instances are down than maxUnavailable",
  check: (deed, _before, state) => {
    if (deed.kind !== "down" || deed.cause !== "update") return "quiet";
    let down = 0;
    for (const [cluster, place] of Object.entries(state.places)) {
      const { ownDown } = place.member;
      const entry = state.ledger.clusters[cluster];
      if (cluster !== deed.cluster && entry?.presence.kind === "lost") continue;
      // What leaves spends no budget any more.
      for (const { ordinal, state: is } of entry?.instances ?? [])
        if (is !== "leaving" && ownDown[ordinal] === "update") down++;
    }
    if (down > state.maxUnavailable && state.ledger.clusters[deed.cluster]?.presence.kind !== "lost") {
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
      if (entry.votes !== "counted") continue;
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

// What may go down, by what the planner was shown.

/** What the planner saw of one cluster's instances: members, how many are not ready, and who may continue. */
export function shownOf({ before, observations, result }: PlanAlone, cluster: ClusterName) {
  const was = before.ledger.clusters[cluster];
  const is = result.ledger.clusters[cluster];
  const members = is && is.votes === "counted" ? is.instances.filter(({ state }) => state !== "joining").length : 0;
  const voters = is && is.votes === "counted" ? is.instances.length : 0;
  const seen = observations.clusters[cluster];
  let ready = 0;
  if (seen?.kind === "present" && before.intent.fleet[cluster]?.state === "Ready") {
    const { ready: counted = 0 } = seen.counts;
    const serving = seen.instances?.filter((each) => each.ready && !each.terminating).length;
    ready = Math.min(counted, serving ?? counted);
  }
  const lost = is?.presence.kind === "lost";
  return { was, is, lost, voters, ready: Math.min(ready, voters), down: Math.max(0, members - ready) };
}

/** A Serial member may take one down; those that wait for their own take none while one of theirs is down. */
function mayStillTake(state: State, entry: ClusterEntry, shown: { ready: number; down: number }): number {
  const { grant } = entry;
  // [U14] With OnDelete no ready instance is taken down.
  if (entry.turn === "none" || !grant || grant.onDelete) return 0;
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

/**
 * A member that goes from the highest instance down has one first that is down already, and takes no other before it is
 * back. If that one is up again by now, one more is ready than was seen.
 */
function isRestarting(state: State, { cluster, revision }: Grant): boolean {
  const { member, seen } = placeOf(state, cluster);
  return [member.pods, seen?.pods ?? []].some((pods) => isFirstDown(pods, member.live, revision));
}

function isFirstDown(pods: readonly Pod[], live: Live | null, revision: RevisionId): boolean {
  for (const ordinal of [...(live?.ordinals ?? [])].reverse()) {
    const pod = pods.find((each) => each.ordinal === ordinal);
    // It is created next, before anything else goes down.
    if (!pod) return true;
    if (pod.revision !== revision || pod.phase !== "ready") return pod.phase !== "ready";
  }
  return false;
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
    const isStep = grant.processor || before.intent.workload.protocol === "statefulset";
    if (!changes || !isStep || grant.replicas !== was.replicas || grant.onDelete) return [];
    const shown = shownOf(planned, grant.cluster);
    return mayStillTake(before, entry, shown) > 0 ? [grant.cluster] : [];
  });
}

export const accidentsShrinkTheRoom: WorldProperty = {
  on: "world",
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
    const allowed = allowedBy(before.intent);
    // What turns that were out already may take is not this plan's doing.
    if (down + pending > allowed && pending > pendingIn(planned, before.ledger, counts)) {
      return broken(`${starts} may start: ${down} seen down, ${pending} may go down, ${allowed} may be`);
    }
    return down > 0 || pending > 1 ? "danger" : "quiet";
  },
};

export const lostVotersCount: WorldProperty = {
  on: "world",
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
    const counts = (cluster: ClusterName) => isReachable(before.intent, planned.observations, cluster);
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
