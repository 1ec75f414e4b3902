import { resource } from "../../kube/index.ts";

/** Karmada's kinds, as far as the adapter uses them. */
export const CLUSTERS = resource({
  apiVersion: "cluster.karmada.io/v1alpha1",
  kind: "Cluster",
  plural: "clusters",
  namespaced: false,
});
export const WORKS = resource({
  apiVersion: "work.karmada.io/v1alpha1",
  kind: "Work",
  plural: "works",
  namespaced: true,
});
export const RESOURCE_BINDINGS = resource({
  apiVersion: "work.karmada.io/v1alpha2",
  kind: "ResourceBinding",
  plural: "resourcebindings",
  namespaced: true,
});
export const OVERRIDE_POLICIES = resource({
  apiVersion: "policy.karmada.io/v1alpha1",
  kind: "OverridePolicy",
  plural: "overridepolicies",
  namespaced: true,
});
export const PROPAGATION_POLICIES = resource({
  apiVersion: "policy.karmada.io/v1alpha1",
  kind: "PropagationPolicy",
  plural: "propagationpolicies",
  namespaced: true,
});
export const CLUSTER_OVERRIDE_POLICIES = resource({
  apiVersion: "policy.karmada.io/v1alpha1",
  kind: "ClusterOverridePolicy",
  plural: "clusteroverridepolicies",
  namespaced: false,
});

/** Karmada's label on what it manages in a member. */
export const KARMADA_MANAGED = "karmada.io/managed";

/** Karmada refuses to delete an object with this label, for every user. */
export const PROTECTION = { "resourcetemplate.karmada.io/deletion-protected": "Always" } as const;

/** Karmada's own mark, on a binding and on each Work it rendered for it. */
export const BINDING_ID = "resourcebinding.karmada.io/permanent-id";

export const EXECUTION_FINALIZER = "karmada.io/execution-controller";

/** The namespace that holds a cluster's Works. */
export function executionNamespace(cluster: string): string {
  return `karmada-es-${cluster}`;
}

export function clusterOfNamespace(namespace: string): string | undefined {
  return namespace.startsWith("karmada-es-") ? namespace.slice("karmada-es-".length) : undefined;
}
