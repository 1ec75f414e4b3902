import { nearest } from "../../runtime/index.ts";
import { instancesText } from "../evidence/words.ts";
import { clusterIdOf } from "../identity/address.ts";
import { firstOrdinal, newEntry } from "../identity/identity.ts";
import type { Draft } from "../ledger/draft.ts";
import type { ClusterName, Intent, ScheduledCluster } from "../types/index.ts";
import { placeReplacements } from "./loss.ts";

/** How many instances each cluster should hold now. A cluster that is missing in it should hold none. */
export type Desired = ReadonlyMap<ClusterName, number>;

/**
 * [I2] Every scheduled cluster gets its place in the order, and keeps it for good; [D8] a former one the place that it
 * had. One that the fleet never had gets none: a name that was mistyped would hold a block of ordinals, and in a first
 * deployment at once even votes.
 */
export function registerClusters(draft: Draft): void {
  for (const { cluster, index } of formerIndexes(draft)) placeAt(draft, cluster, index);
  // [I12] Nothing new is registered for a schedule that asks for too much.
  const scheduled = draft.mayGrow ? scheduledClusters(draft.intent) : [];
  const named = scheduled.filter(({ cluster }) => isInFleet(draft.intent, cluster));
  const adopted = Object.keys(draft.intent.baselines).map((cluster) => ({ cluster }));
  for (const { cluster } of [...named, ...adopted]) {
    if (Object.hasOwn(draft.ledger.clusters, cluster)) continue;
    const index = draft.ledger.nextIndex;
    draft.set("nextIndex", index + 1);
    const id = clusterIdOf(draft.intent.identity.clusterIds, cluster);
    draft.addCluster(cluster, newEntry(index, id, firstOrdinal(draft.identity, index)));
  }
}

/**
 * [D8] The index that each cluster's ordinals tell; in Dense they tell none, and of two that tell the same both are
 * refused.
 */
function formerIndexes({ intent, identity }: Draft): { cluster: ClusterName; index: number }[] {
  if (identity.mode === "Dense") return [];
  return Object.entries(intent.baselines)
    .flatMap(([cluster, baseline]) => {
      if (!baseline?.former) return [];
      const first = baseline.former.ordinals?.[0] ?? (identity.mode === "Blocks" ? baseline.start : undefined);
      const index = first === undefined ? Number.NaN : first / identity.blockSize;
      return Number.isSafeInteger(index) ? [{ cluster, index }] : [];
    })
    .filter(({ index }, _at, all) => all.filter((each) => each.index === index).length === 1)
    .sort((a, b) => a.index - b.index);
}

/** A cluster that has only this index, and nothing else yet, gets another one. A cluster that has more keeps it. */
function placeAt(draft: Draft, cluster: ClusterName, index: number): void {
  const isUntouched = (name: ClusterName) => {
    const { epoch, grant, instances } = draft.entry(name);
    return epoch === 0 && grant === null && instances.length === 0;
  };
  const holder = draft.order.find((name) => draft.entry(name).index === index);
  if (holder === cluster || (holder !== undefined && !isUntouched(holder))) return;
  if (Object.hasOwn(draft.ledger.clusters, cluster) && !isUntouched(cluster)) return;
  const place = (name: ClusterName, at: number) => {
    const id = clusterIdOf(draft.intent.identity.clusterIds, name);
    draft.addCluster(name, newEntry(at, id, firstOrdinal(draft.identity, at)));
    draft.set("nextIndex", Math.max(draft.ledger.nextIndex, at + 1));
  };
  if (holder !== undefined) place(holder, Math.max(draft.ledger.nextIndex, index + 1));
  place(cluster, index);
}

function scheduledClusters({ schedule }: Intent): ReadonlyArray<{ cluster: ClusterName; replicas: number }> {
  return schedule.kind === "known" ? schedule.clusters.filter(({ replicas }) => replicas > 0) : [];
}

export function isInFleet({ fleet }: Intent, cluster: ClusterName): boolean {
  return Object.hasOwn(fleet, cluster) && fleet[cluster]?.state !== "Gone";
}

/** [I13] The schedule wants instances in a cluster that the fleet never had. */
function reportNotInFleet(draft: Draft): void {
  const { intent, ledger } = draft;
  const names = Object.keys(intent.fleet).filter((cluster) => isInFleet(intent, cluster));
  for (const { cluster, replicas } of scheduledClusters(intent)) {
    if (Object.hasOwn(ledger.clusters, cluster) || isInFleet(intent, cluster)) continue;
    const like = nearest(cluster, names);
    draft.wait(
      "ClusterNotInFleet",
      cluster,
      `the fleet has no cluster '${cluster}'${like === undefined ? "" : `; the nearest name is '${like}'`}`,
      `Correct the name, or join ${cluster} to the fleet: its ${instancesText(replicas)} wait.`,
      [{ object: "the fleet", field: "clusters", value: names.join(", ") || "none" }],
    );
  }
}

