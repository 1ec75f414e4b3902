import type { Block, Expression, FunctionNode } from "../ast.ts";
import type { Exec, Prototype } from "../frame.ts";
import type { Vm } from "../vm.ts";

/** What the parts of the compiler share; the two functions break the circle between them. */
export interface Context {
  readonly vm: Vm;
  block(block: Block): Exec;
  prototype(node: FunctionNode): Prototype;
}

/** Names an expression in an error message: " (field 'spec')". */
export function describe(expression: Expression): string {
  switch (expression.kind) {
    case "variable":
      return ` (local '${expression.variable.name}')`;
    case "upvalue":
      return ` (upvalue '${expression.name}')`;
    case "global":
      return ` (global '${expression.name}')`;
    case "index":
      return expression.key.kind === "constant" ? ` (field '${String(expression.key.value)}')` : "";
    case "methodCall":
      return ` (method '${expression.method}')`;
    case "parentheses":
      return describe(expression.value);
    default:
      return "";
  }
}

/** How much fuel evaluating an expression takes: one for each of its operations. */
export function weigh(expression: Expression): number {
  switch (expression.kind) {
    case "index":
      return 1 + weigh(expression.base) + weigh(expression.key);
    case "functionCall":
      return 2 + weigh(expression.callee) + weighAll(expression.args);
    case "methodCall":
      return 3 + weigh(expression.object) + weighAll(expression.args);
    case "table":
      return expression.fields.reduce(
        (sum, field) => sum + weigh(field.value) + (field.kind === "entry" ? 1 + weigh(field.key) : 1),
        2,
      );
    case "parentheses":
      return weigh(expression.value);
    case "arithmetic":
    case "comparison":
    case "and":
    case "or":
      return 1 + weigh(expression.left) + weigh(expression.right);
    case "concat":
      return 1 + weighAll(expression.parts);
    case "not":
    case "negate":
    case "length":
      return 1 + weigh(expression.operand);
    case "function":
      return 4;
    default:
      return 1;
  }
}

export function weighAll(expressions: readonly Expression[]): number {
  return expressions.reduce((sum, each) => sum + weigh(each), 0);
}
