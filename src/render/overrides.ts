import { isJsonObject, type JsonObject } from "../runtime/index.ts";
import { kindAndName, nameOf, stringAt, valueAt } from "./json.ts";
import { applyOverriders, OverriderError } from "./overriders.ts";
import { type ClusterFacts, clusterMatches, MATCH, resourceMatchRank } from "./selectors.ts";

/** Thrown when a policy that is meant for this object and cluster cannot be applied: nothing may then be written. */
export class OverrideError extends Error {
  override readonly name = "OverrideError";
  readonly policy: string;
  /** The rule's place in the policy, such as `spec.overrideRules[1]`. */
  readonly rule: string;
  readonly overrider: string;
  readonly path: string;
  readonly cluster: string;
  constructor({ policy, rule }: AppliedOverride, cluster: string, object: string, cause: OverriderError) {
    const at = cause.path ? ` at ${cause.path}` : "";
    super(
      `${policy}, ${rule}.overriders.${cause.overrider}${at}: ${cause.reason} ` +
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
  policy: string;
  rule: string;
}

export interface Overridden {
  object: JsonObject;
  /** What was applied, in order. */
  applied: AppliedOverride[];
}

/** Says of a policy that it is Lockstep's own hold, whose patch is meant to fail and must not be applied. */
export type IsHold = (policy: JsonObject) => boolean;

export interface OverrideOptions {
  isHold?: IsHold;
  /** Called after each rule with the object as it is then; may throw, to name the rule that went too far. */
  afterRule?: (object: JsonObject, rule: AppliedOverride) => void;
}

/**
 * The user's OverridePolicies and ClusterOverridePolicies, applied as Karmada applies them: cluster-wide policies
 * first, then those of the object's namespace; in each group those that match everything, then by label, then by
 * name, and equals by ascending name. Later ones see what earlier ones did, so the last wins.
 */
export function applyOverrides(
  object: JsonObject,
  cluster: ClusterFacts,
  policies: readonly JsonObject[],
  { isHold = () => false, afterRule }: OverrideOptions = {},
): Overridden {
  const users = policies.filter((policy) => !isHold(policy));
  const first = applyGroup(object, cluster, users.filter(isClusterWide), afterRule);
  // Chosen only now: a cluster-wide policy may have changed the labels that these select by.
  const namespace = stringAt(first.object, "metadata", "namespace");
  const own = namespace ? users.filter((policy) => isNamespaced(policy, namespace)) : [];
  const second = applyGroup(first.object, cluster, own, afterRule);
  return { object: second.object, applied: [...first.applied, ...second.applied] };
}

/** The policies that could touch one of the objects in some cluster: what a revision has to keep. */
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
    // Namespaced policies select by the labels that the cluster-wide ones leave behind, in whichever cluster.
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
      try {
        result = applyOverriders(result, overriders);
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
  targetCluster?: JsonObject;
  overriders: JsonObject;
  place: string;
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

/** By code units, which is the order of bytes for the characters that names may have. */
function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
