import type { ArithmeticOperator, ComparisonOperator, Expression } from "./ast.ts";

/** The precedence of not, - and #: higher than everything except ^. */
export const UNARY_PRIORITY = 8;

/** Binding strength to the left and to the right; a stronger left side makes the operator right associative. */
export const PRIORITIES: Record<string, readonly [left: number, right: number]> = {
  or: [1, 1],
  and: [2, 2],
  "<": [3, 3],
  ">": [3, 3],
  "<=": [3, 3],
  ">=": [3, 3],
  "~=": [3, 3],
  "==": [3, 3],
  "..": [5, 4],
  "+": [6, 6],
  "-": [6, 6],
  "*": [7, 7],
  "/": [7, 7],
  "%": [7, 7],
  "^": [10, 9],
};

/** The expression of a binary operator and its operands. */
export function combine(operator: string, left: Expression, right: Expression, line: number): Expression {
  switch (operator) {
    case "and":
    case "or":
      return { kind: operator, left, right, line };
    case "..":
      // One flat list: the whole chain is joined at once.
      return { kind: "concat", parts: right.kind === "concat" ? [left, ...right.parts] : [left, right], line };
    case "==":
    case "~=":
    case "<":
    case "<=":
    case ">":
    case ">=":
      return { kind: "comparison", operator: operator satisfies ComparisonOperator, left, right, line };
    case "+":
    case "-":
    case "*":
    case "/":
    case "%":
    case "^":
      return { kind: "arithmetic", operator: operator satisfies ArithmeticOperator, left, right, line };
    default:
      throw new TypeError(`no such operator: ${operator}`);
  }
}
