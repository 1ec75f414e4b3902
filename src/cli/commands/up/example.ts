/** The examples of `lockstep up`: five instances of one application over all clusters. examples/ has the same as files. */
import type { Workload } from "../../../api/index.ts";
import { type KubeClient, type KubeObject, type Resource, resource } from "../../../kube/index.ts";
import { isJsonObject, type JsonObject } from "../../../runtime/index.ts";

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
const REPLICAS = 5;
const WRITE = { fieldManager: "lockstep-up", force: true };

export interface Example {
  readonly name: "statefulset" | "xline" | "etcd";
  /** The name of all of its objects. */
  readonly at: { readonly namespace: string; readonly name: string };
  readonly templates: Resource;
  /** Of the instances' pods. */
  readonly podSelector: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** What the CrossClusterStatefulset has in addition to its selector. */
  readonly rules: JsonObject;
  readonly templateSpec: JsonObject;
}

/** Every example's kind may be a template in every fleet of `up`: its data folder may get another example later. */
export const EXAMPLE_WORKLOADS: readonly Workload[] = [
  { plural: "xlineclusters", group: "apps.my.io" },
  { plural: "etcdclusters", group: "example.io" },
];

const WEB = { app: "web" };

export const STATEFULSET_EXAMPLE: Example = {
  name: "statefulset",
  at: { namespace: "default", name: "web" },
  templates: resource({ apiVersion: "apps/v1", kind: "StatefulSet", plural: "statefulsets", namespaced: true }),
  podSelector: "app=web",
  labels: WEB,
  rules: { updateStrategy: { type: "RollingUpdate" } },
  templateSpec: {
    replicas: REPLICAS,
    serviceName: "web",
    selector: { matchLabels: WEB },
    template: {
      metadata: { labels: WEB },
      spec: { containers: [{ name: "web", image: "example.com/web:1.0" }] },
    },
    volumeClaimTemplates: [
      {
        metadata: { name: "data" },
        spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
      },
    ],
  },
};

/** An operator on the contract: it reports what it did, and can transfer the leadership. */
const CONTRACT_RULES: JsonObject = {
  completion: { protocol: "Contract" },
  updateStrategy: { type: "RollingUpdate", rollingUpdate: { leaderTransfer: { timeoutSeconds: 60 } } },
};

export const XLINE_EXAMPLE: Example = {
  name: "xline",
  at: { namespace: "default", name: "xline" },
  templates: resource({
    apiVersion: "apps.my.io/v1alpha1",
    kind: "XlineCluster",
    plural: "xlineclusters",
    namespaced: true,
  }),
  podSelector: "apps.my.io/cluster=xline",
  rules: CONTRACT_RULES,
  templateSpec: { replicas: REPLICAS, image: "example.com/xline:1.0" },
};

/** `addresses`: where the instances listen, with {ordinal} in it. */
export function etcdExample(addresses: string): Example {
  return {
    name: "etcd",
    at: { namespace: "default", name: "etcd" },
    templates: resource({
      apiVersion: "example.io/v1alpha1",
      kind: "EtcdCluster",
      plural: "etcdclusters",
      namespaced: true,
    }),
    podSelector: "example.io/cluster=etcd",
    rules: { ...CONTRACT_RULES, identity: { addressTemplate: addresses } },
    templateSpec: { replicas: REPLICAS, image: "example.com/etcd:1.0", args: ["--snapshot-count=10000"] },
  };
}

/** All of them, in the order in which they are searched on a fleet. */
export const EXAMPLES: readonly Example[] = [STATEFULSET_EXAMPLE, XLINE_EXAMPLE, etcdExample("")];

/** Everything that is applied, in this order. */
export function exampleObjects(
  example: Example,
  clusters: readonly string[],
): [policy: KubeObject, hold: KubeObject, template: KubeObject] {
  return [propagation(example, clusters), crossClusterStatefulset(example), template(example)];
}

/** First what selects and holds, so that only Lockstep dispatches the template. */
export async function applyHold(hub: KubeClient, example: Example, clusters: readonly string[]): Promise<void> {
  const [policy, hold] = exampleObjects(example, clusters);
  await hub.apply(POLICIES, policy, WRITE);
  await hub.apply(STATEFULSETS, hold, WRITE);
}

export async function applyTemplate(hub: KubeClient, example: Example): Promise<void> {
  if (await hub.find(example.templates, example.at)) return;
  await hub.apply(example.templates, template(example), WRITE);
}

/** The controller has answered: regardless of its reason, the hold is in place. */
export function isHeld(object: KubeObject | undefined): boolean {
  return isJsonObject(object?.status) && object.status.observedGeneration === object.metadata.generation;
}

function selected({ templates, at }: Example): JsonObject {
  return { apiVersion: templates.apiVersion, kind: templates.kind, ...at };
}

function crossClusterStatefulset(example: Example): KubeObject {
  return {
    apiVersion: STATEFULSETS.apiVersion,
    kind: STATEFULSETS.kind,
    metadata: { ...example.at },
    spec: { resourceSelector: selected(example), ...example.rules },
  };
}

/** The first clusters have twice the weight of the last one: five instances over three clusters are 2 + 2 + 1. */
function propagation(example: Example, clusters: readonly string[]): KubeObject {
  const staticWeightList = clusters.map((cluster, index) => ({
    targetCluster: { clusterNames: [cluster] },
    weight: index < clusters.length - 1 ? 2 : 1,
  }));
  return {
    apiVersion: POLICIES.apiVersion,
    kind: POLICIES.kind,
    metadata: { ...example.at },
    spec: {
      resourceSelectors: [selected(example)],
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

function template({ templates, at, labels, templateSpec }: Example): KubeObject {
  return {
    apiVersion: templates.apiVersion,
    kind: templates.kind,
    metadata: { ...at, labels: { ...labels, "lockstep.karmada.io/managed": "true" } },
    spec: templateSpec,
  };
}
