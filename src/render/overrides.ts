import { clone, isJsonObject, type JsonObject, valueAt } from "../runtime/index.ts";
import { kindAndName, nameOf, stringAt } from "./json.ts";
import { OverrideBudget } from "./override-budget.ts";
import { applyOverriders, OverriderError } from "./overriders.ts";
import { type ClusterFacts, clusterMatches, MATCH, resourceMatchRank } from "./selectors.ts";

/** Thrown when a policy that selects this object and cluster cannot be applied: nothing may then be written. */
export class OverrideError extends Error {
  override readonly name = "OverrideError";
  readonly policy: string;
  /** The rule's position in the policy, such as `spec.overrideRules[1]`. */
  readonly rule: string;
  readonly overrider: string;
  readonly path: string;
  readonly cluster: string;
  constructor({ policy, rule }: AppliedOverride, cluster: string, object: string, cause: OverriderError) {
    const overrider = cause.overrider ? `.overriders.${cause.overrider}` : "";
    const at = cause.path ? ` at ${cause.path}` : "";
    super(
      `${policy}, ${rule}${overrider}${at}: ${cause.reason} ` +
        `(${object} for cluster ${cluster}); correct the policy or narrow its resourceSelectors or targetCluster`,
    );
    this.policy = policy;
    this.rule = rule;
    this.overrider = cause.overrider;
    this.path = cause.path;
    this.cluster = cluster;
  }
}

export interface AppliedOverride {
  readonly policy: string;
  readonly rule: string;
}

export interface Overridden {
  readonly object: JsonObject;
  /** The applied policies, in order. */
  readonly applied: AppliedOverride[];
}

/** Whether a policy is Lockstep's own hold, whose patch always fails and must not be applied. */
export type IsHold = (policy: JsonObject) => boolean;

export interface OverrideOptions {
  readonly isHold?: IsHold;
  /** Called after each rule with the current object; may throw, to name the rule that changed too much. */
  readonly afterRule?: (object: JsonObject, rule: AppliedOverride) => void;
}

/**
 * The user's OverridePolicies and ClusterOverridePolicies, applied as Karmada applies them. Cluster-wide policies come
 * first, then those of the object's namespace. In each group, those that match everything come first, then by label,
 * then by name; equals by ascending name. Later ones see the result of earlier ones, so the last wins.
 */
export function applyOverrides(
  object: JsonObject,
  cluster: ClusterFacts,
  policies: readonly JsonObject[],
  { isHold = () => false, afterRule }: OverrideOptions = {},
): Overridden {
  const users = policies.filter((policy) => !isHold(policy));
  const budget = new OverrideBudget();
  const first = applyGroup(object, cluster, users.filter(isClusterWide), budget, afterRule);
  // Selected only now: a cluster-wide policy may have changed the labels that these select by.
  const namespace = stringAt(first.object, "metadata", "namespace");
  const own = namespace ? users.filter((policy) => isNamespaced(policy, namespace)) : [];
  const second = applyGroup(first.object, cluster, own, budget, afterRule);
  return { object: second.object, applied: [...first.applied, ...second.applied] };
}

/** The policies that could change one of the objects in some cluster: a revision must store these. */
export function relevantPolicies(
  objects: readonly JsonObject[],
  policies: readonly JsonObject[],
  isHold: IsHold = () => false,
): JsonObject[] {
  const users = policies.filter((policy) => !isHold(policy));
  const isRelevant = new Set<JsonObject>();
  for (const object of objects) {
    const namespace = stringAt(object, "metadata", "namespace");
    const wide = users.filter((policy) => isClusterWide(policy) && matches(policy, object));
    // Namespaced policies select by the labels that the cluster-wide ones set, in any cluster.
    const anyLabels = wide.some(mayChangeLabels);
    const own = users.filter(
      (policy) => namespace && isNamespaced(policy, namespace) && matches(policy, object, anyLabels),
    );
    for (const policy of [...wide, ...own]) isRelevant.add(policy);
  }
  return users.filter((policy) => isRelevant.has(policy));
}

