import { valueAt } from "../../runtime/index.ts";
import { builtInDecoder, type Decoder } from "../kinds/decode.ts";
import { apiVersionOf } from "../kinds/registry.ts";
import { builtInShape } from "../kinds/schema-shape.ts";
import { textAt } from "../store/values.ts";
import type { KubeObject, ResourceDefinition, Strategy } from "../types.ts";
import * as defaults from "./defaults.ts";
import { EVENT_CONVERSION, EVENT_FIELDS } from "./events.ts";
import * as validation from "./validation.ts";

const ALL_VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

interface Kind {
  readonly kind: string;
  readonly plural?: string;
  readonly shortNames?: string[];
  readonly categories?: string[];
  readonly clusterScoped?: true;
  readonly status?: true;
  readonly scale?: true;
  /** The server answers the posted object, and stores nothing. */
  readonly answered?: true;
  readonly strategy?: Strategy;
}

const SCALE = {
  specReplicasPath: ".spec.replicas",
  statusReplicasPath: ".status.replicas",
  labelSelectorPath: ".spec.selector",
};

/** New objects of these kinds start with a status; others start without one. */
const withPhase = (phase: string) => (object: KubeObject) => {
  object.status = { phase };
};

/** Pods that never ran, or have ended, need no time to terminate. */
function podGraceSeconds(pod: KubeObject): number {
  const phase = textAt(pod, "status", "phase");
  if ((textAt(pod, "spec", "nodeName") ?? "") === "" || phase === "Succeeded" || phase === "Failed") return 0;
  const seconds = valueAt(pod, "spec", "terminationGracePeriodSeconds");
  return typeof seconds === "number" ? seconds : 0;
}

const field =
  (...path: string[]) =>
  (object: KubeObject): string =>
    textAt(object, ...path) ?? "";

const CORE: Kind[] = [
  {
    kind: "Namespace",
    shortNames: ["ns"],
    clusterScoped: true,
    status: true,
    strategy: {
      nameRule: "label",
      defaults: defaults.namespaceDefaults,
      prepareForCreate: withPhase("Active"),
      fieldSelectors: { "status.phase": field("status", "phase") },
    },
  },
  {
    kind: "Pod",
    shortNames: ["po"],
    categories: ["all"],
    status: true,
    strategy: {
      generation: true,
      defaults: defaults.podDefaults,
      prepareForCreate: withPhase("Pending"),
      validate: validation.validatePod,
      gracePeriodSeconds: podGraceSeconds,
      fieldSelectors: {
        "spec.nodeName": field("spec", "nodeName"),
        "spec.serviceAccountName": field("spec", "serviceAccountName"),
        "spec.restartPolicy": field("spec", "restartPolicy"),
        "status.phase": field("status", "phase"),
        "status.podIP": field("status", "podIP"),
      },
    },
  },
  {
    kind: "Service",
    shortNames: ["svc"],
    categories: ["all"],
    status: true,
    strategy: {
      nameRule: "label1035",
      createOnUpdate: true,
      defaults: defaults.serviceDefaults,
      prepareForCreate: (service) => {
        defaults.assignClusterIP(service);
        service.status = { loadBalancer: {} };
      },
      prepareForUpdate: (service, old) => defaults.keepClusterIP(service, old),
      validate: validation.validateService,
      fieldSelectors: { "spec.type": field("spec", "type"), "spec.clusterIP": field("spec", "clusterIP") },
    },
  },
  { kind: "Endpoints", plural: "endpoints", shortNames: ["ep"], strategy: { createOnUpdate: true } },
  { kind: "ConfigMap", shortNames: ["cm"], strategy: { validate: validation.validateKeptData } },
  {
    kind: "Secret",
    strategy: {
      defaults: defaults.secretDefaults,
      validate: validation.validateSecret,
      fieldSelectors: { type: field("type") },
    },
  },
  { kind: "ServiceAccount", shortNames: ["sa"] },
  {
    kind: "PersistentVolumeClaim",
    shortNames: ["pvc"],
    status: true,
    strategy: {
      defaults: defaults.claimDefaults,
      prepareForCreate: withPhase("Pending"),
      validate: validation.validateClaim,
    },
  },
  {
    kind: "PersistentVolume",
    shortNames: ["pv"],
    clusterScoped: true,
    status: true,
    strategy: { defaults: defaults.volumeDefaults, prepareForCreate: withPhase("Pending") },
  },
  {
    kind: "Node",
    shortNames: ["no"],
    clusterScoped: true,
    status: true,
    strategy: {
      fieldSelectors: { "spec.unschedulable": (node) => String(valueAt(node, "spec", "unschedulable") === true) },
    },
  },
  { kind: "Event", shortNames: ["ev"], strategy: { createOnUpdate: true, fieldSelectors: EVENT_FIELDS } },
  { kind: "ResourceQuota", shortNames: ["quota"], status: true },
];

