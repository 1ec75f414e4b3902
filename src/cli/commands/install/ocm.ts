/** What an installation needs on a hub of Open Cluster Management, and in its members. Pure. */
import type { Workload } from "../../../api/index.ts";
import { EXECUTOR_ANNOTATION, EXECUTOR_WORK, type Executor } from "../../../engine/index.ts";
import type { JsonObject } from "../../../runtime/index.ts";
import { clusterRole, LABELS, type Rule, rule } from "./roles.ts";

const WORK_GROUP = "work.open-cluster-management.io";
/** The agent's own role in a member collects the rules of all roles with this label. */
const AGGREGATE_TO_WORK = "open-cluster-management.io/aggregate-to-work";
const MEMBER_ROLE = "lockstep-work";
/** The ManifestWork in each cluster's namespace that carries the role to the member. */
export const MEMBER_RIGHTS_WORK = "lockstep-member-rights";

/**
 * Agents may apply Kubernetes' own workloads already. What they may not list and watch they would poll, so a custom kind
 * needs these rights as well as those to write it.
 */
export function memberRightsWork(cluster: string, workloads: readonly Workload[]): JsonObject {
  const verbs = ["get", "list", "watch", "create", "update", "patch", "delete"];
  const rules = workloads.map(({ group, plural }) => rule(group, [plural], verbs));
  return {
    apiVersion: `${WORK_GROUP}/v1`,
    kind: "ManifestWork",
    metadata: { name: MEMBER_RIGHTS_WORK, namespace: cluster, labels: LABELS },
    spec: { workload: { manifests: [clusterRole(MEMBER_ROLE, rules, { [AGGREGATE_TO_WORK]: "true" })] } },
  };
}

/**
 * The account that agents apply Lockstep's objects as, with rights for what Lockstep dispatches and for nothing else. An
 * agent asks for the rights to write a pod even if it only reports on it.
 */
export function executorWork(cluster: string, executor: Executor, workloads: readonly Workload[]): JsonObject {
  const { namespace, name } = executor;
  const verbs = ["get", "list", "watch", "create", "update", "patch", "delete"];
  const rules = [
    rule("apps", ["statefulsets"], verbs),
    rule("batch", ["jobs"], verbs),
    rule("", ["configmaps", "secrets", "services", "serviceaccounts"], verbs),
    rule("multicluster.x-k8s.io", ["serviceexports"], verbs),
    rule("", ["pods"], ["get", "create", "update", "patch"]),
    ...workloads.map(({ group, plural }) => rule(group, [plural], verbs)),
  ];
  const manifests = [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } },
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace, labels: LABELS } },
    clusterRole(EXECUTOR_WORK, rules),
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: { name: EXECUTOR_WORK, labels: LABELS },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: EXECUTOR_WORK },
      subjects: [{ kind: "ServiceAccount", name, namespace }],
    },
  ];
  const annotations = { [EXECUTOR_ANNOTATION]: `${namespace}/${name}` };
  return {
    apiVersion: `${WORK_GROUP}/v1`,
    kind: "ManifestWork",
    metadata: { name: EXECUTOR_WORK, namespace: cluster, labels: LABELS, annotations },
    // The namespace may be older than this, and hold more.
    spec: { deleteOption: { propagationPolicy: "Orphan" }, workload: { manifests } },
  };
}

/** OCM's webhook asks whether the writer of a ManifestWork may name this account. */
export function executeAs({ namespace, name }: Executor): Rule {
  const named = rule(WORK_GROUP, ["manifestworks"], ["execute-as"]);
  return { ...named, resourceNames: [`system:serviceaccount:${namespace}:${name}`] };
}

/** Karmada's format for how a kind is read is Lockstep's, too; only Karmada's hubs have the kind already. */
export function customizationDefinition(): JsonObject {
  const anything = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  const names = {
    kind: "ResourceInterpreterCustomization",
    listKind: "ResourceInterpreterCustomizationList",
    plural: "resourceinterpretercustomizations",
    singular: "resourceinterpretercustomization",
    shortNames: ["ric"],
  };
  const group = "config.karmada.io";
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${names.plural}.${group}`, labels: LABELS },
    spec: {
      group,
      names,
      scope: "Cluster",
      versions: [
        {
          name: "v1alpha1",
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: "object", required: ["spec"], properties: { spec: anything } } },
        },
      ],
    },
  };
}
