import type { CrossClusterStatefulsetStatus } from "../../api/index.ts";
import type { ClusterEntry, Grant, Ledger, LiveAnnotations, Observation } from "../../plan/index.ts";

type Row = NonNullable<CrossClusterStatefulsetStatus["clusters"]>[number];

/** What the members show, as the controller last reported it: a preview needs no rights in the members themselves. */
export function observationsOf(
  ledger: Ledger,
  status: CrossClusterStatefulsetStatus | undefined,
): Record<string, Observation> {
  const rows = new Map((status?.clusters ?? []).map((row) => [row.name, row]));
  const result: Record<string, Observation> = {};
  for (const [cluster, entry] of Object.entries(ledger.clusters)) {
    const observation = observationOf(entry, rows.get(cluster));
    if (observation) result[cluster] = observation;
  }
  return result;
}

function observationOf(entry: ClusterEntry, row: Row | undefined): Observation | undefined {
  const { grant } = entry;
  if (!grant) return undefined;
  if (row?.health === "Lost" || (row !== undefined && row.observed === undefined)) {
    return { kind: "unreachable", message: "the controller cannot observe it" };
  }
  const { epoch, revision, partition, replicas } = grant;
  const seen = row?.observed;
  const ready = seen?.ready ?? replicas;
  const updated = seen?.updated ?? replicas - partition;
  return {
    kind: "present",
    generation: 1,
    observedGeneration: 1,
    live: liveOf(grant),
    counts: { replicas: seen?.replicas ?? replicas, ready, available: ready, updated, terminating: 0 },
    health: row?.health === "Unhealthy" ? "unhealthy" : row?.health === "Unknown" ? "unknown" : "healthy",
    report: { epoch, revision, phase: entry.done ? "Done" : "Working", desired: replicas, updated, ready },
    leader: { kind: "unknown" },
  };
}

/** What a member's object carries that has been given this grant. */
export function liveOf(grant: Grant): LiveAnnotations {
  const { epoch, revision, processor, partition, topologyVersion, transferLeaderTo, replicas } = grant;
  return {
    epoch,
    revision,
    processor,
    partition,
    topologyVersion,
    replicas,
    ...(transferLeaderTo !== undefined && { transferLeaderTo }),
  };
}