/** [S1] The schedule, corrected by what loss and return forbid. Undefined while the schedule is unknown. */
export function desiredOf(draft: Draft): Desired | undefined {
  const { schedule, requests } = draft.intent;
  if (schedule.kind === "unknown") {
    draft.wait(
      "ScheduleUnknown",
      undefined,
      schedule.message,
      schedule.remedy ?? "Wait for the engine's scheduler, or name the clusters in spec.topology.",
      [{ object: "schedule", field: "result", value: "unknown" }],
    );
    return undefined;
  }
  reportNotInFleet(draft);
  const scheduled = new Map<ClusterName, number>();
  for (const { cluster, replicas } of schedule.clusters)
    scheduled.set(cluster, (scheduled.get(cluster) ?? 0) + replicas);
  placeReplacements(draft, scheduled);
  const desired = new Map(scheduled);
  for (const each of Object.values(draft.ledger.replacements)) {
    for (const [cluster, more] of Object.entries(each)) desired.set(cluster, (desired.get(cluster) ?? 0) + more);
  }
  for (const cluster of draft.order) {
    const entry = draft.entry(cluster);
    const held = entry.instances.length;
    const wanted = desired.get(cluster) ?? 0;
    const mayDrain = requests.confirmedDrain.includes(cluster);
    if (entry.votes !== "counted") {
      // [D3] It was part of the first deployment and never got its grant: there is nothing to drain.
      if (mayDrain && !entry.grant && entry.presence.kind !== "lost")
        draft.patch(cluster, { instances: [], votes: "counted", returned: false });
      desired.set(cluster, mayDrain ? 0 : held);
      if (entry.presence.kind !== "lost" && !mayDrain) keptStill(draft, cluster, "ReturnedAfterReplacement");
    } else if (entry.presence.kind === "lost") {
      // [C2] A loss is no drain: what a lost cluster holds stays its own.
      desired.set(cluster, Math.max(held, wanted));
    } else if (entry.returned) {
      // [C6] A replacement placed here ends by itself: the cluster stays `returned` until the schedule itself wants it.
      if (!keptBy(draft, cluster) && (scheduled.get(cluster) ?? 0) >= held) draft.patch(cluster, { returned: false });
      else if (!mayDrain && wanted < held) {
        desired.set(cluster, held);
        keptStill(draft, cluster, "ReturnedNotScheduled");
      }
    }
    reportUnselected(draft, cluster);
  }
  return desired;
}

function keptBy({ intent: { schedule } }: Draft, cluster: ClusterName): ScheduledCluster["kept"] {
  return schedule.kind === "known" ? schedule.clusters.find((each) => each.cluster === cluster)?.kept : undefined;
}

/** [S19] The engine does not select it, and it stays: why, and what ends that. A cluster that is away says so itself. */
function reportUnselected(draft: Draft, cluster: ClusterName): void {
  const kept = keptBy(draft, cluster);
  const { presence, instances } = draft.entry(cluster);
  if (!kept || presence.kind !== "here") return;
  draft.wait(
    kept.isStuck ? "ReturnedNotScheduled" : "WaitingForSelection",
    cluster,
    `${kept.message}. It keeps ${instancesText(instances.length)}`,
    kept.isStuck
      ? `Have it selected again, or allow its drain with 'lockstep confirm-drain ${cluster}'.`
      : "No action needed: the hub is read again by itself.",
    [{ object: `cluster ${cluster}`, field: "selection", value: "no" }],
  );
}

/** [C6] Nothing in a cluster that came back is deleted unless a user confirms it. */
function keptStill(
  draft: Draft,
  cluster: ClusterName,
  code: "ReturnedAfterReplacement" | "ReturnedNotScheduled",
): void {
  const held = draft.entry(cluster).instances.length;
  draft.wait(
    code,
    cluster,
    code === "ReturnedAfterReplacement"
      ? `its ${held} instances were removed from the application while it was away; they and their volumes are kept`
      : "the schedule no longer wants all of it, since it was away or the ledger was rebuilt; its " +
          `${held} instances are kept`,
    code === "ReturnedAfterReplacement"
      ? `Save what you need of it, then allow its drain with 'lockstep confirm-drain ${cluster}'; ` +
          "after that it can join again."
      : `Schedule the cluster again, or allow its drain with 'lockstep confirm-drain ${cluster}'.`,
    [{ object: `cluster ${cluster}`, field: "instances", value: `${held}` }],
  );
}

/** What the user asked for in all; replacements and returned clusters do not change it. */
export function scheduledTotal(draft: Draft): number {
  const { schedule } = draft.intent;
  let total = 0;
  if (schedule.kind === "known") for (const { replicas } of schedule.clusters) total += replicas;
  else for (const cluster of draft.order) total += draft.entry(cluster).instances.length;
  return total;
}

/** The schedule no longer names it. An unknown schedule is no drain. */
export function isDraining(desired: Desired | undefined, cluster: ClusterName): boolean {
  return desired !== undefined && (desired.get(cluster) ?? 0) === 0;
}
