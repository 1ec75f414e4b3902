/** The example of `lockstep up`: one StatefulSet of five instances over all clusters. */
import { type KubeClient, type KubeObject, resource } from "../kube/index.ts";
import { isJsonObject } from "../runtime/index.ts";

export const EXAMPLE = { namespace: "default", name: "web" };
const REPLICAS = 5;

export const STATEFULSETS = resource({
  apiVersion: "apps.karmada.io/v1alpha1",
  kind: "CrossClusterStatefulset",
  plural: "crossclusterstatefulsets",
  namespaced: true,
});
const POLICIES = resource({
  apiVersion: "policy.karmada.io/v1alpha1",
  kind: "PropagationPolicy",
  plural: "propagationpolicies",
  namespaced: true,
});
export const TEMPLATES = resource({
  apiVersion: "apps/v1",
  kind: "StatefulSet",
  plural: "statefulsets",
  namespaced: true,
});

const WRITE = { fieldManager: "lockstep-up", force: true };

/** Everything that is applied, in this order; examples/statefulset has the same as files. */
export function exampleObjects(
  clusters: readonly string[],
): [policy: KubeObject, hold: KubeObject, template: KubeObject] {
  return [propagation(clusters), crossClusterStatefulset(), template()];
}

/** First what selects and holds, so that the template is dispatched by nobody but Lockstep. */
export async function applyHold(hub: KubeClient, clusters: readonly string[]): Promise<void> {
  const [policy, hold] = exampleObjects(clusters);
  await hub.apply(POLICIES, policy, WRITE);
  await hub.apply(STATEFULSETS, hold, WRITE);
}

export async function applyTemplate(hub: KubeClient): Promise<void> {
  if (await hub.find(TEMPLATES, EXAMPLE)) return;
  await hub.apply(TEMPLATES, template(), WRITE);
}

/** The controller has answered: whatever it waits for, the hold is in place. */
export function isHeld(object: KubeObject | undefined): boolean {
  return isJsonObject(object?.status) && object.status.observedGeneration === object.metadata.generation;
}

function crossClusterStatefulset(): KubeObject {
  return {
    apiVersion: STATEFULSETS.apiVersion,
    kind: STATEFULSETS.kind,
    metadata: EXAMPLE,
    spec: {
      resourceSelector: { apiVersion: TEMPLATES.apiVersion, kind: TEMPLATES.kind, ...EXAMPLE },
      updateStrategy: { type: "RollingUpdate" },
    },
  };
}

/** The first clusters weigh twice as much as the last one: five instances over three clusters are 2 + 2 + 1. */
function propagation(clusters: readonly string[]): KubeObject {
  const staticWeightList = clusters.map((cluster, index) => ({
    targetCluster: { clusterNames: [cluster] },
    weight: index < clusters.length - 1 ? 2 : 1,
  }));
  return {
    apiVersion: POLICIES.apiVersion,
    kind: POLICIES.kind,
    metadata: EXAMPLE,
    spec: {
      resourceSelectors: [{ apiVersion: TEMPLATES.apiVersion, kind: TEMPLATES.kind, ...EXAMPLE }],
      placement: {
        clusterAffinity: { clusterNames: [...clusters] },
        replicaScheduling: {
          replicaSchedulingType: "Divided",
          replicaDivisionPreference: "Weighted",
          weightPreference: { staticWeightList },
        },
      },
    },
  };
}

function template(): KubeObject {
  const labels = { app: EXAMPLE.name };
  return {
    apiVersion: TEMPLATES.apiVersion,
    kind: TEMPLATES.kind,
    metadata: { ...EXAMPLE, labels: { ...labels, "lockstep.karmada.io/managed": "true" } },
    spec: {
      replicas: REPLICAS,
      serviceName: EXAMPLE.name,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: "web", image: "example.com/web:1.0" }] } },
      volumeClaimTemplates: [
        {
          metadata: { name: "data" },
          spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
        },
      ],
    },
  };
}
