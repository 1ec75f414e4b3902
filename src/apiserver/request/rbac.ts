import { isJsonObject, type Json, type JsonObject, ownField } from "../../runtime/index.ts";
import { listAt, objectAt, textAt } from "../store/values.ts";
import type { Authorizer, KubeObject, RequestAttributes, User } from "../types.ts";
import { isSelfReview } from "./reviews.ts";

const GROUP = "rbac.authorization.k8s.io";

/** Every object of one kind, in one namespace or at the cluster scope. */
export type ObjectsOf = (resource: string, namespace: string) => Iterable<KubeObject>;

/** Discovery and documents: every known user may read what the server serves. */
const DOCUMENT_PATH = /^\/(?:api|apis|openapi|version|healthz|livez|readyz)?(?:\/|$)/;

/**
 * Role-based access control as in Kubernetes, over the server's own Roles, ClusterRoles and bindings, including
 * aggregation. system:masters may do everything. Escalation (a user who grants a right that the user does not have) is
 * not checked.
 */
export function rbacAuthorizer(objectsOf: ObjectsOf): Authorizer {
  return (asked) => {
    const { user, resource, verb, path, namespace } = asked;
    if (user.groups.includes("system:masters")) return undefined;
    if (resource === "" && verb === "get" && DOCUMENT_PATH.test(path)) return undefined;
    if (isSelfReview(resource, verb)) return undefined;
    for (const binding of objectsOf(`${GROUP}/clusterrolebindings`, "")) {
      if (isSubject(binding, user) && rulesOf(binding, objectsOf).some((rule) => allows(rule, asked))) return undefined;
    }
    if (namespace === "") return "";
    for (const binding of objectsOf(`${GROUP}/rolebindings`, namespace)) {
      if (isSubject(binding, user) && rulesOf(binding, objectsOf).some((rule) => allows(rule, asked))) return undefined;
    }
    return "";
  };
}

function isSubject(binding: KubeObject, user: User): boolean {
  return listAt(binding, "subjects").some((subject) => {
    const name = textAt(subject, "name") ?? "";
    switch (textAt(subject, "kind")) {
      case "User":
        return user.name === name;
      case "Group":
        return user.groups.includes(name);
      case "ServiceAccount":
        return user.name === `system:serviceaccount:${textAt(subject, "namespace") ?? ""}:${name}`;
      default:
        return false;
    }
  });
}

function rulesOf(binding: KubeObject, objectsOf: ObjectsOf): JsonObject[] {
  const name = textAt(binding, "roleRef", "name");
  const isClusterRole = textAt(binding, "roleRef", "kind") === "ClusterRole";
  const roles = isClusterRole
    ? [...objectsOf(`${GROUP}/clusterroles`, "")]
    : [...objectsOf(`${GROUP}/roles`, binding.metadata.namespace ?? "")];
  const role = roles.find(({ metadata }) => metadata.name === name);
  return role ? rulesOfRole(role, roles, new Set()) : [];
}

/** Including the roles that it aggregates; a role that aggregates itself is counted once. */
function rulesOfRole(role: KubeObject, all: readonly KubeObject[], seen: Set<string>): JsonObject[] {
  if (seen.has(role.metadata.name)) return [];
  seen.add(role.metadata.name);
  const aggregated = listAt(role, "aggregationRule", "clusterRoleSelectors").flatMap((selector) =>
    all.filter((other) => matchesLabels(selector, other)).flatMap((other) => rulesOfRole(other, all, seen)),
  );
  return [...listAt(role, "rules").filter(isJsonObject), ...aggregated];
}

function matchesLabels(selector: Json, { metadata }: KubeObject): boolean {
  const wanted = Object.entries(objectAt(selector, "matchLabels") ?? {});
  return wanted.length > 0 && wanted.every(([key, value]) => ownField(metadata.labels ?? {}, key) === value);
}

function allows(rule: JsonObject, asked: RequestAttributes): boolean {
  const { verb, group, resource, subresource, name, path } = asked;
  if (!includes(rule, "verbs", verb)) return false;
  if (resource === "") {
    return listAt(rule, "nonResourceURLs").some((pattern) => isPath(String(pattern), path));
  }
  const names = listAt(rule, "resourceNames");
  const full = subresource === "" ? resource : `${resource}/${subresource}`;
  return (
    includes(rule, "apiGroups", group) &&
    (includes(rule, "resources", full) || (subresource !== "" && includes(rule, "resources", `*/${subresource}`))) &&
    (names.length === 0 || names.includes(name))
  );
}

function includes(rule: JsonObject, field: string, value: string): boolean {
  const list = listAt(rule, field);
  return list.includes("*") || list.includes(value);
}

function isPath(pattern: string, path: string): boolean {
  return pattern.endsWith("*") ? path.startsWith(pattern.slice(0, -1)) : pattern === path;
}
