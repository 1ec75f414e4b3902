import type { ClusterName } from "../../../types/index.ts";
import { isReachable } from "../state.ts";
import {
  broken,
  changedGrants,
  type DeedProperty,
  type PlanProperty,
  type Verdict,
  type WorldProperty,
} from "./property.ts";

export const removedEmpty: DeedProperty = {
  on: "deed",
  rule: "S9",
  name: "a cluster's object is removed only when nothing runs in it",
  check: (deed) => {
    if (deed.kind !== "removed") return "quiet";
    return deed.pods > 0 ? broken(`${deed.cluster} is removed with ${deed.pods} instances`) : "danger";
  },
};

export const nothingDeletedUnseen: WorldProperty = {
  on: "world",
  rule: "C2 C6",
  name: "nothing is deleted on a cluster that is away, lost, or came back after it was dropped",
  check: (planned) => {
    const { before, observations, result } = planned;
    let verdict: Verdict = "quiet";
    const { confirmedDrain } = before.intent.requests;
    const guarded = (cluster: ClusterName) => {
      if (!isReachable(before.intent, observations, cluster)) return "away";
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
  check: ({ before, observations, result }) => {
    if (before.intent.deletion?.policy !== "Teardown") return "quiet";
    let verdict: Verdict = "quiet";
    for (const [cluster, entry] of Object.entries(result.ledger.clusters)) {
      if (!entry.grant || isReachable(before.intent, observations, cluster)) continue;
      verdict = "danger";
      if (!result.waiting.some((each) => each.cluster === cluster && each.code === "TeardownUnreachable")) {
        return broken(`${cluster} cannot be reached, and the plan does not report it`);
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
          index > entry.index &&
          grant &&
          isReachable(before.intent, observations, other) &&
          !(grant.replicas === 0 && done),
      );
      if (later) return broken(`${cluster}: ${leaves[0]?.ordinal} leaves before ${later[0]} is empty`);
    }
    return verdict;
  },
};
