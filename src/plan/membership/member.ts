import { isInMaintenance, type Room, waitForMaintenance } from "../../rollout/index.ts";
import { localOrdinal, mayAct, observationOf, viewIn } from "../evidence/view.ts";
import { instancesText, RAISE_STREAMS } from "../evidence/words.ts";
import { localName, nextDense, nextInRange, rangeStart } from "../identity/identity.ts";
import type { Draft } from "../ledger/draft.ts";
import type { ClusterEntry, ClusterName, InstanceRecord } from "../types/index.ts";
import type { RolloutView } from "../update/rollout.ts";
import type { Target } from "../update/target.ts";
import type { Desired } from "./desired.ts";

/** [S6] Clusters with a membership change under way: a joiner or a leaver that is not settled. */
export function busyClusters(draft: Draft): Set<ClusterName> {
  const busy = new Set<ClusterName>();
  for (const cluster of draft.order) {
    const entry = draft.entry(cluster);
    if (entry.presence.kind === "lost" || entry.votes !== "counted" || entry.done || !entry.grant) continue;
    if (entry.instances.some(({ state }) => state !== "member")) busy.add(cluster);
  }
  return busy;
}

/**
 * [C9] A membership change whose turn was taken away before it was finished: the cluster was lost, or its object
 * drifted.
 */
export function isInterrupted({ grant, done, turn, instances }: ClusterEntry): boolean {
  return grant !== null && !done && turn === "none" && instances.some(({ state }) => state !== "member");
}

/**
 * [S5] A turn elsewhere that has not come back. A lost cluster's counts no longer, nor that of one that is drained
 * empty.
 */
export function turnElsewhere(draft: Draft, cluster: ClusterName): ClusterName | undefined {
  return draft.order.find((other) => {
    const entry = draft.entry(other);
    const { presence, grant, done } = entry;
    return (
      other !== cluster && mayAct(draft.intent, entry) && presence.kind !== "lost" && !(grant?.replicas === 0 && done)
    );
  });
}

/** Whether a cluster can take so many new instances; if not, the reason is reported. */
export function canHost(draft: Draft, cluster: ClusterName, added = 1): boolean {
  const view = viewIn(draft, cluster);
  const entry = draft.entry(cluster);
  const fact = draft.intent.fleet[cluster];
  if (view.reach !== "ready") {
    // If it holds instances, it is already reported as away.
    if (entry.instances.length === 0) {
      const observation = observationOf(draft, cluster);
      const evidence = [{ object: `cluster ${cluster}`, field: "Ready", value: fact?.state ?? "Unknown" }];
      if (fact?.state === "Ready" && observation.kind === "unreachable") {
        draft.wait(
          "ClusterUnreachable",
          cluster,
          `new instances wait until the workload can be read there: ${observation.message}`,
          observation.isBlind
            ? RAISE_STREAMS
            : "Check that the cluster serves the workload's kind and that Lockstep may read it " +
                "there: 'lockstep doctor'.",
          [...evidence, { object: cluster, field: "snapshot", value: observation.message }],
        );
      } else {
        draft.wait(
          "ClusterNotReady",
          cluster,
          fact?.state === "Gone"
            ? "it has left the fleet; new instances wait until it joins again"
            : "new instances wait until it is Ready",
          "Bring the cluster back, or schedule the instances elsewhere.",
          evidence,
        );
      }
    }
    return false;
  }
  if (isInMaintenance(draft.intent, cluster)) {
    waitForMaintenance(draft, draft.intent, cluster, "new instances are created");
    return false;
  }
  if (fact?.state === "Ready" && fact.cordoned) {
    draft.wait("ClusterCordoned", cluster, fact.cordoned, "Remove the taint, or schedule the instances elsewhere.", [
      { object: `cluster ${cluster}`, field: "spec.taints", value: fact.cordoned },
    ]);
    return false;
  }
  if (entry.epoch === 0 && entry.instances.length === 0 && Object.hasOwn(draft.intent.baselines, cluster)) {
    draft.wait(
      "Adopting",
      cluster,
      "it runs the application already and is taken over before anything else",
      "Wait for its snapshot.",
      [{ object: cluster, field: "instances", value: `${draft.intent.baselines[cluster]?.replicas ?? "unknown"}` }],
    );
    return false;
  }
  if (fact?.state === "Ready" && fact.room && fact.room.instances < added) {
    return noRoom(draft, cluster, added, fact.room);
  }
  if (!entry.grant && view.present) {
    draft.wait(
      "UnknownObject",
      cluster,
      "an object of that name exists there, and the ledger has given it no grant",
      "If Lockstep dispatched it, have the ledger rebuilt; if not, adopt it or remove it.",
      [{ object: cluster, field: "epoch", value: `${view.present.live.epoch ?? "absent"}` }],
    );
    return false;
  }
  return true;
}

