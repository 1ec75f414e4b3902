import type { JsonObject } from "../../runtime/index.ts";
import type { User } from "../types.ts";

/** The rights of Kubernetes' own `view` and `edit`, as far as tests need them. */
const READ = ["get", "list", "watch"];
const CHANGE = ["create", "delete", "deletecollection", "patch", "update"];

function rule(group: string, resources: string[], verbs: string[]): JsonObject {
  return { apiGroups: [group], resources, verbs };
}

function role(name: string, rules: JsonObject[], labels: JsonObject, aggregates?: string): JsonObject {
  const selectors = [{ matchLabels: { [`rbac.authorization.k8s.io/aggregate-to-${aggregates}`]: "true" } }];
  return {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: { name, labels },
    rules,
    ...(aggregates !== undefined && { aggregationRule: { clusterRoleSelectors: selectors } }),
  };
}

const into = (name: string) => ({ [`rbac.authorization.k8s.io/aggregate-to-${name}`]: "true" });

/** The user-facing roles of a fresh Kubernetes API server, and Karmada's additions to them. */
export function defaultRoles(): JsonObject[] {
  const workloads = ["statefulsets", "statefulsets/scale", "deployments", "daemonsets", "replicasets"];
  return [
    role("cluster-admin", [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }], {}),
    role("view", [], into("edit"), "view"),
    role("edit", [], into("admin"), "edit"),
    role("admin", [], {}, "admin"),
    role(
      "system:aggregate-to-view",
      [
        rule("", ["pods", "configmaps", "services", "persistentvolumeclaims", "serviceaccounts", "events"], READ),
        rule("", ["namespaces"], READ),
        rule("apps", [...workloads, "controllerrevisions"], READ),
        rule("batch", ["jobs", "cronjobs"], READ),
      ],
      into("view"),
    ),
    role(
      "system:aggregate-to-edit",
      [
        rule("", ["secrets"], READ),
        rule("", ["pods", "configmaps", "services", "persistentvolumeclaims", "serviceaccounts", "secrets"], CHANGE),
        rule("apps", workloads, CHANGE),
        rule("batch", ["jobs", "cronjobs"], CHANGE),
      ],
      into("edit"),
    ),
    role(
      "system:aggregate-to-admin",
      [rule("rbac.authorization.k8s.io", ["roles", "rolebindings"], [...READ, ...CHANGE])],
      into("admin"),
    ),
    role(
      "karmada-view",
      [
        rule("policy.karmada.io", ["overridepolicies", "propagationpolicies"], READ),
        rule("work.karmada.io", ["resourcebindings", "works"], READ),
      ],
      into("view"),
    ),
    role(
      "karmada-edit",
      [
        rule("policy.karmada.io", ["overridepolicies", "propagationpolicies"], CHANGE),
        rule("work.karmada.io", ["resourcebindings", "works"], CHANGE),
      ],
      into("edit"),
    ),
  ];
}

/** Binds a ClusterRole to a user in one namespace. */
export function roleBinding(namespace: string, user: string, clusterRole: string): JsonObject {
  return {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    metadata: { name: `${user}-${clusterRole}`.replaceAll(":", "-"), namespace },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: clusterRole },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: user }],
  };
}

export function person(name: string, ...groups: string[]): User {
  return { name, groups: [...groups, "system:authenticated"] };
}

/** A ServiceAccount, as an API server authenticates its token. */
export function account(namespace: string, name: string): User {
  const groups = ["system:serviceaccounts", `system:serviceaccounts:${namespace}`];
  return person(`system:serviceaccount:${namespace}:${name}`, ...groups);
}
