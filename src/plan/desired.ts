import { clusterIdOf } from "./address.ts";
import type { Draft } from "./draft.ts";
import { firstOrdinal, newEntry } from "./identity.ts";
import { placeReplacements } from "./loss.ts";
import type { ClusterName } from "./types.ts";

/** How many instances each cluster should hold now. A cluster that is missing in it should hold none. */
export type Desired = ReadonlyMap<ClusterName, number>;

/** [I2] Every scheduled cluster gets its place in the order, and keeps it for good. */
export function registerClusters(draft: Draft): void {
  const { schedule } = draft.intent;
  const named = schedule.kind === "known" ? schedule.clusters.filter(({ replicas }) => replicas > 0) : [];
  const adopted = Object.keys(draft.intent.baselines).map((cluster) => ({ cluster }));
  for (const { cluster } of [...named, ...adopted]) {
    if (Object.hasOwn(draft.ledger.clusters, cluster)) continue;
    const index = draft.ledger.nextIndex;
    draft.set("nextIndex", index + 1);
    const id = clusterIdOf(draft.intent.identity.clusterIds, cluster);
    draft.addCluster(cluster, newEntry(index, id, firstOrdinal(draft.identity, index)));
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
      "Wait for the engine's scheduler, or name the clusters in spec.topology.",
      [{ object: "schedule", field: "result", value: "unknown" }],
    );
    return undefined;
  }
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
    if (entry.removedByLoss) {
      // [D3] It was part of the first deployment and never got its grant: there is nothing to drain.
      if (mayDrain && !entry.grant && entry.lostAtMs === null)
        draft.patch(cluster, { instances: [], removedByLoss: false, unlisted: false, returned: false });
      desired.set(cluster, mayDrain ? 0 : held);
      if (entry.lostAtMs === null && !mayDrain) keptStill(draft, cluster, "ReturnedAfterReplacement");
    } else if (entry.lostAtMs !== null) {
      // [C2] A loss is no drain: what a lost cluster holds stays its own.
      desired.set(cluster, Math.max(held, wanted));
    } else if (entry.returned) {
      if (wanted >= held) draft.patch(cluster, { returned: false });
      else if (!mayDrain) {
        desired.set(cluster, held);
        keptStill(draft, cluster, "ReturnedNotScheduled");
      }
    }
  }
  return desired;
}

/** [C6] A cluster that came back never has anything deleted without a person's word. */
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
      : `the schedule no longer wants all of it, since it was away or the ledger was rebuilt; its ${held} instances are kept`,
    code === "ReturnedAfterReplacement"
      ? `Save what you need of it, then allow its drain with 'lockstep confirm-drain ${cluster}'; after that it can join anew.`
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

/** The schedule wants nothing of it any more. Not known is no drain. */
export function isDraining(desired: Desired | undefined, cluster: ClusterName): boolean {
  return desired !== undefined && (desired.get(cluster) ?? 0) === 0;
}
