import { sameJson } from "../../../../runtime/index.ts";
import { topologyView } from "../../../identity/topology.ts";
import type { ClusterName, Ledger } from "../../../types/index.ts";
import { memberOf } from "../state.ts";
import { broken, type DeedProperty, type PlanProperty, type Verdict, type WorldProperty } from "./property.ts";

export const onlyWhatWasGranted: DeedProperty = {
  on: "deed",
  rule: "U8",
  name: "an instance comes back on what its cluster was granted, or on what it ran before",
  check: (deed, before) => {
    if (deed.kind !== "created") return "quiet";
    const { ran, live, read } = memberOf(before, deed.cluster);
    const ranBefore = ran[deed.ordinal];
    const granted = [live?.revision, read?.revision];
    if (deed.revision !== ranBefore && !granted.includes(deed.revision)) {
      return broken(
        `${deed.cluster}: ${deed.ordinal} ran ${ranBefore}, ${granted[0]} is granted, and it comes ` +
          `back on ${deed.revision}`,
      );
    }
    return ranBefore === undefined ? "quiet" : "danger";
  },
};

function membershipChanges(ledger: Ledger): ClusterName[] {
  return Object.entries(ledger.clusters).flatMap(([cluster, { instances, done, presence, votes }]) =>
    presence.kind !== "lost" && votes === "counted" && !done && instances.some(({ state }) => state !== "member")
      ? [cluster]
      : [],
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
    const earlier = new Set<ClusterName>();
    for (const { cluster, kind } of result.steps) {
      earlier.add(cluster);
      const held = result.ledger.clusters[cluster]?.grant;
      if ((kind !== "grow" && kind !== "shrink") || held?.replicas === before.ledger.clusters[cluster]?.grant?.replicas)
        continue;
      // Instances that were removed from the application while their cluster was lost are no members any more.
      if ((result.ledger.clusters[cluster]?.votes ?? "counted") !== "counted") continue;
      const other = Object.entries(result.ledger.clusters).find(([name, entry]) => {
        const emptied = entry.grant?.replicas === 0 && entry.done;
        // [S6] A step that costs nothing may start beside a membership change; it comes after it in the same plan.
        const out = before.ledger.clusters[name]?.turn !== "none" || earlier.has(name);
        return (
          name !== cluster && out && entry.turn !== "none" && entry.presence.kind !== "lost" && entry.grant && !emptied
        );
      });
      if (other) return broken(`${cluster} starts to ${kind} while ${other[0]}'s turn is ${other[1].turn}`);
      return "danger";
    }
    return "quiet";
  },
};

export const identityIsKept: WorldProperty = {
  on: "world",
  rule: "I2 I3 I5",
  name: "ordinals are unique, stay in their block, are never renumbered, and not reused while a volume may survive",
  check: ({ before, result, observations }) => {
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
        if (had.has(ordinal)) continue;
        verdict = "danger";
        for (const [other, { member }] of Object.entries(before.places)) {
          // [I5] In PerCluster the member's own controller decides.
          const reuses = (identity.reuseVolumes || identity.mode === "PerCluster") && other === cluster;
          // [I14] Of an ordinal that was never given, only what can be seen of an earlier life is in the way.
          const isFirst =
            identity.mode === "Dense" ? ordinal >= before.ledger.nextOrdinal : rank >= (was?.highWater ?? 0);
          const isHidden = isFirst && (observations.clusters[other]?.kind ?? "unreachable") === "unreachable";
          if (!reuses && !isHidden && member.volumes.includes(ordinal))
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
      if (was && is && !sameJson(was, is)) return broken(`version ${topologyVersion} changed its meaning`);
      try {
        topologyView(ledger, topologyVersion);
      } catch (error) {
        return broken(`${cluster}'s grant cannot be rendered: ${String(error)}`);
      }
    }
    return ledger.topologyVersion > before.ledger.topologyVersion ? "danger" : "quiet";
  },
};
