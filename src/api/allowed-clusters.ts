/**
 * Which clusters the CrossClusterStatefulsets of a namespace may name in spec.topology: comma-separated names, or `*`.
 * The annotation is on the Namespace object, which only administrators of the hub can write.
 */
export const ALLOWED_CLUSTERS = "lockstep.karmada.io/allowed-clusters";

export interface AllowedClustersRule {
  /**
   * With `--require-allowed-clusters`, a namespace without the annotation may use no cluster; otherwise it may use all.
   */
  readonly required: boolean;
}

interface NamespaceLike {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> | undefined };
}

/**
 * The clusters in `topology` that the namespace may not use, in order. The admission policy "allowed-clusters" has the
 * same rule. A cluster that is drained to 0 instances needs no permission.
 */
export function forbiddenClusters(
  namespace: NamespaceLike,
  topology: readonly { readonly name: string; readonly replicas?: number | undefined }[],
  { required }: AllowedClustersRule,
): string[] {
  const allowed = allowedClusters(namespace, required);
  if (allowed === "all") return [];
  return topology.filter(({ name, replicas }) => replicas !== 0 && !allowed.has(name)).map(({ name }) => name);
}

function allowedClusters({ metadata }: NamespaceLike, required: boolean): ReadonlySet<string> | "all" {
  const text = metadata.annotations?.[ALLOWED_CLUSTERS];
  if (text === undefined) return required ? new Set() : "all";
  const names = text.split(",").map((name) => name.trim());
  return names.includes("*") ? "all" : new Set(names);
}
