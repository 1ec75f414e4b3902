import type { Expression, FunctionNode, Index, Name, TableField, UpvalueSource } from "../ast.ts";
import type { Box, Closure, Evaluate, EvaluateList, Frame } from "../frame.ts";
import { CLOSURE_BYTES, SLOT_BYTES } from "../meter.ts";
import { concat, index, lengthOf, negate, setIndex } from "../operators.ts";
import { LuaTable } from "../table.ts";
import { LuaFunction, type LuaValue } from "../values.ts";
import type { Vm } from "../vm.ts";
import { compileArithmetic, compileComparison } from "./binary.ts";
import { compileCall, compileCallList } from "./calls.ts";
import { type Context, descend, describe } from "./context.ts";
import { runClosure } from "./functions.ts";

/** Compiles an expression to a function of the frame that returns its one value. */
export function compileExpression(context: Context, expression: Expression): Evaluate {
  descend(context);
  const evaluate = compileOne(context, expression);
  context.depth--;
  return evaluate;
}

function compileOne(context: Context, expression: Expression): Evaluate {
  switch (expression.kind) {
    case "constant": {
      const { value } = expression;
      return () => value;
    }
    case "variable":
    case "upvalue":
    case "global":
      return compileName(context.vm, expression);
    case "vararg":
      return (frame) => frame.varargs[0];
    case "parentheses":
      return compileExpression(context, expression.value);
    case "index":
      return compileIndex(context, expression);
    case "functionCall":
    case "methodCall":
      return compileCall(context, expression);
    case "function":
      return compileFunction(context, expression.value);
    case "table":
      return compileTable(context, expression.fields, expression.line);
    case "arithmetic":
      return compileArithmetic(context, expression);
    case "comparison":
      return compileComparison(context, expression);
    case "concat":
      return compileConcat(context, expression.parts, expression.line);
    case "and": {
      const left = compileExpression(context, expression.left);
      const right = compileExpression(context, expression.right);
      return (frame) => {
        const value = left(frame);
        return value === undefined || value === false ? value : right(frame);
      };
    }
    case "or": {
      const left = compileExpression(context, expression.left);
      const right = compileExpression(context, expression.right);
      return (frame) => {
        const value = left(frame);
        return value === undefined || value === false ? right(frame) : value;
      };
    }
    case "not": {
      const operand = compileExpression(context, expression.operand);
      return (frame) => {
        const value = operand(frame);
        return value === undefined || value === false;
      };
    }
    case "negate": {
      const operand = compileExpression(context, expression.operand);
      const { line } = expression;
      const { meter } = context.vm;
      return (frame) => negate(meter, operand(frame), line);
    }
    case "length": {
      const operand = compileExpression(context, expression.operand);
      const { line } = expression;
      const hint = describe(expression.operand);
      return (frame) => lengthOf(operand(frame), line, hint);
    }
  }
}

/** Compiles a list in which the last expression may have any number of values. The array is always new. */
export function compileList(context: Context, expressions: readonly Expression[]): EvaluateList {
  const last = expressions.at(-1);
  const spread = last === undefined ? undefined : compileSpread(context, last);
  if (spread !== undefined) {
    const fixed = expressions.slice(0, -1).map((each) => compileExpression(context, each));
    const { meter } = context.vm;
    return (frame) => {
      const values: LuaValue[] = [];
      for (const each of fixed) values.push(each(frame));
      const rest = spread(frame);
      meter.list(rest.length);
      for (const each of rest) values.push(each);
      return values;
    };
  }
  const [first, second, third, ...rest] = expressions.map((each) => compileExpression(context, each));
  if (first === undefined) return () => [];
  if (second === undefined) return (frame) => [first(frame)];
  if (third === undefined) return (frame) => [first(frame), second(frame)];
  return (frame) => {
    const values = [first(frame), second(frame), third(frame)];
    for (const each of rest) values.push(each(frame));
    return values;
  };
}

/** The values of an expression that may have several; undefined for one that always has one. */
export function compileSpread(context: Context, expression: Expression): EvaluateList | undefined {
  switch (expression.kind) {
    case "vararg":
      return (frame) => frame.varargs;
    case "functionCall":
    case "methodCall":
      return compileCallList(context, expression);
    default:
      return undefined;
  }
}