/** [S18] The grant would only leave instances pending, and with them the step that holds the turn. */
function noRoom(draft: Draft, cluster: ClusterName, added: number, { instances, evidence }: Room): false {
  draft.wait(
    "NoRoom",
    cluster,
    `${added === 1 ? "one more instance does" : `${added} more instances do`} not fit: ${evidence}`,
    "Free resources there, add nodes or raise the quota, lower the requests, or schedule the instances elsewhere.",
    [{ object: `cluster ${cluster}`, field: "room", value: `${instances} instances; ${evidence}` }],
  );
  return false;
}

/** [I2] [I3] [I5] The next instance's ordinal, or undefined with the reason reported. */
export function nextOrdinal(draft: Draft, cluster: ClusterName): number | undefined {
  const { identity } = draft;
  const entry = draft.entry(cluster);
  if (identity.mode === "Dense") {
    return nextDense(
      draft.ledger,
      identity,
      cluster,
      (ordinal, holder) => volumeMaySurvive(draft, holder, ordinal),
      (ordinal) => draft.order.some((each) => volumeWasFound(draft, each, ordinal)),
    );
  }
  const next = nextInRange(identity, entry);
  if (next.kind === "blockFull") {
    draft.wait(
      "BlockExhausted",
      cluster,
      `it holds ${instancesText(entry.instances.length)}, all that its block of ${identity.blockSize} has room for`,
      "Schedule further instances on other clusters; blockSize cannot be changed for a running application.",
      [{ object: cluster, field: "instances", value: `${entry.instances.length} of ${identity.blockSize}` }],
    );
    return undefined;
  }
  // Volumes of an operator that does not know the contract cannot be identified: waiting for their end would not end.
  const isStale = entry.staleVolumes && draft.intent.workload.protocol !== "ignorant";
  const mayNotReuse = isStale || (identity.mode === "Blocks" && !identity.reuseVolumes);
  const local = localOf(draft, entry, next.ordinal);
  // What this ledger never gave may have been given in an earlier life of the application: only what is found counts
  // then.
  const survives = next.reusesVolume
    ? volumeMaySurvive(draft, cluster, local)
    : volumeWasFound(draft, cluster, local) && !identity.reuseVolumes;
  if (mayNotReuse && survives) {
    draft.wait(
      "VolumeSurvives",
      cluster,
      entry.staleVolumes
        ? `a volume of ordinal ${next.ordinal} may survive; its instance was removed from the ` +
            "application while the cluster was away"
        : `a volume of ordinal ${next.ordinal} ` +
            `${next.reusesVolume ? "may survive" : "is left of an earlier deployment"}, ` +
            "and identity.reuseVolumes is false",
      "Save what you need of the old volume and delete it.",
      [{ object: cluster, field: "volume", value: localName(identity, entry, next.ordinal) }],
    );
    return undefined;
  }
  return next.ordinal;
}

function localOf(draft: Draft, entry: ClusterEntry, ordinal: number): number {
  return draft.identity.mode === "PerCluster"
    ? entry.start + ordinal - rangeStart(draft.identity, entry.index)
    : ordinal;
}

function volumeMaySurvive(draft: Draft, cluster: ClusterName, ordinal: number): boolean {
  const observation = observationOf(draft, cluster);
  const known = observation.kind === "unreachable" ? undefined : observation.volumes;
  return known === undefined || known.includes(ordinal);
}

