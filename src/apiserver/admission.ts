import { type CelInput, celEnv, isCelError, parse, plan } from "@bufbuild/cel";
import { isJsonObject, type Json, type JsonObject } from "../runtime/index.ts";
import type { WriteContext } from "./core.ts";
import { qualifiedResource } from "./registry.ts";
import { labelMatcher } from "./selectors.ts";
import { StatusError } from "./status.ts";
import type { Store } from "./store.ts";
import type { KubeObject } from "./types.ts";
import { listAt, objectAt, textAt } from "./values.ts";

const POLICIES = "admissionregistration.k8s.io/validatingadmissionpolicies";
const BINDINGS = "admissionregistration.k8s.io/validatingadmissionpolicybindings";

/** Compiled expressions kept; policies are few. */
const KEPT_PROGRAMS = 256;

type Program = (variables: Record<string, CelInput>) => unknown;

/**
 * ValidatingAdmissionPolicies, as far as Lockstep's own need them: resource rules, validations over `object`,
 * `oldObject` and `request`, bindings that deny or warn. Parameters, audit and match conditions are stored and ignored.
 */
export class Admission {
  readonly #store: Store;
  readonly #programs = new Map<string, Program>();

  constructor(store: Store) {
    this.#store = store;
  }

  admit(write: WriteContext, object: KubeObject, old: KubeObject | undefined): void {
    if (this.#store.count(BINDINGS) === 0) return;
    for (const { object: binding } of this.#store.objects(BINDINGS, "")) {
      const name = textAt(binding, "spec", "policyName") ?? "";
      const policy = this.#store.get({ resource: POLICIES, namespace: "", name })?.object;
      if (policy && isMatch(policy, write, object, old)) this.#check(policy, binding, write, object, old);
    }
  }

  #check(
    policy: KubeObject,
    binding: KubeObject,
    write: WriteContext,
    object: KubeObject,
    old: KubeObject | undefined,
  ): void {
    const actions = listAt(binding, "spec", "validationActions");
    const variables = {
      object: celValue(object),
      oldObject: old ? celValue(old) : null,
      request: celValue(requestOf(write, object, old)),
    };
    for (const validation of listAt(policy, "spec", "validations")) {
      const expression = textAt(validation, "expression") ?? "";
      const outcome = this.#evaluate(expression, variables);
      const isFailure = typeof outcome !== "boolean";
      if (outcome === true || (isFailure && textAt(policy, "spec", "failurePolicy") === "Ignore")) continue;
      const said = isFailure
        ? `expression '${expression}' resulted in error: ${outcome.reason}`
        : textAt(validation, "message");
      const why = `ValidatingAdmissionPolicy '${policy.metadata.name}' with binding '${binding.metadata.name}' denied request: ${said ?? `failed expression: ${expression}`}`;
      if (actions.includes("Deny")) throw denial(write, object.metadata.name, why, textAt(validation, "reason"));
      if (actions.includes("Warn")) write.warnings.push(`Validation failed for ${why}`);
    }
  }

  #evaluate(expression: string, variables: Record<string, CelInput>): boolean | { reason: string } {
    try {
      const result = this.#program(expression)(variables);
      if (isCelError(result)) return { reason: result.message };
      return typeof result === "boolean" ? result : { reason: "the expression is not a boolean" };
    } catch (error) {
      return { reason: error instanceof Error ? error.message : "it cannot be evaluated" };
    }
  }

  #program(expression: string): Program {
    const known = this.#programs.get(expression);
    if (known) return known;
    const program = plan(celEnv(), parse(expression));
    if (this.#programs.size >= KEPT_PROGRAMS) this.#programs.clear();
    this.#programs.set(expression, program);
    return program;
  }
}

function isMatch(policy: KubeObject, write: WriteContext, object: KubeObject, old: KubeObject | undefined): boolean {
  const constraints = objectAt(policy, "spec", "matchConstraints");
  const selector = objectAt(constraints, "objectSelector", "matchLabels");
  if (selector) {
    const text = Object.entries(selector).map(([key, value]) => `${key}=${value}`);
    if (labelMatcher(text.join(","))?.(object) === false) return false;
  }
  const { definition, subresource } = write;
  const resource = subresource === "" ? definition.plural : `${definition.plural}/${subresource}`;
  return listAt(constraints, "resourceRules").some(
    (rule) =>
      includes(rule, "apiGroups", definition.group) &&
      includes(rule, "apiVersions", definition.version) &&
      includes(rule, "operations", old ? "UPDATE" : "CREATE") &&
      includes(rule, "resources", resource),
  );
}

function includes(rule: Json, field: string, value: string): boolean {
  const list = listAt(rule, field);
  return list.includes("*") || list.includes(value);
}

function requestOf(write: WriteContext, object: KubeObject, old: KubeObject | undefined): JsonObject {
  const { definition, namespace, subresource, dryRun, user } = write;
  const { group, version, kind, plural } = definition;
  return {
    kind: { group, version, kind },
    resource: { group, version, resource: plural },
    subResource: subresource,
    name: object.metadata.name,
    namespace,
    operation: old ? "UPDATE" : "CREATE",
    userInfo: { username: user.name, groups: [...user.groups] },
    dryRun,
  };
}

/** CEL has whole numbers, JSON in JavaScript does not: they become what the schema would have said they are. */
function celValue(value: Json | undefined): CelInput {
  if (typeof value === "number") return Number.isSafeInteger(value) ? BigInt(value) : value;
  if (Array.isArray(value)) return value.map(celValue);
  if (!isJsonObject(value)) return value ?? null;
  return new Map(Object.entries(value).map(([key, field]) => [key, celValue(field)]));
}

/** Codes of the reasons a validation may name; Invalid when it names none. */
const CODES: Readonly<Record<string, number>> = { Unauthorized: 401, Forbidden: 403, RequestEntityTooLarge: 413 };

function denial(write: WriteContext, name: string, why: string, reason = "Invalid"): StatusError {
  const { definition } = write;
  const message = `${qualifiedResource(definition)} ${JSON.stringify(name)} is forbidden: ${why}`;
  return new StatusError(CODES[reason] ?? 422, reason, message, {
    name,
    ...(definition.group && { group: definition.group }),
    kind: definition.plural,
  });
}
