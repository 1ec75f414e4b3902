/** What the hub and the members need in addition to the controller itself. Pure. */
import {
  accountUser,
  admissionPolicies,
  CLUSTERS_IN_USE,
  CONTROLLER_ACCOUNT,
  customResourceDefinitions,
  type EngineName,
  type PolicySettings,
  type Workload,
} from "../../../api/index.ts";
import type { Executor } from "../../../engine/index.ts";
import type { JsonObject } from "../../../runtime/index.ts";
import { type Distributed, rulesFor } from "./distributed.ts";
import { customizationDefinition, executeAs } from "./ocm.ts";
import {
  clusterRole,
  hubRules,
  LABELS,
  memberRules,
  ON_CALL_LABEL,
  ON_CALL_ROLE,
  peopleRoles,
  READ,
  rule,
  systemRules,
} from "./roles.ts";

export interface InstallSettings {
  readonly systemNamespace: string;
  /** The hub's engine; absent: Karmada. */
  readonly engine?: EngineName | undefined;
  /** Custom workloads that may be managed; StatefulSets always may. */
  readonly workloads: readonly Workload[];
  /** Kinds that applications may distribute, beside Kubernetes' own. */
  readonly distributed?: Distributed | undefined;
  /** Karmada: kinds of workloads whose replicas its scheduler may divide. */
  readonly divided?: readonly Workload[] | undefined;
  readonly standingHold: boolean;
  /** The hub's user that the controller authenticates as; absent: its ServiceAccount. */
  readonly controllerUser?: string | undefined;
  /** Open Cluster Management: the account in each cluster that agents apply Lockstep's objects as. */
  readonly executor?: Executor | undefined;
  /** See PolicySettings. */
  readonly requireAllowedClusters?: boolean | undefined;
}

/** Templates with this label are held as soon as they are created, before their CrossClusterStatefulset exists. */
export const STANDING_HOLD_LABEL = "lockstep.karmada.io/managed";
/** The engine does not treat policies with this label as users' own. */
const HOLD_LABEL = "lockstep.karmada.io/hold";
const MEMBER_ROLE = "lockstep-member";
const RBAC = "rbac.authorization.k8s.io/v1";

/** In the order in which they can be applied. */
export function installManifests(settings: InstallSettings): JsonObject[] {
  const { systemNamespace, controllerUser, engine = "karmada", executor } = settings;
  const subject: JsonObject =
    controllerUser === undefined
      ? { kind: "ServiceAccount", name: CONTROLLER_ACCOUNT, namespace: systemNamespace }
      : { apiGroup: "rbac.authorization.k8s.io", kind: "User", name: controllerUser };
  return [
    ...customResourceDefinitions(),
    ...(engine === "ocm" ? [customizationDefinition()] : []),
    { apiVersion: "v1", kind: "Namespace", metadata: { name: systemNamespace } },
    {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name: CONTROLLER_ACCOUNT, namespace: systemNamespace, labels: LABELS },
    },
    clusterRole(CONTROLLER_ACCOUNT, [...hubRules(settings), ...(executor ? [executeAs(executor)] : [])]),
    clusterRoleBinding(CONTROLLER_ACCOUNT, subject),
    {
      apiVersion: RBAC,
      kind: "Role",
      metadata: { name: CONTROLLER_ACCOUNT, namespace: systemNamespace, labels: LABELS },
      rules: systemRules(engine).map((each) => ({ ...each })),
    },
    {
      apiVersion: RBAC,
      kind: "RoleBinding",
      metadata: { name: CONTROLLER_ACCOUNT, namespace: systemNamespace, labels: LABELS },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: CONTROLLER_ACCOUNT },
      subjects: [subject],
    },
    ...(engine === "karmada" ? karmadaManifests(settings, subject) : ocmManifests(systemNamespace)),
    // Last: from then on, only the controller and administrators write Lockstep's own objects.
    ...admissionPolicies(policySettings(settings)),
  ];
}

