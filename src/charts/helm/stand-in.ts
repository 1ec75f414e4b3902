/**
 * What the stand-in for a cluster answers when helm looks objects up: this application's own objects, and nothing else.
 * Pure; stand-in-server.ts puts it on loopback.
 */
import type { KubeObject } from "../../kube/index.ts";
import { isJsonObject, type Json, type JsonObject } from "../../runtime/index.ts";

/** One question of a template. Without a name it asks for a list. */
export interface Lookup {
  readonly apiVersion: string;
  /** Empty if the cluster does not know the kind: helm does not say which one it was. */
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

export interface StandInAnswer {
  readonly status: number;
  readonly body: JsonObject;
}

export interface StandInOptions {
  readonly objects: readonly KubeObject[];
  /** Where objects without a namespace are. */
  readonly namespace: string;
  readonly kubeVersion: string;
  /** `group/version` and `group/version/Kind`. */
  readonly apiVersions: readonly string[];
  /** Lookups that are answered with an error, which makes helm name the template and its line. */
  readonly refuses: (lookup: Lookup) => boolean;
}

/** Kinds that every cluster has, as far as charts look them up, by apiVersion. */
const BUILT_IN: Readonly<Record<string, readonly string[]>> = {
  v1: [
    "ConfigMap",
    "Endpoints",
    "Event",
    "LimitRange",
    "Namespace",
    "Node",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Pod",
    "ReplicationController",
    "ResourceQuota",
    "Secret",
    "Service",
    "ServiceAccount",
  ],
  "apps/v1": ["ControllerRevision", "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"],
  "batch/v1": ["CronJob", "Job"],
  "autoscaling/v2": ["HorizontalPodAutoscaler"],
  "policy/v1": ["PodDisruptionBudget"],
  "networking.k8s.io/v1": ["Ingress", "IngressClass", "NetworkPolicy"],
  "rbac.authorization.k8s.io/v1": ["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"],
  "storage.k8s.io/v1": ["CSIDriver", "CSINode", "StorageClass", "VolumeAttachment"],
  "scheduling.k8s.io/v1": ["PriorityClass"],
  "admissionregistration.k8s.io/v1": ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"],
  "apiextensions.k8s.io/v1": ["CustomResourceDefinition"],
  "apiregistration.k8s.io/v1": ["APIService"],
  "coordination.k8s.io/v1": ["Lease"],
};

/** For these helm leaves out the namespace that a template gives. */
const CLUSTER_SCOPED = new Set([
  "APIService",
  "CSIDriver",
  "CSINode",
  "ClusterRole",
  "ClusterRoleBinding",
  "CustomResourceDefinition",
  "IngressClass",
  "MutatingWebhookConfiguration",
  "Namespace",
  "Node",
  "PersistentVolume",
  "PriorityClass",
  "RuntimeClass",
  "StorageClass",
  "ValidatingWebhookConfiguration",
  "VolumeAttachment",
]);

export class StandIn {
  readonly #options: StandInOptions;
  /** apiVersion -> resource -> kind. A resource is its kind in lower case: helm only passes on what discovery said. */
  readonly #kinds = new Map<string, Map<string, string>>();
  readonly #asked: Lookup[] = [];

  constructor(options: StandInOptions) {
    this.#options = options;
    for (const [apiVersion, kinds] of Object.entries(BUILT_IN)) for (const kind of kinds) this.#know(apiVersion, kind);
    for (const entry of options.apiVersions) {
      const kind = /^(.*v[^/]*)\/([A-Z][^/]*)$/.exec(entry);
      if (kind) this.#know(kind[1] ?? "", kind[2] ?? "");
      else this.#know(entry);
    }
    for (const object of options.objects) this.#know(object.apiVersion, object.kind);
  }

  /** What was looked up and is not among the objects; lists always count. */
  get asked(): readonly Lookup[] {
    return this.#asked;
  }