/** [I14] A volume of that ordinal is there for certain. */
function volumeWasFound(draft: Draft, cluster: ClusterName, ordinal: number): boolean {
  const observation = observationOf(draft, cluster);
  if (observation.kind === "unreachable") return false;
  const { volumes, foundVolumes } = observation;
  return (volumes?.includes(ordinal) ?? false) || (foundVolumes?.includes(ordinal) ?? false);
}

/** Records the joiner. */
export function addInstance(draft: Draft, cluster: ClusterName, ordinal: number): InstanceRecord[] {
  const { instances, highWater } = draft.entry(cluster);
  const joined: InstanceRecord[] = [...instances, { ordinal, state: "joining" }];
  if (draft.identity.mode === "Dense") {
    joined.sort((a, b) => a.ordinal - b.ordinal);
    if (ordinal >= draft.ledger.nextOrdinal) draft.set("nextOrdinal", ordinal + 1);
    else
      draft.set(
        "retired",
        draft.ledger.retired.filter((each) => each.ordinal !== ordinal),
      );
  }
  draft.patch(cluster, { instances: joined, highWater: Math.max(highWater, joined.length) });
  return joined;
}

/**
 * [S7] What a new instance is created from. In a cluster that holds instances already: what that cluster runs. In a new
 * one: the rollout's revision, if its wave is open and nothing holds the rollout; otherwise what the rollout started
 * from.
 */
export function newcomerRevision(
  draft: Draft,
  target: Target,
  rollout: RolloutView | null,
  cluster: ClusterName,
  ordinal: number,
): string | null {
  const { grant, instances } = draft.entry(cluster);
  if (grant && instances.length > 0) return grant.revision;
  if (!rollout) return target.revision;
  const { to, from, kind } = rollout.rollout;
  if (kind === "rollback" || from === null) return to;
  const trusted = (rollout.held === null || rollout.held === "WindowClosed") && rollout.isOpen(cluster);
  return trusted && !isBelowPartition(draft, ordinal) ? to : from;
}

function isBelowPartition(draft: Draft, ordinal: number): boolean {
  const { update } = draft.intent;
  if (update.type !== "RollingUpdate" || update.partition === 0) return false;
  let rank = 0;
  for (const cluster of draft.order) {
    const entry = draft.entry(cluster);
    if (entry.votes === "counted") for (const each of entry.instances) if (each.ordinal < ordinal) rank++;
  }
  return rank < update.partition;
}

/** [S8] The instance that leaves next: always the one with the cluster's highest ordinal. */
export function topInstance(entry: ClusterEntry): InstanceRecord | undefined {
  return entry.instances.findLast(({ state }) => state !== "leaving");
}

/** Whether removing the top instance may remove a ready one. Unknown counts as ready. */
export function topMayBeReady(draft: Draft, cluster: ClusterName, ordinal: number): boolean {
  const { present, serving, voters } = viewIn(draft, cluster);
  if (voters === 0 || serving === 0) return false;
  const entry = draft.entry(cluster);
  const i = entry.instances.findIndex((each) => each.ordinal === ordinal);
  const seen = present?.instances?.find((each) => each.ordinal === localOrdinal(draft, entry, i));
  return seen ? seen.ready : true;
}

/** Instances that count towards a cluster's desired number. */
export function heldCount(entry: ClusterEntry): number {
  let held = 0;
  for (const { state } of entry.instances) if (state !== "leaving") held++;
  return held;
}

/** [S4] Additions that are still outstanding in any cluster. A join that is no longer wanted does not count. */
export function outstandingAdditions(draft: Draft, desired: Desired): number {
  let outstanding = 0;
  for (const [cluster, wanted] of desired) {
    const entry = draft.ledger.clusters[cluster];
    let settled = 0;
    for (const { state } of entry?.instances ?? []) {
      if (state === "member" || (state === "joining" && entry?.done)) settled++;
    }
    outstanding += Math.max(0, wanted - settled);
  }
  return outstanding;
}

export function memberTotal(draft: Draft): number {
  let members = 0;
  for (const cluster of draft.order) {
    const entry = draft.entry(cluster);
    if (entry.votes === "counted") for (const { state } of entry.instances) if (state === "member") members++;
  }
  return members;
}
