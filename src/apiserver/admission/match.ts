import { isJsonObject, type Json, type JsonObject, ownField } from "../../runtime/index.ts";
import type { WriteContext } from "../core.ts";
import { listAt, objectAt, textAt } from "../store/values.ts";
import type { KubeObject } from "../types.ts";

export type Operation = "CREATE" | "UPDATE" | "DELETE";

/** What admission sees of a write. Deletions have no `object`, creations no `old`. */
export interface Admitted {
  readonly write: WriteContext;
  readonly operation: Operation;
  readonly object: KubeObject | undefined;
  readonly old: KubeObject | undefined;
  /** The Namespace that the object lives in; undefined for cluster-scoped kinds. */
  readonly namespace: KubeObject | undefined;
}

/** Whether `matchConstraints` (of a policy) or `matchResources` (of a binding) match this write. */
export function isNamed(constraints: JsonObject | undefined, admitted: Admitted): boolean {
  if (constraints === undefined) return true;
  if (!selectsNamespace(objectAt(constraints, "namespaceSelector"), admitted)) return false;
  if (!selectsObject(objectAt(constraints, "objectSelector"), admitted)) return false;
  const rules = listAt(constraints, "resourceRules");
  if (listAt(constraints, "excludeResourceRules").some((rule) => isRuleFor(rule, admitted))) return false;
  return rules.length === 0 || rules.some((rule) => isRuleFor(rule, admitted));
}

function isRuleFor(rule: Json, { write, operation }: Admitted): boolean {
  const { definition, subresource } = write;
  const scope = textAt(rule, "scope") ?? "*";
  return (
    includes(rule, "apiGroups", definition.group) &&
    includes(rule, "apiVersions", definition.version) &&
    includes(rule, "operations", operation) &&
    listAt(rule, "resources").some((resource) => isResource(String(resource), definition.plural, subresource)) &&
    (scope === "*" || (scope === "Namespaced") === definition.namespaced)
  );
}

/** `*` means every resource, but only `*` with a slash means subresources, as in Kubernetes. */
function isResource(pattern: string, plural: string, subresource: string): boolean {
  const [wantedPlural, wantedSubresource = ""] = pattern.split("/");
  if (wantedPlural !== "*" && wantedPlural !== plural) return false;
  return wantedSubresource === subresource || (wantedSubresource === "*" && pattern.includes("/"));
}

function includes(rule: Json, field: string, value: string): boolean {
  const list = listAt(rule, field);
  return list.includes("*") || list.includes(value);
}

/** A policy with a namespace selector never skips a cluster-scoped object. */
function selectsNamespace(selector: JsonObject | undefined, { namespace }: Admitted): boolean {
  return selector === undefined || namespace === undefined || matchesLabels(selector, namespace);
}

/** It is enough if the old or the new object matches: removing a label is a change like any other. */
function selectsObject(selector: JsonObject | undefined, { object, old }: Admitted): boolean {
  if (selector === undefined) return true;
  return [object, old].some((each) => each !== undefined && matchesLabels(selector, each));
}

function matchesLabels(selector: JsonObject, { metadata }: KubeObject): boolean {
  const labels: JsonObject = metadata.labels ?? {};
  const wanted = Object.entries(objectAt(selector, "matchLabels") ?? {});
  return (
    wanted.every(([key, value]) => ownField(labels, key) === value) &&
    listAt(selector, "matchExpressions").every((requirement) => isJsonObject(requirement) && holds(requirement, labels))
  );
}

function holds(requirement: JsonObject, labels: JsonObject): boolean {
  const value = ownField(labels, textAt(requirement, "key") ?? "");
  const values = listAt(requirement, "values");
  switch (textAt(requirement, "operator")) {
    case "In":
      return value !== undefined && values.includes(value);
    case "NotIn":
      return value === undefined || !values.includes(value);
    case "Exists":
      return value !== undefined;
    case "DoesNotExist":
      return value === undefined;
    default:
      return false;
  }
}