  answer(path: string, isDiscovery: boolean): StandInAnswer {
    const parts = path
      .split("/")
      .filter((part) => part !== "")
      .map(decodeURIComponent);
    if (isDiscovery) return this.#discovery(parts);
    const lookup = this.#lookupAt(parts);
    const { name, kind } = lookup;
    const found = this.#options.objects.filter((object) => matches(object, lookup, this.#options.namespace));
    if (name === "" || found.length === 0 || this.#options.refuses(lookup)) this.#asked.push(lookup);
    if (this.#options.refuses(lookup))
      return failure(403, "Forbidden", `${describeLookup(lookup)} is none of this application's own objects`);
    if (name === "" && kind !== "") return { status: 200, body: listOf(lookup, found) };
    const [object] = found;
    return object
      ? { status: 200, body: asStored(object, this.#options.namespace) }
      : failure(404, "NotFound", `${describeLookup(lookup)} not found`);
  }

  #know(apiVersion: string, kind?: string): void {
    const kinds = this.#kinds.get(apiVersion) ?? new Map<string, string>();
    this.#kinds.set(apiVersion, kinds);
    if (kind !== undefined) kinds.set(kind.toLowerCase(), kind);
  }

  #discovery(parts: readonly string[]): StandInAnswer {
    const [root, ...rest] = parts;
    if (root === "version") return { status: 200, body: versionOf(this.#options.kubeVersion) };
    if (root === "api" && rest.length === 0) return { status: 200, body: { kind: "APIVersions", versions: ["v1"] } };
    if (root === "apis" && rest.length === 0) return { status: 200, body: this.#groups() };
    const apiVersion = rest.join("/");
    const kinds = this.#kinds.get(apiVersion);
    const isRight = root === (apiVersion === "v1" ? "api" : "apis");
    if (!kinds || !isRight) return failure(404, "NotFound", `no member cluster serves '${apiVersion}'`);
    const resources = [...kinds].map(([name, kind]) => ({
      name,
      kind,
      namespaced: !CLUSTER_SCOPED.has(kind),
      singularName: name,
      verbs: ["get", "list"],
    }));
    return { status: 200, body: { kind: "APIResourceList", apiVersion: "v1", groupVersion: apiVersion, resources } };
  }

  #groups(): JsonObject {
    const groups = new Map<string, JsonObject[]>();
    for (const groupVersion of this.#kinds.keys()) {
      const [group = "", version] = groupVersion.split("/");
      if (version === undefined) continue;
      groups.set(group, [...(groups.get(group) ?? []), { groupVersion, version }]);
    }
    const list: Json[] = [...groups].map(([name, versions]) => ({ name, versions, preferredVersion: versions[0] }));
    return { kind: "APIGroupList", apiVersion: "v1", groups: list };
  }

  /** `/api/v1/namespaces/NS/secret/NAME`. A kind that discovery did not have becomes a path without version. */
  #lookupAt(parts: readonly string[]): Lookup {
    const isCore = parts[0] === "api";
    const apiVersion = (isCore ? parts.slice(1, 2) : parts.slice(1, 3)).join("/");
    const rest = parts.slice(isCore ? 2 : 3);
    const namespace = rest[0] === "namespaces" ? (rest[1] ?? "") : "";
    const [resource = "", name = ""] = rest[0] === "namespaces" ? rest.slice(2) : rest;
    const kind = this.#kinds.get(apiVersion)?.get(resource);
    return kind === undefined
      ? { apiVersion: "", kind: "", namespace: "", name: parts.at(-1) ?? "" }
      : { apiVersion, kind, namespace, name };
  }
}

/** `Secret default/password`, `all Nodes`. */
export function describeLookup({ kind, namespace, name }: Lookup): string {
  if (kind === "") return "an object of a kind that no member cluster serves";
  const within = namespace === "" ? "" : ` of namespace ${namespace}`;
  return name === ""
    ? `the list of ${kind} objects${within}`
    : `${kind} ${namespace === "" ? "" : `${namespace}/`}${name}`;
}

/** Whether an object is what a lookup asks for, or one of the list that it asks for. */
export function matches(object: KubeObject, lookup: Lookup, namespace: string): boolean {
  if (object.kind !== lookup.kind || groupOf(object.apiVersion) !== groupOf(lookup.apiVersion)) return false;
  if (lookup.name !== "" && object.metadata.name !== lookup.name) return false;
  if (CLUSTER_SCOPED.has(object.kind) || lookup.namespace === "") return true;
  return (object.metadata.namespace ?? namespace) === lookup.namespace;
}

function groupOf(apiVersion: string): string {
  return apiVersion.includes("/") ? (apiVersion.split("/")[0] ?? "") : "";
}

function listOf({ apiVersion, kind }: Lookup, found: readonly KubeObject[]): JsonObject {
  return {
    apiVersion,
    kind: `${kind}List`,
    metadata: {},
    items: found.map((object) => asStored(object, object.metadata.namespace ?? "")),
  };
}

/** As an API server returns it: a Secret's text is stored encoded, and templates decode it. */
function asStored(object: KubeObject, namespace: string): JsonObject {
  const isPlaced = object.metadata.namespace !== undefined || CLUSTER_SCOPED.has(object.kind) || namespace === "";
  const placed: JsonObject = isPlaced ? object : { ...object, metadata: { ...object.metadata, namespace } };
  if (object.kind !== "Secret" || !isJsonObject(object.stringData)) return placed;
  const { stringData, data, ...rest } = placed;
  const encoded = Object.entries(isJsonObject(stringData) ? stringData : {}).map(
    ([key, value]) => [key, Buffer.from(String(value)).toString("base64")] as const,
  );
  return { ...rest, data: { ...(isJsonObject(data) ? data : {}), ...Object.fromEntries(encoded) } };
}

function versionOf(kubeVersion: string): JsonObject {
  const [, major = "1", minor = "0"] = /^v?(\d+)\.(\d+)/.exec(kubeVersion) ?? [];
  return { major, minor, gitVersion: kubeVersion.startsWith("v") ? kubeVersion : `v${kubeVersion}` };
}

function failure(code: number, reason: string, message: string): StandInAnswer {
  return { status: code, body: { kind: "Status", apiVersion: "v1", status: "Failure", reason, code, message } };
}