const APPS: Kind[] = [
  {
    kind: "StatefulSet",
    shortNames: ["sts"],
    categories: ["all"],
    status: true,
    scale: true,
    strategy: {
      generation: true,
      defaults: defaults.statefulSetDefaults,
      prepareForCreate: (set) => {
        set.status = { replicas: 0, availableReplicas: 0 };
      },
      validate: validation.validateStatefulSet,
    },
  },
  {
    kind: "Deployment",
    shortNames: ["deploy"],
    categories: ["all"],
    status: true,
    scale: true,
    strategy: {
      generation: true,
      defaults: defaults.deploymentDefaults,
      validate: validation.validateSelectorWorkload,
    },
  },
  {
    kind: "ReplicaSet",
    shortNames: ["rs"],
    categories: ["all"],
    status: true,
    scale: true,
    strategy: {
      generation: true,
      defaults: defaults.replicaSetDefaults,
      prepareForCreate: (set) => {
        set.status = { replicas: 0 };
      },
      validate: validation.validateSelectorWorkload,
    },
  },
  {
    kind: "DaemonSet",
    shortNames: ["ds"],
    categories: ["all"],
    status: true,
    strategy: {
      generation: true,
      defaults: defaults.daemonSetDefaults,
      validate: validation.validateSelectorWorkload,
    },
  },
  { kind: "ControllerRevision", strategy: { validate: validation.validateRevision } },
];

const GROUPS: [group: string, version: string, kinds: Kind[]][] = [
  ["", "v1", CORE],
  ["apps", "v1", APPS],
  [
    "batch",
    "v1",
    [
      {
        kind: "Job",
        categories: ["all"],
        status: true,
        strategy: { generation: true, defaults: defaults.jobDefaults, validate: validation.validateJob },
      },
      {
        kind: "CronJob",
        shortNames: ["cj"],
        categories: ["all"],
        status: true,
        strategy: { generation: true, defaults: defaults.cronJobDefaults },
      },
    ],
  ],
  [
    "policy",
    "v1",
    [{ kind: "PodDisruptionBudget", shortNames: ["pdb"], status: true, strategy: { generation: true } }],
  ],
  ["discovery.k8s.io", "v1", [{ kind: "EndpointSlice", strategy: { generation: true } }]],
  [
    "coordination.k8s.io",
    "v1",
    [
      {
        kind: "Lease",
        strategy: { createOnUpdate: true, requireResourceVersion: true, validate: validation.validateLease },
      },
    ],
  ],
  ["authentication.k8s.io", "v1", [{ kind: "SelfSubjectReview", clusterScoped: true, answered: true }]],
  ["authorization.k8s.io", "v1", [{ kind: "SelfSubjectAccessReview", clusterScoped: true, answered: true }]],
  [
    "authorization.k8s.io",
    "v1",
    [
      { kind: "SelfSubjectAccessReview", clusterScoped: true, answered: true },
      { kind: "SubjectAccessReview", clusterScoped: true, answered: true },
    ],
  ],
  [
    "rbac.authorization.k8s.io",
    "v1",
    [
      { kind: "Role", strategy: { nameRule: "path" } },
      { kind: "RoleBinding", strategy: { nameRule: "path" } },
      { kind: "ClusterRole", clusterScoped: true, strategy: { nameRule: "path" } },
      { kind: "ClusterRoleBinding", clusterScoped: true, strategy: { nameRule: "path" } },
    ],
  ],
  [
    "storage.k8s.io",
    "v1",
    [{ kind: "StorageClass", plural: "storageclasses", shortNames: ["sc"], clusterScoped: true }],
  ],
  [
    "admissionregistration.k8s.io",
    "v1",
    [
      {
        kind: "ValidatingAdmissionPolicy",
        plural: "validatingadmissionpolicies",
        categories: ["api-extensions"],
        clusterScoped: true,
        status: true,
        strategy: { generation: true },
      },
      { kind: "ValidatingAdmissionPolicyBinding", categories: ["api-extensions"], clusterScoped: true },
    ],
  ],
];

/** The kinds of a fresh server, without CustomResourceDefinition, which kinds/crd.ts defines. */
export function builtInKinds(): ResourceDefinition[] {
  const definitions = GROUPS.flatMap(([group, version, kinds]) => kinds.map((kind) => define(group, version, kind)));
  const core = definitions.find((each) => each.resource === "/events");
  if (core) definitions.push(newerEvents(core));
  return definitions;
}

export function define(group: string, version: string, kind: Kind): ResourceDefinition {
  const singular = kind.kind.toLowerCase();
  const plural = kind.plural ?? `${singular}s`;
  return {
    group,
    version,
    kind: kind.kind,
    listKind: `${kind.kind}List`,
    plural,
    singular,
    shortNames: kind.shortNames ?? [],
    categories: kind.categories ?? [],
    namespaced: !kind.clusterScoped,
    verbs: verbsOf(kind),
    subresources: { ...(kind.status && { status: true }), ...(kind.scale && { scale: SCALE }) },
    resource: `${group}/${plural}`,
    builtIn: true,
    storageApiVersion: apiVersionOf({ group, version }),
    columns: [],
    shape: builtInShape(group, version, kind.kind),
    strategy: kind.strategy ?? {},
    decoder: builtInDecoder(group, version, kind.kind),
  };
}

function verbsOf({ kind, answered }: Kind): string[] {
  if (answered) return ["create"];
  return kind === "Namespace" ? ALL_VERBS.filter((verb) => verb !== "deletecollection") : ALL_VERBS;
}

/** events.k8s.io shows the same objects as core, under newer names. */
function newerEvents(core: ResourceDefinition): ResourceDefinition {
  const decoder: Decoder | undefined = builtInDecoder("events.k8s.io", "v1", "Event");
  return {
    ...core,
    group: "events.k8s.io",
    version: "v1",
    shape: builtInShape("events.k8s.io", "v1", "Event"),
    convert: EVENT_CONVERSION,
    ...(decoder && { decoder }),
  };
}
