import { instanceKey } from "../../../identity/identity.ts";
import type { ClusterName, Ledger } from "../../../types/index.ts";
import { broken, type PlanAlone, type PlanProperty, type Verdict } from "./property.ts";

/** How the application's list names the instances that the ledger gives a cluster. */
function namesOf(ledger: Ledger, cluster: ClusterName): string[] {
  const { identity } = ledger;
  const entry = ledger.clusters[cluster];
  if (!identity || !entry) return [];
  return entry.instances.map(({ ordinal }) => instanceKey(identity, cluster, entry, ordinal));
}

export const leaverIsGone: PlanProperty = {
  on: "plan",
  rule: "S8",
  name: "an instance that leaves votes until the application's own list no longer names it",
  check: ({ before, observations, result }) => {
    const listed = observations.membership?.members;
    const { identity } = result.ledger;
    if (!listed || !identity || before.intent.deletion) return "quiet";
    let verdict: Verdict = "quiet";
    for (const [cluster, was] of Object.entries(before.ledger.clusters)) {
      const is = result.ledger.clusters[cluster];
      for (const { ordinal, state } of was.instances) {
        if (state !== "leaving" || is?.instances.some((each) => each.ordinal === ordinal)) continue;
        verdict = "danger";
        const name = instanceKey(identity, cluster, was, ordinal);
        if (listed.includes(name)) return broken(`${cluster}: ${name} counts as gone, and the application lists it`);
      }
    }
    return verdict;
  },
};

/** The evidence that the planner was given for the loss of a cluster's instances. */
function evidenceOf({ before, observations, result }: PlanAlone, cluster: ClusterName): string | undefined {
  const { fleet, requests } = before.intent;
  const state = fleet[cluster]?.state;
  if (state !== undefined && state !== "Ready" && requests.confirmedLost.includes(cluster))
    return "a user's confirmation";
  const list = observations.membership;
  const presence = result.ledger.clusters[cluster]?.presence;
  const sinceMs = presence && presence.kind !== "here" ? presence.sinceMs : before.nowMs;
  if (!list || list.members.length === 0 || list.atMs < sinceMs) return undefined;
  const own = namesOf(before.ledger, cluster);
  const others = Object.keys(before.ledger.clusters).filter((other) => other !== cluster);
  const listsOthers = others.some((other) => namesOf(before.ledger, other).some((name) => list.members.includes(name)));
  return listsOthers && !own.some((name) => list.members.includes(name)) ? "the application's list" : undefined;
}

export const lossIsProven: PlanProperty = {
  on: "plan",
  rule: "C4",
  name: "lost instances stop voting only when a person or the application's list of after the loss says so",
  check: (planned) => {
    let verdict: Verdict = "quiet";
    for (const [cluster, is] of Object.entries(planned.result.ledger.clusters)) {
      if (is.presence.kind === "lost" && is.instances.length > 0) verdict = "danger";
      const before = planned.before.ledger.clusters[cluster]?.votes ?? "counted";
      if (is.votes === "counted" || before !== "counted") continue;
      if (evidenceOf(planned, cluster) === undefined)
        return broken(`${cluster} votes no longer, and nothing proves it`);
    }
    return verdict;
  },
};

export const replacedOnEvidence: PlanProperty = {
  on: "plan",
  rule: "C5",
  name: "instances are put elsewhere only with policy Replace, and for those that are proven removed",
  check: ({ before, result }) => {
    const { policy } = before.intent.failover;
    let verdict: Verdict = "quiet";
    for (const [cluster, is] of Object.entries(result.ledger.clusters)) {
      if (is.presence.kind === "lost" && is.instances.length > 0) verdict = "danger";
      if (!result.ledger.replacements[cluster] || before.ledger.replacements[cluster]) continue;
      if (policy !== "Replace") return broken(`${cluster} is replaced although the policy is ${policy}`);
      if (is.votes === "counted") return broken(`${cluster} is replaced although its instances may live`);
    }
    return verdict;
  },
};
