/**
 * `joining`: granted, not yet observed as a ready member. `leaving`: its cluster must remove it; it still counts as a
 * voter.
 */
export type InstanceState = "member" | "joining" | "leaving";

/** One cluster's part of the topology annotation; the four lists are parallel, by ascending ordinal. */
export interface TopologyCluster {
  readonly cluster: string;
  replicas: number;
  readonly ordinals: number[];
  readonly instances: string[];
  readonly addresses: string[];
  readonly states: InstanceState[];
}

/** The proposal's `replicas` annotation: one entry per cluster, its key the cluster's name, the count as a string. */
export type SeedReplicas = Array<Record<string, string | boolean> & { self: boolean }>;

export function seedReplicas(
  clusters: ReadonlyArray<{ cluster: string; replicas: number }>,
  self: string,
): SeedReplicas {
  return clusters.map(({ cluster, replicas }) => ({ [cluster]: String(replicas), self: cluster === self }));
}
