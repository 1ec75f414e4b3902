/** Rights: the controller's on the hub and in the members, and roles for people. Pure. */
import { APPS_GROUP, CLUSTERS_IN_USE, type EngineName, type Workload } from "../../../api/index.ts";
import type { JsonObject } from "../../../runtime/index.ts";

export interface Rule {
  readonly apiGroups: string[];
  readonly resources: string[];
  readonly verbs: string[];
  readonly resourceNames?: string[];
}

interface RoleSettings {
  readonly workloads: readonly Workload[];
  /** Kinds whose replicas Karmada's scheduler may divide: the controller writes copies of them on the hub. */
  readonly divided?: readonly Workload[] | undefined;
  /** Absent: Karmada. */
  readonly engine?: EngineName | undefined;
}

export const LABELS = { "app.kubernetes.io/part-of": "lockstep" };
export const READ = ["get", "list", "watch"];
const STATEFULSETS = "crossclusterstatefulsets";
const APPLICATIONS = "distributedapplications";
const JOBS = "crossclusterjobs";
const APPROVALS = "rolloutapprovals";

/** Everything that the controller does on the hub outside its own namespace, and nothing else. */
export function hubRules({ workloads, divided = [], engine = "karmada" }: RoleSettings): Rule[] {
  return [...commonHubRules(workloads), ...(engine === "ocm" ? OCM_HUB_RULES : karmadaHubRules(divided))];
}

function commonHubRules(workloads: readonly Workload[]): Rule[] {
  return [
    // Deleted when their own lifetime has passed.
    rule(APPS_GROUP, [STATEFULSETS, APPLICATIONS, JOBS], [...READ, "update", "delete"]),
    rule(APPS_GROUP, [`${STATEFULSETS}/status`, `${APPLICATIONS}/status`, `${JOBS}/status`], ["update"]),
    // Whether an application's ServiceAccount may distribute what its source has.
    rule("authorization.k8s.io", ["subjectaccessreviews"], ["create"]),
    rule(APPS_GROUP, [APPROVALS], READ),
    rule(APPS_GROUP, [`${APPROVALS}/status`], ["patch"]),
    // The readable copies of revisions, without Secrets.
    rule("apps", ["controllerrevisions"], [...READ, "create", "delete"]),
    // What templates name, and the managed objects.
    rule("", ["configmaps", "secrets", "serviceaccounts"], READ),
    // Which clusters each may use.
    rule("", ["namespaces"], READ),
    rule("apps", ["statefulsets"], READ),
    ...workloads.map(({ group, plural }) => rule(group, [plural], READ)),
    rule("", ["events"], ["create", "patch"]),
    rule(
      "config.karmada.io",
      [
        "resourceinterpretercustomizations",
        "resourceinterpreterwebhookconfigurations",
        "resourceexploringwebhookconfigurations",
      ],
      READ,
    ),
  ];
}

/** A copy of a workload that Karmada's scheduler divides, and the policy that says over which clusters. */
const COPY = ["get", "create", "patch", "delete"];

function karmadaHubRules(divided: readonly Workload[]): Rule[] {
  return [
    ...KARMADA_HUB_RULES,
    ...(divided.length > 0 ? [rule("policy.karmada.io", ["propagationpolicies"], COPY)] : []),
    ...divided.map(({ group, plural }) => rule(group, [plural], COPY)),
  ];
}

const KARMADA_HUB_RULES = [
  rule("cluster.karmada.io", ["clusters"], READ),
  rule("cluster.karmada.io", ["clusters/proxy"], ["get", "delete"]),
  rule("work.karmada.io", ["works"], [...READ, "create", "update", "patch", "delete"]),
  rule("work.karmada.io", ["resourcebindings"], READ),
  rule("policy.karmada.io", ["overridepolicies"], [...READ, "create", "update", "patch", "delete"]),
  rule("policy.karmada.io", ["clusteroverridepolicies"], READ),
  // Looked at every few minutes: one makes Karmada divide replicas again in the middle of a rollout.
  rule("apps.karmada.io", ["workloadrebalancers"], ["list"]),
];

const OCM_HUB_RULES = [
  rule(
    "cluster.open-cluster-management.io",
    ["managedclusters", "placements", "placementdecisions", "addonplacementscores"],
    READ,
  ),
  rule("work.open-cluster-management.io", ["manifestworks"], [...READ, "create", "update", "patch", "delete"]),
];

/** Only in Lockstep's own namespace: the lease, the ledgers, and the revisions, which are Secrets. */
export function systemRules(engine: EngineName = "karmada"): Rule[] {
  return [
    ...(engine === "ocm" ? [{ ...rule("", ["configmaps"], ["get", "patch"]), resourceNames: [CLUSTERS_IN_USE] }] : []),
    rule("coordination.k8s.io", ["leases"], ["get", "create", "update"]),
    rule(APPS_GROUP, ["crossclusterledgers"], [...READ, "create", "update", "delete"]),
    rule("", ["secrets"], ["get", "list", "create", "delete"]),
  ];
}

