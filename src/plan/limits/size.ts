import { MAX_STATUS_CLUSTERS } from "../../api/index.ts";
import type { Intent, Ledger } from "../types/index.ts";

/**
 * [I12] Instances that a schedule may ask for. A move may hold twice as many for a while, and so may a loss that is
 * replaced. Everything that grows with them is within its limit at twice that number: the ledger and the note beside
 * each grant (both on the hub), the status, and the reference in each member's annotations.
 */
export const MAX_INSTANCES = 10_000;
/** [I12] Clusters that the ledger may know: each costs it about two kilobytes. */
export const MAX_CLUSTERS = MAX_STATUS_CLUSTERS;
/**
 * The ledger keeps the views that clusters hold, to render them again. This is the limit for their text together;
 * compressed, they are about half as large. Beyond it, the oldest are dropped. A cluster with a dropped view gets the
 * newest.
 */
export const TOPOLOGIES_MAX_BYTES = 1024 * 1024;
/** The limit for the view in a grant's note. A larger one is left out: a rebuilt ledger sends the newest anyway. */
export const NOTE_TOPOLOGY_MAX_BYTES = 32 * 1024;
/** Dense: ordinals that were given back. Those that are forgotten are never given again. */
export const MAX_RETIRED = 10_000;

/** A schedule that asks for more than a topology can hold. */
export interface Oversize {
  readonly what: "instances" | "clusters";
  readonly asked: number;
  readonly limit: number;
}

/** [I12] Undefined: everything that the schedule asks for can be granted. */
export function oversizeOf({ schedule }: Intent, { clusters }: Ledger): Oversize | undefined {
  if (schedule.kind === "unknown") return undefined;
  let instances = 0;
  let known = Object.keys(clusters).length;
  for (const { cluster, replicas } of schedule.clusters) {
    instances += replicas;
    if (replicas > 0 && !Object.hasOwn(clusters, cluster)) known++;
  }
  if (instances > MAX_INSTANCES) return { what: "instances", asked: instances, limit: MAX_INSTANCES };
  if (known > MAX_CLUSTERS) return { what: "clusters", asked: known, limit: MAX_CLUSTERS };
  return undefined;
}
