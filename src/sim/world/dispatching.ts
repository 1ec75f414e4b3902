import type { KubeObject } from "../../apiserver/index.ts";
import { isJsonObject, type JsonObject } from "../../runtime/index.ts";

/** What the observer and the users must know of an engine's dispatch objects and clusters. */
export interface Dispatching {
  /** `group/plural` of dispatch objects, and of clusters. */
  readonly works: string;
  readonly clusters: string;
  worksPath(cluster: string): string;
  clusterOf(work: KubeObject): string;
  /** What a user must change before one can be deleted; undefined: nothing. */
  readonly unprotected: JsonObject | undefined;
  /** It writes something into the member, and is not only a reservation or a part of a removal. */
  isGrant(work: KubeObject): boolean;
  /** Deleting it keeps the member's object. */
  keepsObject(work: KubeObject): boolean;
  isReady(cluster: KubeObject): boolean;
}

/** An annotation that the OCM adapter writes again with every question for a sign of life: no part of a grant. */
export const WRITE_ANNOTATION = "lockstep.karmada.io/write";
const RESERVED = "lockstep.karmada.io/reserved-for";

export const KARMADA_DISPATCHING: Dispatching = {
  works: "work.karmada.io/works",
  clusters: "cluster.karmada.io/clusters",
  worksPath: (cluster) => `/apis/work.karmada.io/v1alpha1/namespaces/karmada-es-${cluster}/works`,
  clusterOf: ({ metadata }) => (metadata.namespace ?? "").replace("karmada-es-", ""),
  unprotected: { metadata: { labels: { "resourcetemplate.karmada.io/deletion-protected": null } } },
  isGrant: () => true,
  keepsObject: ({ spec }) => isJsonObject(spec) && spec.preserveResourcesOnDeletion === true,
  isReady: (cluster) => hasCondition(cluster, "Ready"),
};

export const OCM_DISPATCHING: Dispatching = {
  works: "work.open-cluster-management.io/manifestworks",
  clusters: "cluster.open-cluster-management.io/managedclusters",
  worksPath: (cluster) => `/apis/work.open-cluster-management.io/v1/namespaces/${cluster}/manifestworks`,
  clusterOf: ({ metadata }) => metadata.namespace ?? "",
  unprotected: undefined,
  isGrant: ({ spec, metadata }) => {
    const configs = isJsonObject(spec) && Array.isArray(spec.manifestConfigs) ? spec.manifestConfigs : [];
    const [first] = configs.filter(isJsonObject);
    const type = isJsonObject(first?.updateStrategy) ? first.updateStrategy.type : undefined;
    return metadata.annotations?.[RESERVED] === undefined && type !== "ReadOnly" && type !== "CreateOnly";
  },
  keepsObject: (work) => work.metadata.annotations?.[RESERVED] !== undefined || propagationOf(work) === "Orphan",
  isReady: (cluster) => hasCondition(cluster, "ManagedClusterConditionAvailable"),
};

/** What happens to its objects when a ManifestWork is deleted. */
export function propagationOf({ spec }: KubeObject): string {
  const option = isJsonObject(spec) && isJsonObject(spec.deleteOption) ? spec.deleteOption : {};
  return typeof option.propagationPolicy === "string" ? option.propagationPolicy : "Foreground";
}

function hasCondition({ status }: KubeObject, wanted: string): boolean {
  const conditions = isJsonObject(status) && Array.isArray(status.conditions) ? status.conditions : [];
  return conditions.filter(isJsonObject).some((one) => one.type === wanted && one.status === "True");
}
