import { isJsonObject, type Json, type JsonObject } from "../runtime/index.ts";
import { stringAt, stringMapAt } from "./json.ts";

/** The properties by which a policy can select a cluster, read from Karmada's Cluster object. */
export interface ClusterFacts {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly provider?: string;
  readonly region?: string;
  readonly zones?: readonly string[];
}

/** Kubernetes' label selector. An invalid selector selects nothing. */
export function labelSelectorMatches(selector: JsonObject, labels: Readonly<Record<string, string>>): boolean {
  const { matchLabels, matchExpressions } = selector;
  if (isSet(matchLabels)) {
    if (!isJsonObject(matchLabels)) return false;
    for (const [key, value] of Object.entries(matchLabels)) {
      if (!Object.hasOwn(labels, key) || labels[key] !== value) return false;
    }
  }
  return requirements(matchExpressions).every((requirement) => {
    const value = requirement && Object.hasOwn(labels, requirement.key) ? labels[requirement.key] : undefined;
    return requirement !== undefined && requirementMatches(requirement, value === undefined ? [] : [value]);
  });
}

/** Karmada's ClusterAffinity: all given conditions must hold; an exclusion takes precedence. */
export function clusterMatches(affinity: JsonObject, cluster: ClusterFacts): boolean {
  const { exclude, labelSelector, fieldSelector, clusterNames } = affinity;
  if (strings(exclude).includes(cluster.name)) return false;
  if (isSet(labelSelector) && !(isJsonObject(labelSelector) && labelSelectorMatches(labelSelector, cluster.labels))) {
    return false;
  }
  if (isSet(fieldSelector) && !(isJsonObject(fieldSelector) && fieldSelectorMatches(fieldSelector, cluster))) {
    return false;
  }
  const names = strings(clusterNames);
  return names.length === 0 || names.includes(cluster.name);
}

/** How specifically a policy selects a resource; a more specific policy is applied later, and so wins. */
export const MATCH = { none: 0, all: 1, label: 2, name: 3 } as const;
export type MatchRank = (typeof MATCH)[keyof typeof MATCH];

/** Without selectors, every resource matches; otherwise the most specific selector counts. */
export function resourceMatchRank(selectors: Json | undefined, resource: JsonObject): MatchRank {
  if (!Array.isArray(selectors) || selectors.length === 0) return MATCH.all;
  // Read once: a policy may have thousands of selectors, and an object thousands of labels.
  const labels = stringMapAt(resource, "metadata", "labels");
  let closest: MatchRank = MATCH.none;
  for (const selector of selectors) {
    const rank = isJsonObject(selector) ? selectorRank(selector, resource, labels) : MATCH.none;
    if (rank > closest) closest = rank;
  }
  return closest;
}

function selectorRank(selector: JsonObject, resource: JsonObject, labels: Record<string, string>): MatchRank {
  if (selector.apiVersion !== resource.apiVersion || selector.kind !== resource.kind) return MATCH.none;
  const namespace = stringAt(selector, "namespace");
  if (namespace && namespace !== stringAt(resource, "metadata", "namespace")) return MATCH.none;
  const name = stringAt(selector, "name");
  // If a name is given, the label selector is not used.
  if (name) return name === stringAt(resource, "metadata", "name") ? MATCH.name : MATCH.none;
  const { labelSelector } = selector;
  if (!isSet(labelSelector)) return MATCH.all;
  if (!isJsonObject(labelSelector)) return MATCH.none;
  return labelSelectorMatches(labelSelector, labels) ? MATCH.label : MATCH.none;
}

function fieldSelectorMatches(selector: JsonObject, cluster: ClusterFacts): boolean {
  return requirements(selector.matchExpressions).every((requirement) => {
    const values = requirement && clusterField(requirement.key, cluster);
    return requirement !== undefined && values !== undefined && requirementMatches(requirement, values);
  });
}

function clusterField(key: string, { provider, region, zones }: ClusterFacts): readonly string[] | undefined {
  switch (key) {
    case "provider":
      return provider ? [provider] : [];
    case "region":
      return region ? [region] : [];
    case "zone":
      return zones ?? [];
    default:
      return undefined;
  }
}

interface Requirement {
  readonly key: string;
  readonly operator: string;
  readonly values: string[];
}

/** One `undefined` for each requirement that cannot be read: it must not count as met. */
function requirements(list: Json | undefined): Array<Requirement | undefined> {
  if (!isSet(list)) return [];
  if (!Array.isArray(list)) return [undefined];
  return list.map((entry) => {
    if (!isJsonObject(entry)) return undefined;
    const key = stringAt(entry, "key");
    const operator = stringAt(entry, "operator");
    return key && operator ? { key, operator, values: strings(entry.values) } : undefined;
  });
}

function requirementMatches({ operator, values }: Requirement, actual: readonly string[]): boolean {
  switch (operator) {
    case "In":
      return actual.some((value) => values.includes(value));
    case "NotIn":
      return values.length > 0 && !actual.some((value) => values.includes(value));
    case "Exists":
      return values.length === 0 && actual.length > 0;
    case "DoesNotExist":
      return values.length === 0 && actual.length === 0;
    default:
      return false;
  }
}

function strings(value: Json | undefined): string[] {
  return Array.isArray(value) ? value.filter((entry) => typeof entry === "string") : [];
}

function isSet(value: Json | undefined): value is Json {
  return value !== undefined && value !== null;
}
