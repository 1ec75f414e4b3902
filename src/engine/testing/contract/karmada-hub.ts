/** The contract's use of a Karmada hub, real or not. */
import { type KubeObject, type Resource, resource } from "../../../kube/index.ts";
import type { ContractHub } from "./hub.ts";
import { CLUSTERS, MANAGER, NAMESPACE, STATEFULSETS, statefulSet } from "./objects.ts";

export const POLICIES = resource({
  apiVersion: "policy.karmada.io/v1alpha1",
  kind: "PropagationPolicy",
  plural: "propagationpolicies",
  namespaced: true,
});
export const WORKS: Resource = resource({
  apiVersion: "work.karmada.io/v1alpha1",
  kind: "Work",
  plural: "works",
  namespaced: true,
});

export const HOLDS = resource({
  apiVersion: "policy.karmada.io/v1alpha1",
  kind: "OverridePolicy",
  plural: "overridepolicies",
  namespaced: true,
});

/** Five instances over three clusters, 2 + 2 + 1. */
export function propagation(name: string): KubeObject {
  const weight = (cluster: string, share: number) => ({ targetCluster: { clusterNames: [cluster] }, weight: share });
  return {
    apiVersion: POLICIES.apiVersion,
    kind: POLICIES.kind,
    metadata: { name, namespace: NAMESPACE },
    spec: {
      resourceSelectors: [{ apiVersion: "apps/v1", kind: "StatefulSet", name, namespace: NAMESPACE }],
      placement: {
        clusterAffinity: { clusterNames: CLUSTERS },
        replicaScheduling: {
          replicaSchedulingType: "Divided",
          replicaDivisionPreference: "Weighted",
          weightPreference: { staticWeightList: [weight("member1", 2), weight("member2", 2), weight("member3", 1)] },
        },
      },
    },
  };
}

/** With the marks by which Karmada knows a Work's objects. */
function marked(object: KubeObject, work: { readonly namespace: string; readonly name: string }): KubeObject {
  const annotations = { "work.karmada.io/name": work.name, "work.karmada.io/namespace": work.namespace };
  return { ...object, metadata: { ...object.metadata, labels: { "karmada.io/managed": "true" }, annotations } };
}

export const KARMADA_HUB: ContractHub = {
  works: WORKS,
  namespaceOf: (cluster) => `karmada-es-${cluster}`,
  rendersTemplates: true,
  async schedule(hub, app, replicas) {
    await hub.apply(POLICIES, propagation(app.name), MANAGER);
    await hub.apply(STATEFULSETS, statefulSet(app.name, replicas, "app:1"), MANAGER);
  },
  fiveInstances: { member1: 2, member2: 2, member3: 1 },
  runWithoutLockstep: (hub, app) => KARMADA_HUB.schedule(hub, app, 5),
  foreignWork: (at, objects) => ({
    apiVersion: WORKS.apiVersion,
    kind: WORKS.kind,
    metadata: { ...at, finalizers: ["karmada.io/execution-controller"] },
    spec: {
      preserveResourcesOnDeletion: true,
      workload: { manifests: objects.map((object) => ({ ...marked(object, at) })) },
    },
  }),
  async deleteWork(hub, { metadata }) {
    const labels = { "resourcetemplate.karmada.io/deletion-protected": null };
    await hub.patch(WORKS, metadata, { type: "merge", body: { metadata: { labels } } });
    await hub.delete(WORKS, metadata);
  },
};
