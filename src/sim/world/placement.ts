import { isJsonObject, type JsonObject } from "../../runtime/index.ts";

/** The user's PropagationPolicy for the template. */
export interface Placement {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace: string;
}

export function policiesPath(namespace: string): string {
  return `/apis/policy.karmada.io/v1alpha1/namespaces/${namespace}/propagationpolicies`;
}

/** This many instances in each cluster: the weights add up to the total, so that they are divided exactly. */
export function policyFor(of: Placement, replicas: ReadonlyMap<string, number>): JsonObject {
  const { apiVersion, kind, name, namespace } = of;
  const placed = [...replicas].filter(([, count]) => count > 0);
  const weights = placed.map(([cluster, weight]) => ({ targetCluster: { clusterNames: [cluster] }, weight }));
  return {
    apiVersion: "policy.karmada.io/v1alpha1",
    kind: "PropagationPolicy",
    metadata: { name, namespace },
    spec: {
      resourceSelectors: [{ apiVersion, kind, name, namespace }],
      placement: {
        clusterAffinity: { clusterNames: placed.map(([cluster]) => cluster) },
        replicaScheduling: {
          replicaSchedulingType: "Divided",
          replicaDivisionPreference: "Weighted",
          weightPreference: { staticWeightList: weights },
        },
      },
    },
  };
}

export interface Share {
  readonly cluster: string;
  readonly weight: number;
}

/** The content of such a policy. */
export function sharesOf(policy: JsonObject): Share[] {
  const spec = isJsonObject(policy.spec) ? policy.spec : {};
  const placement = isJsonObject(spec.placement) ? spec.placement : {};
  const scheduling = isJsonObject(placement.replicaScheduling) ? placement.replicaScheduling : {};
  const preference = isJsonObject(scheduling.weightPreference) ? scheduling.weightPreference : {};
  const list = Array.isArray(preference.staticWeightList) ? preference.staticWeightList.filter(isJsonObject) : [];
  return list.flatMap(({ targetCluster, weight }) => {
    const names =
      isJsonObject(targetCluster) && Array.isArray(targetCluster.clusterNames) ? targetCluster.clusterNames : [];
    return names.map((cluster) => ({ cluster: String(cluster), weight: typeof weight === "number" ? weight : 0 }));
  });
}

/** Whether the policy selects this object. */
export function selects(policy: JsonObject, object: { apiVersion: string; kind: string; name: string }): boolean {
  const spec = isJsonObject(policy.spec) ? policy.spec : {};
  const selectors = Array.isArray(spec.resourceSelectors) ? spec.resourceSelectors.filter(isJsonObject) : [];
  return selectors.some(({ kind, name }) => kind === object.kind && name === object.name);
}
