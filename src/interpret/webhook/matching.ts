import type { GroupVersionKind } from "../fields.ts";
import type { Operation } from "../operations.ts";
import type { Webhook, WebhookProtocol, WebhookRule } from "./configuration.ts";

/** What discovery knows of a kind: the proposal's rules refer to resources and scope. */
export interface KindResource {
  /** Plural, lower case. */
  readonly resource: string;
  readonly namespaced: boolean;
}

/** Undefined: not known; then the plural is guessed and the scope follows from the object's namespace. */
export type ResourceMapper = (kind: GroupVersionKind) => KindResource | undefined;

/** What the rules are matched against. */
export interface Matched extends GroupVersionKind, KindResource {}

/** Kubernetes' guess for kinds that were not discovered. */
export function guessResource(kind: string): string {
  const lower = kind.toLowerCase();
  if (lower.endsWith("s")) return `${lower}es`;
  return lower.endsWith("y") ? `${lower.slice(0, -1)}ies` : `${lower}s`;
}

export function matchesRule(
  rule: WebhookRule,
  protocol: WebhookProtocol,
  operation: Operation,
  object: Matched,
): boolean {
  return (
    rule.operations.has(operation) &&
    includes(rule.groups, object.group) &&
    includes(rule.versions, object.version) &&
    (rule.scope === "*" || (rule.scope === "Namespaced") === object.namespaced) &&
    (protocol === "explore"
      ? rule.names.some((name) => matchesResource(name, object.resource))
      : includes(rule.names, object.kind))
  );
}

// `foos`, `foos/*`, `*` and `*/*` mean the object itself; `foos/status` means only its subresource.
function matchesResource(name: string, resource: string): boolean {
  const [main = "", sub = ""] = name.split("/");
  return (main === "*" || main === resource) && (sub === "" || sub === "*");
}

function includes(allowed: readonly string[], value: string): boolean {
  return allowed.includes("*") || allowed.includes(value);
}

/** Karmada's rule: of several matching webhooks, only the first by `configuration/webhook` is called. */
export function firstMatching(
  webhooks: readonly Webhook[],
  operation: Operation,
  object: Matched,
): Webhook | undefined {
  return webhooks.find(({ rules, protocol }) => rules.some((rule) => matchesRule(rule, protocol, operation, object)));
}

/** The operations for which two webhooks could both be called with the same object. */
export function overlap(a: Webhook, b: Webhook): Operation[] {
  const shared = new Set<Operation>();
  for (const ruleA of a.rules) {
    for (const ruleB of b.rules) {
      if (!meet(ruleA.groups, ruleB.groups) || !meet(ruleA.versions, ruleB.versions)) continue;
      if (ruleA.scope !== "*" && ruleB.scope !== "*" && ruleA.scope !== ruleB.scope) continue;
      if (!meet(resourcesOf(ruleA, a.protocol), resourcesOf(ruleB, b.protocol))) continue;
      for (const operation of ruleA.operations) if (ruleB.operations.has(operation)) shared.add(operation);
    }
  }
  return [...shared];
}

/** Rules by resource and rules by kind can only be compared by the guessed plural. */
function resourcesOf(rule: WebhookRule, protocol: WebhookProtocol): string[] {
  return rule.names.flatMap((name) => {
    if (name === "*") return ["*"];
    if (protocol === "interpreter") return [guessResource(name)];
    const [main = "", sub = ""] = name.split("/");
    return sub === "" || sub === "*" ? [main] : [];
  });
}

function meet(a: readonly string[], b: readonly string[]): boolean {
  return a.includes("*") ? b.length > 0 : b.includes("*") ? a.length > 0 : a.some((item) => b.includes(item));
}