/** Looked at every few minutes: they would work against a rollout. */
const AUTOSCALERS = [
  rule("autoscaling", ["horizontalpodautoscalers"], ["list"]),
  rule("autoscaling.k8s.io", ["verticalpodautoscalers"], ["list"]),
];

/**
 * In members: reading what runs; deleting only broken pods during a rollback, and volumes that the user wants deleted.
 */
export function memberRules({
  workloads,
  engine = "karmada",
}: {
  readonly workloads: readonly Workload[];
  readonly engine?: EngineName | undefined;
}): Rule[] {
  return [
    rule("apps", ["statefulsets"], READ),
    rule("batch", ["jobs"], READ),
    ...workloads.map(({ group, plural }) => rule(group, [plural], READ)),
    rule("", ["pods"], [...READ, "delete"]),
    // Read before a grant refers to them, and never watched: a topology that is too large for annotations.
    rule("", ["configmaps"], ["get"]),
    // Read before an ordinal is reused, and never watched.
    rule("", ["persistentvolumeclaims"], ["get", "list", "delete"]),
    // Read before a cluster gets more instances, and never watched.
    rule("", ["resourcequotas", "limitranges"], ["list"]),
    ...(engine === "karmada" ? AUTOSCALERS : []),
  ];
}

export const ON_CALL_ROLE = "lockstep-on-call";
/** ClusterRoleBindings with this label are propagated to every member. */
export const ON_CALL_LABEL = "lockstep.karmada.io/on-call";

/**
 * Roles for people. Two of them are aggregated into Kubernetes' own roles (view, edit, admin) by labels, as for
 * Karmada's kinds. Approving is not: a user who may edit an application must not be able to approve its rollout.
 */
export function peopleRoles(engine: EngineName = "karmada"): JsonObject[] {
  const change = ["create", "update", "patch", "delete", "deletecollection"];
  const scale = rule(APPS_GROUP, [`${STATEFULSETS}/scale`], ["get", "update", "patch"]);
  const kinds = [STATEFULSETS, APPLICATIONS, JOBS];
  const statuses = kinds.map((kind) => `${kind}/status`);
  const read = rule(APPS_GROUP, [...kinds, ...statuses, APPROVALS, `${APPROVALS}/status`], READ);
  // What 'why' and 'history' show; Kubernetes' own view includes them already.
  const look = [read, rule("", ["events"], READ), rule("apps", ["controllerrevisions"], READ)];
  return [
    clusterRole("lockstep-viewer", [read], { "rbac.authorization.k8s.io/aggregate-to-view": "true" }),
    clusterRole("lockstep-editor", [rule(APPS_GROUP, kinds, change), scale], {
      "rbac.authorization.k8s.io/aggregate-to-edit": "true",
    }),
    // Pause, resume, undo, restart and scale are all changes of the spec; Kubernetes cannot grant them separately.
    clusterRole("lockstep-operator", [...look, rule(APPS_GROUP, kinds, ["update", "patch"]), scale]),
    clusterRole("lockstep-approver", [...look, rule(APPS_GROUP, [APPROVALS], ["create", "delete"])]),
    // On other hubs people reach members with credentials of their own.
    ...(engine === "karmada" ? [clusterRole(ON_CALL_ROLE, onCallRules())] : []),
  ];
}

/** On the hub it allows the proxy, in each member it grants the rights there. */
function onCallRules(): Rule[] {
  return [
    rule("cluster.karmada.io", ["clusters"], READ),
    rule("cluster.karmada.io", ["clusters/proxy"], ["get", "delete"]),
    rule("", ["pods"], [...READ, "delete"]),
    rule("", ["pods/log"], ["get"]),
    rule("", ["events", "persistentvolumeclaims", "services"], READ),
    // The room that 'plan' shows.
    rule("", ["resourcequotas", "limitranges"], ["list"]),
    rule("apps", ["statefulsets", "controllerrevisions"], READ),
    rule("batch", ["jobs"], READ),
  ];
}

export function rule(group: string, resources: readonly string[], verbs: readonly string[]): Rule {
  return { apiGroups: [group], resources: [...resources], verbs: [...verbs] };
}

export function clusterRole(
  name: string,
  rules: readonly Rule[],
  labels: Readonly<Record<string, string>> = {},
): JsonObject {
  return {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: { name, labels: { ...LABELS, ...labels } },
    rules: rules.map((each) => ({ ...each })),
  };
}
