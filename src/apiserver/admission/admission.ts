import type { CelInput } from "@bufbuild/cel";
import type { Json, JsonObject } from "../../runtime/index.ts";
import type { WriteContext } from "../core.ts";
import { qualifiedResource } from "../kinds/registry.ts";
import { StatusError } from "../request/status.ts";
import type { Store } from "../store/store.ts";
import { listAt, objectAt, textAt } from "../store/values.ts";
import type { Authorizer, KubeObject } from "../types.ts";
import { celValue, Expressions } from "./expressions.ts";
import { type Admitted, isNamed } from "./match.ts";

const POLICIES = "admissionregistration.k8s.io/validatingadmissionpolicies";
const BINDINGS = "admissionregistration.k8s.io/validatingadmissionpolicybindings";

type Variables = Record<string, CelInput>;

/**
 * ValidatingAdmissionPolicies, as far as Lockstep's own need them: resource rules and selectors, match conditions,
 * variables, validations and their messages over `object`, `oldObject`, `request`, `namespaceObject` and `authorizer`,
 * bindings that deny or warn. Parameters and audit annotations are stored and ignored.
 */
export class Admission {
  readonly #store: Store;
  readonly #expressions: Expressions;

  constructor(store: Store, authorizer: Authorizer | undefined) {
    this.#store = store;
    this.#expressions = new Expressions(authorizer);
  }

  /** Throws StatusError. Without `object` it is a deletion, without `old` a creation. */
  admit(write: WriteContext, object: KubeObject | undefined, old: KubeObject | undefined): void {
    if (this.#store.count(BINDINGS) === 0) return;
    const operation = object === undefined ? "DELETE" : old === undefined ? "CREATE" : "UPDATE";
    const namespace = this.#store.get({ resource: "/namespaces", namespace: "", name: write.namespace })?.object;
    const admitted = { write, operation, object, old, namespace } as const;
    // Created only if a policy applies to the write: most writes have none.
    let variables: Variables | undefined;
    for (const { object: binding } of this.#store.objects(BINDINGS, "")) {
      const name = textAt(binding, "spec", "policyName") ?? "";
      const policy = this.#store.get({ resource: POLICIES, namespace: "", name })?.object;
      if (!policy || !isNamed(objectAt(policy, "spec", "matchConstraints"), admitted)) continue;
      if (!isNamed(objectAt(binding, "spec", "matchResources"), admitted)) continue;
      variables ??= variablesOf(admitted);
      this.#check(policy, binding, admitted, variables);
    }
  }

  #check(policy: KubeObject, binding: KubeObject, admitted: Admitted, variables: Variables): void {
    const refuse = (validation: Json, said: string) => {
      const actions = listAt(binding, "spec", "validationActions");
      const why = `ValidatingAdmissionPolicy '${policy.metadata.name}' with binding '${binding.metadata.name}' denied request: ${said}`;
      if (actions.includes("Deny")) throw denial(admitted, why, textAt(validation, "reason"));
      if (actions.includes("Warn")) admitted.write.warnings.push(`Validation failed for ${why}`);
    };
    const ignoresFailures = textAt(policy, "spec", "failurePolicy") === "Ignore";
    for (const condition of listAt(policy, "spec", "matchConditions")) {
      const outcome = this.#boolean(condition, admitted, variables);
      if (outcome === false) return;
      if (outcome === true) continue;
      if (!ignoresFailures) refuse({}, outcome);
      return;
    }
    const all = this.#withOwn(policy, admitted, variables);
    for (const validation of listAt(policy, "spec", "validations")) {
      const outcome = this.#boolean(validation, admitted, all);
      if (outcome === true || (outcome !== false && ignoresFailures)) continue;
      refuse(validation, outcome === false ? this.#message(validation, admitted, all) : outcome);
    }
  }

  /** The policy's own variables, each seeing those before it; a failed variable makes its users fail too. */
  #withOwn(policy: KubeObject, { write }: Admitted, variables: Variables): Variables {
    const own = new Map<string, CelInput>();
    for (const variable of listAt(policy, "spec", "variables")) {
      const expression = textAt(variable, "expression") ?? "";
      const outcome = this.#expressions.evaluate(expression, { ...variables, variables: own }, write.user);
      if ("value" in outcome) own.set(textAt(variable, "name") ?? "", outcome.value);
    }
    return { ...variables, variables: own };
  }

  /** A text is the error. */
  #boolean(of: Json, { write }: Admitted, variables: Variables): boolean | string {
    const expression = textAt(of, "expression") ?? "";
    const outcome = this.#expressions.evaluate(expression, variables, write.user);
    if ("value" in outcome && typeof outcome.value === "boolean") return outcome.value;
    const failure = "failure" in outcome ? outcome.failure : "the expression is not a boolean";
    return `expression '${expression}' resulted in error: ${failure}`;
  }

  #message(validation: Json, { write }: Admitted, variables: Variables): string {
    const expression = textAt(validation, "messageExpression");
    const outcome =
      expression === undefined ? undefined : this.#expressions.evaluate(expression, variables, write.user);
    if (outcome && "value" in outcome && typeof outcome.value === "string" && outcome.value.trim() !== "") {
      return outcome.value;
    }
    return textAt(validation, "message") ?? `failed expression: ${textAt(validation, "expression") ?? ""}`;
  }
}

function variablesOf(admitted: Admitted): Variables {
  const { object, old, namespace } = admitted;
  return {
    object: celValue(object),
    oldObject: celValue(old),
    request: celValue(requestOf(admitted)),
    namespaceObject: celValue(namespace),
  };
}

function requestOf({ write, operation, object, old }: Admitted): JsonObject {
  const { definition, namespace, subresource, dryRun, user } = write;
  const { group, version, kind, plural } = definition;
  return {
    kind: { group, version, kind },
    resource: { group, version, resource: plural },
    subResource: subresource,
    name: (object ?? old)?.metadata.name ?? "",
    namespace,
    operation,
    userInfo: { username: user.name, groups: [...user.groups] },
    dryRun,
  };
}

/** Codes of the reasons that a validation may name; Invalid by default. */
const CODES: Readonly<Record<string, number>> = { Unauthorized: 401, Forbidden: 403, RequestEntityTooLarge: 413 };

function denial({ write, object, old }: Admitted, why: string, reason = "Invalid"): StatusError {
  const { definition } = write;
  const name = (object ?? old)?.metadata.name ?? "";
  const message = `${qualifiedResource(definition)} ${JSON.stringify(name)} is forbidden: ${why}`;
  return new StatusError(CODES[reason] ?? 422, reason, message, {
    name,
    ...(definition.group && { group: definition.group }),
    kind: definition.plural,
    // kubectl shows nothing else of a refusal.
    causes: [{ message: why }],
  });
}
