import type { Expression } from "../ast.ts";
import type { Evaluate } from "../frame.ts";
import { arithmetic, equals, lessOrEqual, lessThan, modulo } from "../operators.ts";
import type { Context } from "./context.ts";
import { compileExpression } from "./expressions.ts";

type Arithmetic = Extract<Expression, { kind: "arithmetic" }>;
type Comparison = Extract<Expression, { kind: "comparison" }>;

/** Numbers are handled inline; everything else, strings and errors, by `arithmetic`. */
export function compileArithmetic(context: Context, expression: Arithmetic): Evaluate {
  const left = compileExpression(context, expression.left);
  const right = compileExpression(context, expression.right);
  const { line, operator } = expression;
  const { meter } = context.vm;
  switch (operator) {
    case "+":
      return (frame) => {
        const a = left(frame);
        const b = right(frame);
        return typeof a === "number" && typeof b === "number" ? a + b : arithmetic(meter, "+", a, b, line);
      };
    case "-":
      return (frame) => {
        const a = left(frame);
        const b = right(frame);
        return typeof a === "number" && typeof b === "number" ? a - b : arithmetic(meter, "-", a, b, line);
      };
    case "*":
      return (frame) => {
        const a = left(frame);
        const b = right(frame);
        return typeof a === "number" && typeof b === "number" ? a * b : arithmetic(meter, "*", a, b, line);
      };
    case "/":
      return (frame) => {
        const a = left(frame);
        const b = right(frame);
        return typeof a === "number" && typeof b === "number" ? a / b : arithmetic(meter, "/", a, b, line);
      };
    case "%":
      return (frame) => {
        const a = left(frame);
        const b = right(frame);
        return typeof a === "number" && typeof b === "number"
          ? modulo(meter, a, b)
          : arithmetic(meter, "%", a, b, line);
      };
    case "^":
      return (frame) => arithmetic(meter, "^", left(frame), right(frame), line);
  }
}

export function compileComparison(context: Context, expression: Comparison): Evaluate {
  const left = compileExpression(context, expression.left);
  const right = compileExpression(context, expression.right);
  const { meter } = context.vm;
  const { line } = expression;
  switch (expression.operator) {
    case "==":
      return (frame) => equals(meter, left(frame), right(frame));
    case "~=":
      return (frame) => !equals(meter, left(frame), right(frame));
    case "<":
      return (frame) => lessThan(meter, left(frame), right(frame), line);
    case "<=":
      return (frame) => lessOrEqual(meter, left(frame), right(frame), line);
    // gopher-lua evaluates the operands in their order and then compares them in reverse.
    case ">":
      return (frame) => {
        const a = left(frame);
        return lessThan(meter, right(frame), a, line);
      };
    case ">=":
      return (frame) => {
        const a = left(frame);
        return lessOrEqual(meter, right(frame), a, line);
      };
  }
}
