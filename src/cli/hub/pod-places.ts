/** Where the pods of each kind are that may be in trouble: in which cluster, and how they are recognized. Pure. */
import type {
  CrossClusterJobStatus,
  CrossClusterStatefulsetStatus,
  DistributedApplicationStatus,
} from "../../api/index.ts";
import type { KubeObject } from "../../kube/index.ts";
import { isJsonObject } from "../../runtime/index.ts";

export interface PodPlace {
  readonly cluster: string;
  readonly namespace: string;
  readonly pods:
    | { readonly by: "selector"; readonly selector: string }
    | { readonly by: "names"; readonly names: readonly string[] }
    | { readonly by: "owners"; readonly owners: readonly Owner[] };
}

export interface Owner {
  readonly kind: string;
  readonly name: string;
}

/** A user reads no more at once. */
const MAX_PLACES = 3;

/** Clusters that can be read and have fewer ready instances than they should, the awaited one first. */
export function placesOfStatefulset(
  { clusters = [], selector }: CrossClusterStatefulsetStatus,
  namespace: string,
  first?: string,
): PodPlace[] {
  return clusters
    .filter(
      ({ granted, observed, health }) =>
        health !== "Lost" && observed !== undefined && (observed.ready ?? 0) < (granted?.replicas ?? 0),
    )
    .sort((a, b) => Number(b.name === first) - Number(a.name === first))
    .slice(0, MAX_PLACES)
    .map(({ name, instances = [] }) => ({
      cluster: name,
      namespace,
      pods:
        selector === undefined || selector === ""
          ? { by: "names", names: instances.map((instance) => instance.name) }
          : { by: "selector", selector },
    }));
}

/** Clusters with objects that are not healthy; the status does not tell which of these objects each one has. */
export function placesOfApplication({ clusters = [], objects = [] }: DistributedApplicationStatus): PodPlace[] {
  const owners = new Map<string, Owner[]>();
  for (const { kind, name, namespace, health } of objects) {
    if (namespace === undefined || health === "Healthy") continue;
    owners.set(namespace, [...(owners.get(namespace) ?? []), { kind, name }]);
  }
  return clusters
    .filter((row) => (row.ready ?? 0) < (row.objects ?? 0))
    .flatMap(({ name }) =>
      [...owners].map(
        ([namespace, all]): PodPlace => ({
          cluster: name,
          namespace,
          pods: { by: "owners", owners: all },
        }),
      ),
    )
    .slice(0, MAX_PLACES);
}

/** Attempts that are not known to have succeeded, the newest first. */
export function placesOfJob(object: KubeObject, { attempts = [] }: CrossClusterJobStatus): PodPlace[] {
  const { namespace = "default" } = object.metadata;
  const label = podLabelOf(workOf(object));
  return attempts
    .toReversed()
    .filter(({ state }) => state !== "Succeeded")
    .flatMap(({ cluster, object: name }): PodPlace[] =>
      name === undefined ? [] : [{ cluster, namespace, pods: { by: "selector", selector: `${label}=${name}` } }],
    )
    .slice(0, MAX_PLACES);
}

/** A Deployment owns its pods through a ReplicaSet, which has its name and the hash of the pods. */
export function isOwnedBy({ metadata }: KubeObject, { kind, name }: Owner): boolean {
  const hash = metadata.labels?.["pod-template-hash"];
  const owners = Array.isArray(metadata.ownerReferences) ? metadata.ownerReferences.filter(isJsonObject) : [];
  return owners.some(
    (owner) =>
      (owner.kind === kind && owner.name === name) ||
      (kind === "Deployment" && owner.kind === "ReplicaSet" && owner.name === `${name}-${hash}`),
  );
}

export interface Work {
  readonly group: string;
  readonly kind: string;
}

/** What a CrossClusterJob's template is. */
export function workOf({ spec }: KubeObject): Work {
  const template = isJsonObject(spec) && isJsonObject(spec.template) ? spec.template : {};
  const { apiVersion, kind } = template;
  const version = typeof apiVersion === "string" ? apiVersion : "";
  return {
    group: version.includes("/") ? (version.split("/")[0] ?? "") : "",
    kind: typeof kind === "string" ? kind : "unknown",
  };
}

/** The label by which each kind's pods name their object. The pods of a RayJob's own Job have the same label as a Job's. */
const JOB_NAME_LABEL = "batch.kubernetes.io/job-name";
const NAME_LABELS: Readonly<Record<string, string>> = {
  "batch.volcano.sh/Job": "volcano.sh/job-name",
  "kubeflow.org/PyTorchJob": "training.kubeflow.org/job-name",
  "kubeflow.org/TFJob": "training.kubeflow.org/job-name",
  "sparkoperator.k8s.io/SparkApplication": "sparkoperator.k8s.io/app-name",
  "argoproj.io/Workflow": "workflows.argoproj.io/workflow",
};

export function podLabelOf({ group, kind }: Work): string {
  const key = `${group}/${kind}`;
  return Object.hasOwn(NAME_LABELS, key) ? (NAME_LABELS[key] ?? JOB_NAME_LABEL) : JOB_NAME_LABEL;
}
