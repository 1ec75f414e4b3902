/** What the hub and the members need besides the controller itself. Pure. */
import { admissionPolicies, customResourceDefinitions } from "../api/index.ts";
import type { JsonObject } from "../runtime/index.ts";

export interface InstallSettings {
  readonly leaseNamespace: string;
  /** Custom workloads that may be managed, as `plural.group`; StatefulSets always may. */
  readonly workloads: readonly { readonly plural: string; readonly group: string }[];
  readonly standingHold: boolean;
}

export const CONTROLLER_ACCOUNT = "lockstep-controller";
/** Templates with this label are held from the moment they are created, before any CrossClusterStatefulset is. */
export const STANDING_HOLD_LABEL = "lockstep.karmada.io/managed";
/** The engine leaves policies with this label out of the users' own. */
const HOLD_LABEL = "lockstep.karmada.io/hold";
const MEMBER_ROLE = "lockstep-member";
const LABELS = { "app.kubernetes.io/part-of": "lockstep" };
const READ = ["get", "list", "watch"];

export interface Rule {
  readonly apiGroups: string[];
  readonly resources: string[];
  readonly verbs: string[];
}

/** In the order in which they can be applied. */
export function installManifests(settings: InstallSettings): JsonObject[] {
  const { leaseNamespace, standingHold } = settings;
  const subject = { kind: "ServiceAccount", name: CONTROLLER_ACCOUNT, namespace: leaseNamespace };
  return [
    ...customResourceDefinitions(),
    ...admissionPolicies(),
    { apiVersion: "v1", kind: "Namespace", metadata: { name: leaseNamespace } },
    {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name: CONTROLLER_ACCOUNT, namespace: leaseNamespace, labels: LABELS },
    },
    clusterRole(CONTROLLER_ACCOUNT, hubRules(settings)),
    clusterRoleBinding(CONTROLLER_ACCOUNT, subject),
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "Role",
      metadata: { name: CONTROLLER_ACCOUNT, namespace: leaseNamespace, labels: LABELS },
      rules: leaseRules().map((each) => ({ ...each })),
    },
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "RoleBinding",
      metadata: { name: CONTROLLER_ACCOUNT, namespace: leaseNamespace, labels: LABELS },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: CONTROLLER_ACCOUNT },
      subjects: [subject],
    },
    // Karmada's proxy acts in the members under the controller's own name, so it needs rights there too.
    clusterRole(MEMBER_ROLE, memberRules(settings)),
    clusterRoleBinding(MEMBER_ROLE, subject),
    memberRights(),
    ...(standingHold ? [standingHoldPolicy(settings)] : []),
  ];
}

/** Everything the controller does on the hub, and nothing else. */
export function hubRules({ workloads }: Pick<InstallSettings, "workloads">): Rule[] {
  return [
    rule("apps.karmada.io", ["crossclusterstatefulsets"], [...READ, "update", "patch"]),
    rule("apps.karmada.io", ["crossclusterstatefulsets/status"], ["patch", "update"]),
    rule("apps.karmada.io", ["crossclusterstatefulsets/finalizers"], ["update"]),
    rule("apps.karmada.io", ["rolloutapprovals"], READ),
    rule("apps.karmada.io", ["rolloutapprovals/status"], ["patch"]),
    rule("apps.karmada.io", ["crossclusterledgers"], [...READ, "create", "update", "delete"]),
    // What each revision was, and the Secrets of it.
    rule("apps", ["controllerrevisions"], [...READ, "create", "patch", "delete"]),
    rule("", ["secrets"], [...READ, "create", "delete"]),
    // What templates name, and what is managed.
    rule("", ["configmaps", "serviceaccounts"], READ),
    rule("apps", ["statefulsets"], READ),
    ...workloads.map(({ group, plural }) => rule(group, [plural], READ)),
    rule("", ["events"], ["create", "patch"]),
    rule("cluster.karmada.io", ["clusters"], READ),
    rule("cluster.karmada.io", ["clusters/proxy"], ["get", "delete"]),
    rule("work.karmada.io", ["works"], [...READ, "create", "update", "patch", "delete"]),
    rule("work.karmada.io", ["resourcebindings"], READ),
    rule("policy.karmada.io", ["overridepolicies"], [...READ, "create", "update", "patch", "delete"]),
    rule("policy.karmada.io", ["clusteroverridepolicies"], READ),
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

/** Only in the lease's namespace. */
export function leaseRules(): Rule[] {
  return [rule("coordination.k8s.io", ["leases"], ["get", "create", "update"])];
}

/** In members: reading what runs; deleting only broken pods on the way back, and volumes that the user said to delete. */
export function memberRules({ workloads }: Pick<InstallSettings, "workloads">): Rule[] {
  return [
    rule("apps", ["statefulsets"], READ),
    ...workloads.map(({ group, plural }) => rule(group, [plural], READ)),
    rule("", ["pods"], [...READ, "delete"]),
    // Looked at when an ordinal would be given again, and never watched.
    rule("", ["persistentvolumeclaims"], ["get", "list", "delete"]),
  ];
}

function rule(group: string, resources: readonly string[], verbs: readonly string[]): Rule {
  return { apiGroups: [group], resources: [...resources], verbs: [...verbs] };
}

function clusterRole(name: string, rules: readonly Rule[]): JsonObject {
  return {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: { name, labels: LABELS },
    rules: rules.map((each) => ({ ...each })),
  };
}

function clusterRoleBinding(name: string, subject: JsonObject): JsonObject {
  return {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: { name, labels: LABELS },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name },
    subjects: [subject],
  };
}

/** Karmada carries the member's role and its binding to every member, also to those that join later. */
function memberRights(): JsonObject {
  const select = (kind: string) => ({ apiVersion: "rbac.authorization.k8s.io/v1", kind, name: MEMBER_ROLE });
  return {
    apiVersion: "policy.karmada.io/v1alpha1",
    kind: "ClusterPropagationPolicy",
    metadata: { name: MEMBER_ROLE, labels: LABELS },
    spec: {
      resourceSelectors: [select("ClusterRole"), select("ClusterRoleBinding")],
      conflictResolution: "Overwrite",
      placement: { clusterTolerations: [{ operator: "Exists" }] },
    },
  };
}

/** Its patch fails on every object: Karmada schedules labelled templates and renders nothing of them. */
function standingHoldPolicy({ workloads }: InstallSettings): JsonObject {
  const labelSelector = { matchLabels: { [STANDING_HOLD_LABEL]: "true" } };
  const selectors: JsonObject[] = [{ apiVersion: "apps/v1", kind: "StatefulSet", labelSelector }];
  return {
    apiVersion: "policy.karmada.io/v1alpha1",
    kind: "ClusterOverridePolicy",
    metadata: {
      name: "lockstep-standing-hold",
      labels: { ...LABELS, [HOLD_LABEL]: "true", "resourcetemplate.karmada.io/deletion-protected": "Always" },
      annotations: {
        "lockstep.karmada.io/why": `Templates labelled ${STANDING_HOLD_LABEL}=true wait for their CrossClusterStatefulset. This policy's patch always fails, so that Karmada renders nothing.${
          workloads.length > 0 ? " Kinds other than StatefulSet have to be added to resourceSelectors by hand." : ""
        }`,
      },
    },
    spec: {
      resourceSelectors: selectors,
      overrideRules: [{ overriders: { plaintext: [{ path: "/lockstep-holds-this", operator: "remove" }] } }],
    },
  };
}
