/** What an installation needs on a hub of Open Cluster Management, and in its members. Pure. */
import type { Workload } from "../../../api/index.ts";
import { EXECUTOR_ANNOTATION, EXECUTOR_WORK, type Executor } from "../../../engine/index.ts";
import type { KubeObject } from "../../../kube/index.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../runtime/index.ts";
import { type Distributed, rulesFor } from "./distributed.ts";
import { clusterRole, LABELS, memberRules, READ, type Rule, rule } from "./roles.ts";

const WORK_GROUP = "work.open-cluster-management.io";
/** The agent's own role in a member collects the rules of all roles with this label. */
const AGGREGATE_TO_WORK = "open-cluster-management.io/aggregate-to-work";
const AGENT_ROLE = "lockstep-work";
/** What an agent may not list and watch it polls, and no report of it says so. */
const NEEDED_BY_AGENTS = ["patch", "list", "watch"];
/** Roles for the account by which Lockstep reads a member directly; the member's administrator binds them to it. */
const READING_ROLE = "lockstep-member";
const DRY_RUN_ROLE = "lockstep-member-dry-run";
/** The ManifestWork in each cluster's namespace that carries the role to the member. */
export const MEMBER_RIGHTS_WORK = "lockstep-member-rights";

/**
 * What each member needs: the agent's right to apply what Lockstep dispatches, and roles for direct access. Agents may
 * apply most of Kubernetes' own kinds already. What they may not list and watch they would poll, so other kinds need
 * these rights as well as those to write them.
 */
export function memberRightsWork(
  cluster: string,
  workloads: readonly Workload[],
  distributed: Distributed = [],
): JsonObject {
  const verbs = [...READ, "create", "update", "patch", "delete"];
  const agentRules = [
    ...workloads.map(({ group, plural }) => rule(group, [plural], verbs)),
    rule("", ["secrets"], verbs),
    ...rulesFor(distributed, verbs),
  ];
  const manifests = [
    clusterRole(AGENT_ROLE, agentRules, { [AGGREGATE_TO_WORK]: "true" }),
    clusterRole(READING_ROLE, [...memberRules({ workloads, engine: "ocm" }), ...rulesFor(distributed, READ)]),
    clusterRole(DRY_RUN_ROLE, rulesFor(distributed, ["create", "patch"])),
  ];
  return {
    apiVersion: `${WORK_GROUP}/v1`,
    kind: "ManifestWork",
    metadata: { name: MEMBER_RIGHTS_WORK, namespace: cluster, labels: LABELS },
    spec: { workload: { manifests } },
  };
}

/**
 * The account that agents apply Lockstep's objects as, with rights for what Lockstep dispatches and for nothing else. An
 * agent asks for the rights to write a pod even if it only reports on it.
 */
export function executorWork(
  cluster: string,
  executor: Executor,
  workloads: readonly Workload[],
  distributed: Distributed = [],
): JsonObject {
  const { namespace, name } = executor;
  const verbs = [...READ, "create", "update", "patch", "delete"];
  const rules = [
    rule("apps", ["statefulsets"], verbs),
    rule("batch", ["jobs"], verbs),
    rule("", ["configmaps", "secrets", "services", "serviceaccounts"], verbs),
    rule("multicluster.x-k8s.io", ["serviceexports"], verbs),
    rule("", ["pods"], ["get", "create", "update", "patch"]),
    ...workloads.map(({ group, plural }) => rule(group, [plural], verbs)),
    // Wide, and only for hubs that distribute applications: Kubernetes' own kinds, and those that are named.
    ...(distributed.length > 0 ? rulesFor(distributed, verbs) : []),
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

/** Whether the role that a ManifestWork carries lets the agent apply a kind. */
export function agentMayApplyAndWatch(
  work: KubeObject,
  { group, plural }: Pick<Workload, "group" | "plural">,
): boolean {
  return manifestsIn(work)
    .filter(({ kind, metadata }) => kind === "ClusterRole" && isJsonObject(metadata) && metadata.name === AGENT_ROLE)
    .flatMap(({ rules }) => (Array.isArray(rules) ? rules.filter(isJsonObject) : []))
    .some(
      ({ apiGroups, resources, verbs }) =>
        includesOne(apiGroups, group) &&
        includesOne(resources, plural) &&
        NEEDED_BY_AGENTS.every((verb) => includesOne(verbs, verb)),
    );
}

function manifestsIn({ spec }: KubeObject): JsonObject[] {
  const workload = isJsonObject(spec) && isJsonObject(spec.workload) ? spec.workload : {};
  return Array.isArray(workload.manifests) ? workload.manifests.filter(isJsonObject) : [];
}

function includesOne(list: Json | undefined, wanted: string): boolean {
  return Array.isArray(list) && (list.includes(wanted) || list.includes("*"));
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
