import type { Block, Expression, FunctionNode } from "../ast.ts";
import type { Exec, Prototype } from "../frame.ts";
import type { Vm } from "../vm.ts";

/** What the parts of the compiler share; the two functions break their import cycle. */
export interface Context {
  readonly vm: Vm;
  /** The nesting depth of the expressions and blocks being compiled; compiled code nests as deep. */
  depth: number;
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

/** Called for each expression and block on the way down; the caller decrements the depth itself. */
export function descend(context: Context): void {
  context.depth++;
  if (context.depth > context.vm.deepest) context.vm.deepest = context.depth;
}

/** The cost of a function value, plus one for each variable that it shares. */
const CLOSURE_FUEL = 12;
const TABLE_FUEL = 6;
const COMPUTED_KEY_FUEL = 6;
const CALL_FUEL = 4;
/** The remainder of a division and powers take longer than other arithmetic. */
const SLOW_ARITHMETIC_FUEL = 6;

export function weighFunction(node: FunctionNode): number {
  return CLOSURE_FUEL + node.upvalues.length;
}

/** The fuel for evaluating an expression: about one for each of its operations. */
export function weigh(expression: Expression): number {
  switch (expression.kind) {
    case "index": {
      // A literal name is found faster than a computed one.
      const look = expression.key.kind === "constant" ? 1 : COMPUTED_KEY_FUEL;
      return look + weigh(expression.base) + weigh(expression.key);
    }
    case "functionCall":
      return CALL_FUEL + weigh(expression.callee) + weighAll(expression.args);
    case "methodCall":
      return CALL_FUEL + 2 + weigh(expression.object) + weighAll(expression.args);
    case "table":
      return expression.fields.reduce(
        (sum, field) => sum + weigh(field.value) + (field.kind === "entry" ? 1 + weigh(field.key) : 1),
        TABLE_FUEL,
      );
    case "parentheses":
      return weigh(expression.value);
    case "arithmetic":
      return (
        (expression.operator === "%" || expression.operator === "^" ? SLOW_ARITHMETIC_FUEL : 1) +
        weigh(expression.left) +
        weigh(expression.right)
      );
    case "comparison":
    case "and":
    case "or":
      return 1 + weigh(expression.left) + weigh(expression.right);
    case "concat":
      return 2 * expression.parts.length + weighAll(expression.parts);
    case "not":
    case "negate":
    case "length":
      return 1 + weigh(expression.operand);
    case "function":
      return weighFunction(expression.value);
    default:
      return 1;
  }
}

export function weighAll(expressions: readonly Expression[]): number {
  return expressions.reduce((sum, each) => sum + weigh(each), 0);
}