/** Karmada carries rights to the members, and renders templates unless a hold prevents it. */
function karmadaManifests(settings: InstallSettings, subject: JsonObject): JsonObject[] {
  const { systemNamespace, standingHold, controllerUser } = settings;
  return [
    ...(controllerUser === undefined ? accountGroups(systemNamespace) : []),
    // Karmada's proxy acts in the members under the controller's own name, so it needs rights there too.
    clusterRole(MEMBER_ROLE, [...memberRules(settings), ...rulesFor(settings.distributed ?? [], READ)]),
    clusterRoleBinding(MEMBER_ROLE, subject),
    carriedToMembers(MEMBER_ROLE, [
      { apiVersion: RBAC, kind: "ClusterRole", name: MEMBER_ROLE },
      { apiVersion: RBAC, kind: "ClusterRoleBinding", name: MEMBER_ROLE },
    ]),
    ...peopleRoles(),
    carriedToMembers(ON_CALL_ROLE, [
      { apiVersion: RBAC, kind: "ClusterRole", name: ON_CALL_ROLE },
      { apiVersion: RBAC, kind: "ClusterRoleBinding", labelSelector: { matchLabels: { [ON_CALL_LABEL]: "true" } } },
    ]),
    ...(standingHold ? [standingHoldPolicy(settings)] : []),
  ];
}

/** The controller keeps the list of clusters that may not be detached; an admission policy reads it. */
function ocmManifests(namespace: string): JsonObject[] {
  return [
    { apiVersion: "v1", kind: "ConfigMap", metadata: { name: CLUSTERS_IN_USE, namespace, labels: LABELS } },
    ...peopleRoles("ocm"),
  ];
}

export function policySettings(settings: InstallSettings): PolicySettings {
  const { systemNamespace, workloads, controllerUser, requireAllowedClusters = false, engine } = settings;
  return {
    systemNamespace,
    controller: controllerUser ?? accountUser(systemNamespace),
    workloads,
    requireAllowedClusters,
    ...(engine === "ocm" && { engine }),
  };
}

function clusterRoleBinding(name: string, subject: JsonObject): JsonObject {
  return {
    apiVersion: RBAC,
    kind: "ClusterRoleBinding",
    metadata: { name, labels: LABELS },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name },
    subjects: [subject],
  };
}

/**
 * Karmada's proxy impersonates the requester in the member, including groups, and may impersonate only subjects that
 * are bound to a ClusterRole with clusters/proxy. Every account is in these two groups. The verb does not exist: it
 * grants the groups no right on the hub, but Karmada checks only the resource.
 */
function accountGroups(systemNamespace: string): JsonObject[] {
  const name = "lockstep-controller-groups";
  const groups = ["system:serviceaccounts", `system:serviceaccounts:${systemNamespace}`];
  return [
    clusterRole(name, [rule("cluster.karmada.io", ["clusters/proxy"], ["be-impersonated"])]),
    {
      ...clusterRoleBinding(name, {}),
      subjects: groups.map((group) => ({ apiGroup: "rbac.authorization.k8s.io", kind: "Group", name: group })),
    },
  ];
}

/** Karmada propagates them to every member, also to those that join later. */
function carriedToMembers(name: string, resourceSelectors: JsonObject[]): JsonObject {
  return {
    apiVersion: "policy.karmada.io/v1alpha1",
    kind: "ClusterPropagationPolicy",
    metadata: { name, labels: LABELS },
    spec: {
      resourceSelectors,
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
          workloads.length > 0 ? " Add kinds other than StatefulSet to resourceSelectors yourself." : ""
        }`,
      },
    },
    spec: {
      resourceSelectors: selectors,
      overrideRules: [{ overriders: { plaintext: [{ path: "/lockstep-holds-this", operator: "remove" }] } }],
    },
  };
}
