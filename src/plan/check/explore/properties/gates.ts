import { sameJson } from "../../../../runtime/index.ts";
import { memberOf } from "../state.ts";
import {
  broken,
  type DeedProperty,
  type PlanProperty,
  sameWork,
  type Verdict,
  type WorldProperty,
} from "./property.ts";

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
      if (!is.grant || !was.grant || sameJson(is.grant, was.grant)) continue;
      verdict = "danger";
      if (is.grant.epoch <= was.grant.epoch) return broken(`${cluster}: the grant changed and its epoch did not`);
    }
    return verdict;
  },
};

export const oneContentPerEpoch: WorldProperty = {
  on: "world",
  rule: "G2",
  name: "what stands on the hub is never overtaken by something else of the same epoch",
  check: ({ before, result }) => {
    let verdict: Verdict = "quiet";
    for (const grant of result.grants) {
      const on = before.places[grant.cluster]?.given?.grant;
      if (!on || on === grant) continue;
      verdict = "danger";
      if (on.epoch === grant.epoch && !sameJson(on, grant)) {
        return broken(`${grant.cluster}: epoch ${grant.epoch} was dispatched with another content`);
      }
    }
    return verdict;
  },
};

export const nothingGoesBack: DeedProperty = {
  on: "deed",
  rule: "G2",
  name: "a dispatch object is never overwritten by an older grant",
  check: (deed, before) => {
    if (deed.kind !== "landed") return "quiet";
    const stands = before.places[deed.cluster]?.given?.grant.epoch ?? 0;
    return deed.epoch < stands ? broken(`${deed.cluster}: epoch ${deed.epoch} overwrites ${stands}`) : "danger";
  },
};

export const gateNeedsTheWork: WorldProperty = {
  on: "world",
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
      // [T5] A teardown asks nothing of what stays for a moment; its last step in a cluster has to be proven like any
      // other.
      if (before.intent.deletion?.policy === "Teardown" && grant.replicas > 0) continue;
      verdict = "danger";
      const seen = observations.clusters[cluster];
      if (seen?.kind !== "present") return broken(`${cluster}: done, and nothing was seen of it`);
      const proven = was?.grant && sameWork(was.grant, grant) ? was.grant.epoch : grant.epoch;
      if (seen.live.epoch !== proven)
        return broken(`${cluster}: done at ${grant.epoch}, epoch ${seen.live.epoch} was seen`);
      if (seen.health !== "healthy" && grant.replicas > 0)
        return broken(`${cluster}: done, and its health is ${seen.health}`);
      const { pods, ownDown, live } = memberOf(before, cluster);
      if (live?.epoch !== seen.live.epoch) continue;
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

export const turnsAreAcknowledged: WorldProperty = {
  on: "world",
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
      if (before.intent.workload.protocol === "contract" && read?.processor) {
        return broken(`${cluster}: its turn is over, and its operator still believes to have it`);
      }
    }
    return verdict;
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
