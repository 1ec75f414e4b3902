import { resource } from "../../kube/index.ts";

/** Karmada's kinds, as far as the adapter touches them. */
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
export const CLUSTER_OVERRIDE_POLICIES = resource({
  apiVersion: "policy.karmada.io/v1alpha1",
  kind: "ClusterOverridePolicy",
  plural: "clusteroverridepolicies",
  namespaced: false,
});

/** Lockstep's own marks on hub objects. None of them reaches a member. */
export const MARKS = {
  /** Label on Works and holds: which application they belong to, as a hash that fits a label. */
  app: "lockstep.karmada.io/app",
  appNamespace: "lockstep.karmada.io/app-namespace",
  appName: "lockstep.karmada.io/app-name",
  /** Label on policies that hold a template. */
  hold: "lockstep.karmada.io/hold",
  /** Annotation on Works: the term of the leader that may write them. */
  term: "lockstep.karmada.io/term",
  /** Annotation on a Work that says nothing yet: what it is reserved for. */
  reserved: "lockstep.karmada.io/reserved-for",
  /** Annotation on Works: what they deliver was in the cluster before, and is taken over. */
  takesOver: "lockstep.karmada.io/takes-over",
  /** Prefix of the annotations that carry a dispatch's notes. */
  note: "note.lockstep.karmada.io/",
} as const;

/** Karmada refuses to delete an object with this label, whoever asks. */
export const PROTECTION = { "resourcetemplate.karmada.io/deletion-protected": "Always" } as const;

export const EXECUTION_FINALIZER = "karmada.io/execution-controller";

/** The namespace that holds a cluster's Works. */
export function executionNamespace(cluster: string): string {
  return `karmada-es-${cluster}`;
}

export function clusterOfNamespace(namespace: string): string | undefined {
  return namespace.startsWith("karmada-es-") ? namespace.slice("karmada-es-".length) : undefined;
}
