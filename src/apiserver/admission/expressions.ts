import {
  type CelInput,
  type CelMap,
  CelScalar,
  type CelValue,
  celEnv,
  celMethod,
  isCelError,
  mapType,
  parse,
  plan,
} from "@bufbuild/cel";
import { CEL_FUNCTIONS } from "../../api/index.ts";
import { isJsonObject, type Json } from "../../runtime/index.ts";
import type { Authorizer, User } from "../types.ts";

/** The number of cached compiled expressions; there are few policies. */
const KEPT_PROGRAMS = 256;

type Program = ReturnType<typeof plan>;
export type Outcome = { readonly value: CelValue } | { readonly failure: string };

/** `authorizer` in CEL, and each step of a check on it, is a map of this type. */
const QUESTION = mapType(CelScalar.STRING, CelScalar.DYN);
const STEPS = ["group", "resource", "subresource", "namespace", "name"] as const;

/** CEL for admission policies: Kubernetes' functions, and `authorizer`, which checks what the requester may do. */
export class Expressions {
  readonly #authorizer: Authorizer | undefined;
  readonly #programs = new Map<string, Program>();
  #requester: User = { name: "", groups: [] };
  readonly #env = celEnv({
    funcs: [
      ...CEL_FUNCTIONS,
      ...STEPS.map((step) =>
        celMethod(step, QUESTION, [CelScalar.STRING], QUESTION, function (text: CelValue) {
          return new Map([...entriesOf(this), [step, String(text)]]);
        }),
      ),
      celMethod("check", QUESTION, [CelScalar.STRING], QUESTION, this.#checker()),
      celMethod("allowed", QUESTION, [], CelScalar.BOOL, function () {
        return this.get("allowed") === "true";
      }),
    ],
  });

  /** Without an authorizer the server refuses nothing, so every check is allowed. */
  constructor(authorizer: Authorizer | undefined) {
    this.#authorizer = authorizer;
  }

  evaluate(expression: string, variables: Record<string, CelInput>, requester: User): Outcome {
    this.#requester = requester;
    try {
      const result = this.#program(expression)({ ...variables, authorizer: new Map<string, CelInput>() });
      return isCelError(result) ? { failure: result.message } : { value: result };
    } catch (error) {
      return { failure: error instanceof Error ? error.message : "it cannot be evaluated" };
    }
  }

  #program(expression: string): Program {
    const known = this.#programs.get(expression);
    if (known) return known;
    const program = plan(this.#env, parse(expression));
    if (this.#programs.size >= KEPT_PROGRAMS) this.#programs.clear();
    this.#programs.set(expression, program);
    return program;
  }

  #checker() {
    const allows = (question: CelMap, verb: string) => this.#allows(question, verb);
    return function (this: CelMap, verb: CelValue) {
      return new Map([["allowed", String(allows(this, String(verb)))]]);
    };
  }

  #allows(question: CelMap, verb: string): boolean {
    if (!this.#authorizer) return true;
    const asked = (step: (typeof STEPS)[number]) => String(question.get(step) ?? "");
    const reason = this.#authorizer({
      user: this.#requester,
      verb,
      path: "",
      group: asked("group"),
      version: "*",
      resource: asked("resource"),
      subresource: asked("subresource"),
      namespace: asked("namespace"),
      name: asked("name"),
    });
    return reason === undefined;
  }
}

function entriesOf(map: CelMap): [string, string][] {
  return [...map.entries()].map(([key, value]) => [String(key), String(value)]);
}

/** CEL has integers, JSON in JavaScript does not: numbers get the type that the schema would give them. */
export function celValue(value: Json | undefined): CelInput {
  if (typeof value === "number") return Number.isSafeInteger(value) ? BigInt(value) : value;
  if (Array.isArray(value)) return value.map(celValue);
  if (!isJsonObject(value)) return value ?? null;
  return new Map(Object.entries(value).map(([key, field]) => [key, celValue(field)]));
}
