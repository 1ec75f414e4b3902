import type { ClusterName, Intent } from "../../../types/index.ts";
import { isReachable } from "../state.ts";
import { broken, changedGrants, type PlanAlone, type PlanProperty, type Verdict } from "./property.ts";

// What a person asked for during a rollout.

function isDrained({ fleet }: Intent, cluster: ClusterName): boolean {
  const fact = fleet[cluster];
  return fact?.state === "Ready" && fact.maintenance === true;
}

export const maintenanceHolds: PlanProperty = {
  on: "plan",
  rule: "C11",
  name: "in a cluster that is drained for maintenance no update begins and no instance is added",
  check: (planned) => {
    const { intent, ledger } = planned.before;
    if (intent.deletion) return "quiet";
    let verdict: Verdict = "quiet";
    for (const cluster of Object.keys(ledger.clusters)) if (isDrained(intent, cluster)) verdict = "danger";
    for (const { grant, was } of changedGrants(planned)) {
      const { cluster } = grant;
      const before = ledger.clusters[cluster];
      if (!isDrained(intent, cluster) || (before?.turn === "held" && !before.done)) continue;
      if (grant.replicas > (was?.replicas ?? 0)) return broken(`${cluster} is drained and is to grow`);
      if (was && grant.revision !== was.revision) return broken(`${cluster} is drained and begins ${grant.revision}`);
      if (was && grant.partition < was.partition) return broken(`${cluster} is drained and is released further`);
    }
    return verdict;
  },
};

/** The one reachable cluster that claims the leader, if every other one says that it has none. */
function leaderIn({ before, observations }: PlanAlone): ClusterName | undefined {
  const claims: ClusterName[] = [];
  for (const [cluster, entry] of Object.entries(before.ledger.clusters)) {
    const seen = observations.clusters[cluster];
    if (entry.instances.length === 0 || seen?.kind !== "present") continue;
    if (isReachable(before.intent, observations, cluster) && seen.leader.kind === "here") claims.push(cluster);
  }
  return claims.length === 1 ? claims[0] : undefined;
}

/** Nothing is under way anywhere, and every cluster can be reached and says that it is well. */
function isQuiet({ before, observations, result }: PlanAlone): boolean {
  const { intent, ledger } = before;
  if (intent.deletion || intent.revision.kind === "missing" || result.ledger.halt?.code === "AdoptedWithDifferences")
    return false;
  return Object.entries(ledger.clusters).every(([cluster, entry]) => {
    const seen = observations.clusters[cluster];
    if (entry.instances.length === 0) return true;
    if (!isReachable(intent, observations, cluster) || seen?.kind !== "present" || seen.health !== "healthy")
      return false;
    const isAsGranted = seen.live.epoch === entry.grant?.epoch && seen.counts.ready === entry.instances.length;
    return (
      isAsGranted && entry.done && entry.turn === "none" && entry.presence.kind !== "lost" && entry.votes === "counted"
    );
  });
}

export const leaderLeavesMaintenance: PlanProperty = {
  on: "plan",
  rule: "L9",
  name: "a leader in a cluster that is drained for maintenance is asked to leave it, once",
  check: (planned) => {
    const { before, result } = planned;
    const { intent, ledger } = before;
    const leader = leaderIn(planned);
    const { update, workload } = intent;
    if (leader === undefined || !workload.reportsLeader || !isDrained(intent, leader)) return "quiet";
    const stayed = ledger.leaderEvacuation?.id === leader && ledger.leaderEvacuation.state === "stayed";
    if (stayed && result.ledger.leaderEvacuation?.state !== "stayed")
      return broken(`the leader of ${leader} stayed, and is asked again`);
    if (update.type !== "RollingUpdate" || !update.leaderTransfer) return "quiet";
    if (!isQuiet(planned)) return "danger";
    const other = Object.entries(ledger.clusters).some(
      ([cluster, { instances }]) => cluster !== leader && instances.length > 0 && !isDrained(intent, cluster),
    );
    const asked = result.steps.some(({ cluster, kind }) => cluster === leader && kind === "transfer");
    return asked || stayed || !other ? "danger" : broken(`the leader stays in ${leader}, which is drained`);
  },
};

export const leaderRequestIsHeard: PlanProperty = {
  on: "plan",
  rule: "L8",
  name: "a leader that a person wants elsewhere is asked to go there, once nothing is under way",
  check: (planned) => {
    const { before, result } = planned;
    const { requests, update, workload } = before.intent;
    const { transferLeader } = requests;
    const leader = leaderIn(planned);
    if (!transferLeader || leader === undefined || !workload.reportsLeader || leader === transferLeader.to)
      return "quiet";
    if (update.type !== "RollingUpdate" || !update.leaderTransfer) return "quiet";
    const { leaderRequest: heard } = before.ledger;
    if (heard?.id === transferLeader.id && heard.state !== "waiting") return "quiet";
    const asked = changedGrants(planned).find(({ grant, was }) => grant.transferLeaderTo !== was?.transferLeaderTo);
    const to = result.ledger.clusters[transferLeader.to];
    if (asked?.grant.transferLeaderTo !== undefined && result.ledger.leaderRequest?.state === "asked") {
      const isThere = to?.instances.some(({ ordinal }) => asked.grant.transferLeaderTo?.endsWith(`-${ordinal}`));
      return isThere ? "danger" : broken(`the leader is asked to go to ${asked.grant.transferLeaderTo}`);
    }
    const possible =
      isQuiet(planned) && (to?.instances.length ?? 0) > 0 && !isDrained(before.intent, transferLeader.to);
    return possible ? broken(`${leader} is not asked, although nothing is under way`) : "quiet";
  },
};
