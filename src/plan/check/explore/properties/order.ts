import type { ClusterName, Ledger, RollingUpdate } from "../../../types/index.ts";
import type { Planned } from "../controller.ts";
import { isReachable, memberOf } from "../state.ts";
import { shownOf } from "./down.ts";
import {
  broken,
  changedGrants,
  type PlanAlone,
  type PlanProperty,
  type Verdict,
  type WorldProperty,
} from "./property.ts";

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

export const leaderGoesLast: WorldProperty = {
  on: "world",
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
      return (
        isReachable(before.intent, observations, cluster) && seen?.kind === "present" && seen.leader.kind === "here"
      );
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

export const leaderIsAsked: PlanProperty = {
  on: "plan",
  rule: "L6 L7",
  name: "before a ready instance of the leader's cluster may go down, the leader is asked to move",
  check: (planned) => {
    const { before, observations, result } = planned;
    const { update, workload, deletion } = before.intent;
    if (update.type !== "RollingUpdate" || !update.leaderTransfer || !workload.reportsLeader || deletion)
      return "quiet";
    const isWell = (cluster: ClusterName) => {
      const seen = observations.clusters[cluster];
      if (!isReachable(before.intent, observations, cluster) || seen?.kind !== "present") return false;
      return seen.health === "healthy" && (seen.counts.ready ?? 0) > 0 && shownOf(planned, cluster).down === 0;
    };
    const claims = Object.keys(result.ledger.clusters).filter((cluster) => {
      const seen = observations.clusters[cluster];
      return (
        isReachable(before.intent, observations, cluster) && seen?.kind === "present" && seen.leader.kind === "here"
      );
    });
    const [leader] = claims;
    if (leader === undefined || claims.length > 1 || !isWell(leader)) return "quiet";
    const others = Object.keys(result.ledger.clusters).filter((cluster) => cluster !== leader && isWell(cluster));
    const was = before.ledger.clusters[leader];
    const starts = result.steps.find(
      ({ cluster, kind }) => cluster === leader && (kind === "update" || kind === "shrink"),
    );
    const grant = result.ledger.clusters[leader]?.grant;
    // A cancelled join, and a step that continues in the turn of a requested leader move, take no leader down.
    const begun = was?.done && was.grant && grant && !grant.onDelete && was.grant.epoch !== grant.epoch;
    const asked = result.ledger.clusters[leader]?.step?.kind === "transfer";
    if (!starts || !begun || others.length === 0) return asked ? "danger" : "quiet";
    return was.step?.kind === "transfer" ? "danger" : broken(`${leader} leads, and starts to ${starts.kind} unasked`);
  },
};

/** Clusters that this plan gives the rollout's revision for the first time. */
export function begins(planned: PlanAlone): ClusterName[] {
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
 * Takes part in the rollout (not lost, not drained, not kept by the partition), and really has not finished its update:
 * one of its instances that are to be updated runs another revision, or is still down by its own work.
 */
function isLate({ before, result }: Planned, update: RollingUpdate, cluster: ClusterName): boolean {
  const { rollout, clusters } = result.ledger;
  const entry = clusters[cluster];
  const { schedule, workload } = before.intent;
  if (!rollout || !entry?.grant || entry.presence.kind === "lost" || entry.votes !== "counted") return false;
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
    .flatMap(({ instances, votes }) => (votes !== "counted" ? [] : instances.map(({ ordinal }) => ordinal)))
    .sort((a, b) => a - b);
}

export const wavesGoInOrder: WorldProperty = {
  on: "world",
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
      // Steps that this plan has just begun in the wave that it opened are not late.
      const late = participants.find((cluster) => waveOf(update, cluster) <= wave && isLate(planned, update, cluster));
      if (late) return broken(`wave ${wave + 1} is passed, and ${late} is not complete`);
      const approved = requests.approvals.some((each) => each.wave === wave && each.revision === rollout.to);
      const later = participants.some((cluster) => waveOf(update, cluster) > wave && isLate(planned, update, cluster));
      if (later && update.waves[wave]?.approval === "Manual" && !approved)
        return broken(`wave ${wave + 1} was not approved`);
    }
    return rollout.wave > was ? "danger" : "quiet";
  },
};

export const stepsRelease: PlanProperty = {
  on: "plan",
  rule: "U7",
  name: "a cluster that begins its update has something released to it",
  check: (planned) => {
    const begun = begins(planned);
    const empty = begun.find((cluster) => {
      const grant = planned.result.ledger.clusters[cluster]?.grant;
      return grant && !grant.onDelete && grant.replicas > 0 && grant.partition >= grant.replicas;
    });
    if (empty) return broken(`${empty} gets the turn, and none of its instances is released`);
    return begun.length > 0 ? "danger" : "quiet";
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
