/** `joining`: granted, not yet seen ready as a member. `leaving`: to be removed by its cluster, still counted as a voter. */
export type InstanceState = "member" | "joining" | "leaving";

/** One cluster's part of the topology annotation; the four lists run in parallel, by ascending ordinal. */
export interface TopologyCluster {
  cluster: string;
  replicas: number;
  ordinals: number[];
  instances: string[];
  addresses: string[];
  states: InstanceState[];
}

/** The proposal's `replicas` annotation: one entry per cluster, its key the cluster's name, the count as a string. */
export type SeedReplicas = Array<Record<string, string | boolean> & { self: boolean }>;

export function seedReplicas(
  clusters: ReadonlyArray<{ cluster: string; replicas: number }>,
  self: string,
): SeedReplicas {
  return clusters.map(({ cluster, replicas }) => ({ [cluster]: String(replicas), self: cluster === self }));
}