function matches(policy: JsonObject, object: JsonObject, anyLabels = false): boolean {
  const selectors = valueAt(policy, "spec", "resourceSelectors");
  if (!anyLabels || !Array.isArray(selectors)) return resourceMatchRank(selectors, object) > MATCH.none;
  const withoutLabels = selectors.map((each) => (isJsonObject(each) ? { ...each, labelSelector: undefined } : each));
  return resourceMatchRank(withoutLabels, object) > MATCH.none;
}

function mayChangeLabels(policy: JsonObject): boolean {
  return rulesOf(policy).some(({ overriders: { labelsOverrider, plaintext } }) => {
    const paths = (Array.isArray(plaintext) ? plaintext : []).map((each) => (isJsonObject(each) ? each.path : ""));
    return (
      (Array.isArray(labelsOverrider) && labelsOverrider.length > 0) ||
      paths.some((path) => typeof path !== "string" || path === "" || path.startsWith("/metadata"))
    );
  });
}

function applyGroup(
  object: JsonObject,
  cluster: ClusterFacts,
  policies: readonly JsonObject[],
  budget: OverrideBudget,
  afterRule: OverrideOptions["afterRule"],
): Overridden {
  const ranked = policies
    .map((policy) => ({ policy, rank: resourceMatchRank(valueAt(policy, "spec", "resourceSelectors"), object) }))
    .filter(({ rank }) => rank > MATCH.none)
    .sort((a, b) => a.rank - b.rank || compareText(nameOnly(a.policy), nameOnly(b.policy)));
  let result = object;
  const applied: AppliedOverride[] = [];
  for (const { policy } of ranked) {
    for (const { targetCluster, overriders, place } of rulesOf(policy)) {
      if (targetCluster && !clusterMatches(targetCluster, cluster)) continue;
      const rule = { policy: `${stringAt(policy, "kind")} ${nameOf(policy)}`, rule: place };
      // Copied once: the rules then change the copy.
      if (applied.length === 0) result = clone(object);
      try {
        const denied = budget.overrider();
        if (denied !== undefined) throw new OverriderError("", "", denied);
        result = applyOverriders(result, overriders, budget);
      } catch (error) {
        if (!(error instanceof OverriderError)) throw error;
        throw new OverrideError(rule, cluster.name, kindAndName(object), error);
      }
      afterRule?.(result, rule);
      applied.push(rule);
    }
  }
  return { object: result, applied };
}

interface Rule {
  readonly targetCluster?: JsonObject;
  readonly overriders: JsonObject;
  readonly place: string;
}

/** Without rules, the deprecated single pair `targetCluster` and `overriders` of the spec is the rule. */
function rulesOf(policy: JsonObject): Rule[] {
  const list = valueAt(policy, "spec", "overrideRules");
  if (Array.isArray(list) && list.length > 0) {
    return list.map((rule, index) => parseRule(isJsonObject(rule) ? rule : {}, `spec.overrideRules[${index}]`));
  }
  const spec = valueAt(policy, "spec");
  return isJsonObject(spec) ? [parseRule(spec, "spec")] : [];
}

function parseRule({ targetCluster, overriders }: JsonObject, place: string): Rule {
  return {
    targetCluster: isJsonObject(targetCluster) ? targetCluster : undefined,
    overriders: isJsonObject(overriders) ? overriders : {},
    place,
  };
}

function isClusterWide(policy: JsonObject): boolean {
  return policy.kind === "ClusterOverridePolicy";
}

function isNamespaced(policy: JsonObject, namespace: string): boolean {
  return policy.kind === "OverridePolicy" && stringAt(policy, "metadata", "namespace") === namespace;
}

function nameOnly(policy: JsonObject): string {
  return stringAt(policy, "metadata", "name") ?? "";
}

/** By code units, which is the byte order for the characters that names may have. */
function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