function compileName(vm: Vm, name: Name): Evaluate {
  switch (name.kind) {
    case "variable": {
      const { slot, captured } = name.variable;
      return captured ? (frame) => frame.boxes[slot]?.value : (frame) => frame.locals[slot];
    }
    case "upvalue": {
      const at = name.index;
      return (frame) => frame.upvalues[at]?.value;
    }
    case "global": {
      const place = vm.globals.placeOf(name.name);
      return () => vm.globals.values[place];
    }
  }
}

/** How a value is stored under a name. */
export function compileNameStore(vm: Vm, name: Name): (frame: Frame, value: LuaValue) => void {
  switch (name.kind) {
    case "variable": {
      const { slot, captured } = name.variable;
      if (!captured) {
        return (frame, value) => {
          frame.locals[slot] = value;
        };
      }
      return (frame, value) => {
        const box = frame.boxes[slot];
        if (box !== undefined) box.value = value;
      };
    }
    case "upvalue": {
      const at = name.index;
      return (frame, value) => {
        const box = frame.upvalues[at];
        if (box !== undefined) box.value = value;
      };
    }
    case "global": {
      const place = vm.globals.placeOf(name.name);
      return (_frame, value) => {
        vm.globals.values[place] = value;
      };
    }
  }
}

function compileIndex(context: Context, expression: Index): Evaluate {
  const { vm } = context;
  const { line } = expression;
  const base = compileExpression(context, expression.base);
  const hint = describe(expression.base);
  if (expression.key.kind === "constant" && typeof expression.key.value === "string") {
    const name = expression.key.value;
    return (frame) => {
      const table = base(frame);
      return table instanceof LuaTable ? table.getString(name) : index(vm, table, name, line, hint);
    };
  }
  const key = compileExpression(context, expression.key);
  return (frame) => {
    const table = base(frame);
    return index(vm, table, key(frame), line, hint);
  };
}

function compileConcat(context: Context, expressions: readonly Expression[], line: number): Evaluate {
  const { vm } = context;
  const parts = expressions.map((each) => compileExpression(context, each));
  return (frame) => {
    const values: LuaValue[] = [];
    for (const part of parts) values.push(part(frame));
    return concat(vm, values, line);
  };
}

function compileTable(context: Context, fields: readonly TableField[], line: number): Evaluate {
  const { vm } = context;
  const { meter } = vm;
  const steps: ((frame: Frame, table: LuaTable) => void)[] = [];
  let position = 0;
  fields.forEach((field, at) => {
    if (field.kind === "entry") {
      const value = compileExpression(context, field.value);
      const key = compileExpression(context, field.key);
      steps.push((frame, table) => setIndex(vm, table, key(frame), value(frame), line, ""));
      return;
    }
    const spread = at === fields.length - 1 ? compileSpread(context, field.value) : undefined;
    const start = position;
    position++;
    // Compiled one way or the other, never both: tables nest, and each level would compile everything inside it twice.
    if (spread === undefined) {
      const value = compileExpression(context, field.value);
      steps.push((frame, table) => table.set(start + 1, value(frame)));
    } else {
      steps.push((frame, table) => {
        const values = spread(frame);
        meter.burn(values.length);
        for (let i = 0; i < values.length; i++) table.set(start + 1 + i, values[i]);
      });
    }
  });
  return (frame) => {
    const table = new LuaTable(meter);
    for (const step of steps) step(frame, table);
    return table;
  };
}

export function compileFunction(context: Context, node: FunctionNode): (frame: Frame) => LuaFunction {
  const { vm } = context;
  const prototype = context.prototype(node);
  const sources = node.upvalues;
  const { name } = node;
  const bytes = CLOSURE_BYTES + sources.length * SLOT_BYTES;
  return (frame) => {
    vm.meter.allocate(bytes);
    // Of the right size at once: V8 would reserve room for 17.
    const upvalues = new Array<Box>(sources.length);
    for (let at = 0; at < sources.length; at++) {
      const source = sources[at];
      if (source !== undefined) upvalues[at] = boxOf(frame, source);
    }
    const closure: Closure = { prototype, upvalues };
    return new LuaFunction(name, (args) => runClosure(vm, closure, args), closure);
  };
}

/** A variable whose declaration has not run, as after a goto, gets its box here. */
function boxOf(frame: Frame, source: UpvalueSource): Box {
  if (source.from === "upvalue") return frame.upvalues[source.index] ?? { value: undefined };
  const known = frame.boxes[source.slot];
  if (known !== undefined) return known;
  const box: Box = { value: undefined };
  frame.boxes[source.slot] = box;
  return box;
}
