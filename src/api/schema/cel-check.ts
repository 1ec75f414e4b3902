import type { parse } from "@bufbuild/cel";
import { escapeFieldName, VISIBLE_METADATA } from "./cel-values.ts";
import type { SchemaNode } from "./node.ts";

export type Expression = NonNullable<ReturnType<typeof parse>["expr"]>;

export interface ReferenceCheck {
  /** The first name in the expression that does not exist, in Kubernetes' wording. */
  readonly problem: string | undefined;
  readonly usesOldSelf: boolean;
}

/**
 * Finds mistakes before they become run-time errors: variables, functions and schema fields that do not exist. Types of
 * computed values are not tracked; an unknown type is accepted here and fails when the rule runs.
 */
export function checkReferences(
  expression: Expression,
  node: SchemaNode,
  isObjectRoot: boolean,
  isFunction: (name: string) => boolean,
): ReferenceCheck {
  const check = new Checker(isFunction);
  const self: Known = { node, isObjectRoot };
  check.infer(
    expression,
    new Map([
      ["self", self],
      ["oldSelf", self],
    ]),
  );
  return { problem: check.problem, usesOldSelf: check.usesOldSelf };
}

/** The schema of a value; undefined if there is none. */
type Known = { node: SchemaNode; isObjectRoot: boolean } | "metadata" | undefined;
type Scope = ReadonlyMap<string, Known>;

const TYPE_NAMES = new Set(["int", "uint", "double", "bool", "string", "bytes", "list", "map", "null_type", "type"]);
const INDEX = "_[_]";
/** Operators that CEL's planner handles without a function. */
const OPERATORS = new Set(["_&&_", "_||_", "_?_:_", INDEX, "@not_strictly_false", "__not_strictly_false__"]);

class Checker {
  problem: string | undefined;
  usesOldSelf = false;
  readonly #isFunction: (name: string) => boolean;

  constructor(isFunction: (name: string) => boolean) {
    this.#isFunction = isFunction;
  }

  infer(expression: Expression, scope: Scope): Known {
    const kind = expression.exprKind;
    switch (kind.case) {
      case "identExpr":
        return this.#variable(kind.value.name, scope);
      case "selectExpr":
        return this.#field(kind.value.operand && this.infer(kind.value.operand, scope), kind.value.field);
      case "callExpr":
        return this.#call(kind.value, scope);
      case "comprehensionExpr":
        return this.#loop(kind.value, scope);
      case "listExpr":
        for (const element of kind.value.elements) this.infer(element, scope);
        return undefined;
      case "structExpr":
        for (const entry of kind.value.entries) {
          if (entry.keyKind.case === "mapKey") this.infer(entry.keyKind.value, scope);
          if (entry.value) this.infer(entry.value, scope);
        }
        return undefined;
      default:
        return undefined;
    }
  }

  #variable(name: string, scope: Scope): Known {
    if (!scope.has(name)) {
      if (!TYPE_NAMES.has(name)) this.#report(`undeclared reference to '${name}' (in container '')`);
      return undefined;
    }
    if (name === "oldSelf") this.usesOldSelf = true;
    return scope.get(name);
  }

  #field(operand: Known, name: string): Known {
    if (operand === undefined) return undefined;
    if (operand === "metadata") {
      if (!VISIBLE_METADATA.includes(name)) this.#report(`undefined field '${name}'`);
      return undefined;
    }
    const { node } = operand;
    if (node.intOrString || node.type === undefined) return undefined;
    if (node.type !== "object") {
      this.#report(`type '${node.type}' does not support field selection`);
      return undefined;
    }
    for (const [property, declared] of node.properties) {
      const isHiddenMetadata = property === "metadata" && (operand.isObjectRoot || node.embedded);
      if (!isHiddenMetadata && escapeFieldName(property) === name) return known(declared);
    }
    if (operand.isObjectRoot || node.embedded) {
      if (["apiVersion", "kind"].includes(name)) return undefined;
      if (name === "metadata") return "metadata";
    }
    if (node.additional !== undefined) return node.additional === "anything" ? undefined : known(node.additional);
    this.#report(`undefined field '${name}'`);
    return undefined;
  }

  #call(call: CallExpression, scope: Scope): Known {
    const { target, args } = call;
    const qualifier = target ? qualifiedName(target) : undefined;
    if (qualifier !== undefined && this.#isFunction(`${qualifier}.${call.function}`)) {
      for (const arg of args) this.infer(arg, scope);
      return undefined;
    }
    if (!OPERATORS.has(call.function) && !this.#isFunction(call.function)) {
      this.#report(`undeclared reference to '${call.function}' (in container '')`);
    }
    const operands = [...(target ? [target] : []), ...args].map((operand) => this.infer(operand, scope));
    return call.function === INDEX ? elementOf(operands[0]) : undefined;
  }

  #loop(loop: LoopExpression, scope: Scope): Known {
    const range = loop.iterRange && this.infer(loop.iterRange, scope);
    if (loop.accuInit) this.infer(loop.accuInit, scope);
    const isList = typeof range === "object" && range.node.type === "array";
    const item = isList ? elementOf(range) : undefined;
    const inner = new Map(scope).set(loop.accuVar, undefined).set(loop.iterVar, item);
    if (loop.loopCondition) this.infer(loop.loopCondition, inner);
    if (loop.loopStep) this.infer(loop.loopStep, inner);
    if (loop.result) this.infer(loop.result, inner);
    return undefined;
  }

  #report(problem: string): void {
    this.problem ??= problem;
  }
}

type CallExpression = Extract<Expression["exprKind"], { case: "callExpr" }>["value"];
type LoopExpression = Extract<Expression["exprKind"], { case: "comprehensionExpr" }>["value"];

function known(node: SchemaNode): Known {
  return { node, isObjectRoot: false };
}

function elementOf(container: Known): Known {
  if (container === undefined || container === "metadata") return undefined;
  const { items, additional } = container.node;
  if (items) return known(items);
  return additional && additional !== "anything" ? known(additional) : undefined;
}

function qualifiedName(expression: Expression): string | undefined {
  const kind = expression.exprKind;
  if (kind.case === "identExpr") return kind.value.name;
  if (kind.case !== "selectExpr" || kind.value.testOnly || !kind.value.operand) return undefined;
  const parent = qualifiedName(kind.value.operand);
  return parent === undefined ? undefined : `${parent}.${kind.value.field}`;
}
