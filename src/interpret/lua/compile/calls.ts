import type { Call } from "../ast.ts";
import type { Evaluate, EvaluateList, Frame } from "../frame.ts";
import { callee, index } from "../operators.ts";
import { allOf, firstOf, type LuaFunction, type LuaResult, type LuaValue } from "../values.ts";
import { type Context, describe } from "./context.ts";
import { compileExpression, compileList } from "./expressions.ts";

/** A call up to the point where the function runs: the function and its arguments. */
interface Prepared {
  readonly callee: (frame: Frame) => LuaValue;
  readonly args: EvaluateList;
  readonly hint: string;
  readonly line: number;
}

export function compileCall(context: Context, call: Call): Evaluate {
  const invoke = compileInvocation(context, call);
  return (frame) => firstOf(invoke(frame));
}

export function compileCallList(context: Context, call: Call): EvaluateList {
  const invoke = compileInvocation(context, call);
  return (frame) => allOf(invoke(frame));
}

/** Runs the call and returns its results. */
export function compileInvocation(context: Context, call: Call): (frame: Frame) => LuaResult {
  const { meter } = context.vm;
  if (call.kind === "functionCall") {
    const { callee: target, args, hint, line } = prepareFunction(context, call);
    return (frame) => {
      const value = target(frame);
      const values = args(frame);
      meter.line = line;
      return callee(value, line, hint).invoke(values);
    };
  }
  const method = prepareMethod(context, call);
  const { line } = call;
  return (frame) => {
    const { value, values } = method(frame);
    meter.line = line;
    return value.invoke(values);
  };
}

/** Evaluates function and arguments without running the call, for calls in tail position. */
export function compileTail(
  context: Context,
  call: Call,
): (frame: Frame) => { value: LuaFunction; values: LuaValue[] } {
  if (call.kind === "methodCall") return prepareMethod(context, call);
  const { callee: target, args, hint, line } = prepareFunction(context, call);
  return (frame) => {
    const value = target(frame);
    const values = args(frame);
    return { value: callee(value, line, hint), values };
  };
}

function prepareFunction(context: Context, call: Extract<Call, { kind: "functionCall" }>): Prepared {
  return {
    callee: compileExpression(context, call.callee),
    args: compileList(context, call.args),
    hint: describe(call.callee),
    line: call.line,
  };
}

function prepareMethod(context: Context, call: Extract<Call, { kind: "methodCall" }>) {
  const { vm } = context;
  const { line, method } = call;
  const object = compileExpression(context, call.object);
  const args = compileList(context, call.args);
  const baseHint = describe(call.object);
  const hint = describe(call);
  return (frame: Frame): { value: LuaFunction; values: LuaValue[] } => {
    const self = object(frame);
    const value = index(vm, self, method, line, baseHint);
    const values = args(frame);
    values.unshift(self);
    return { value: callee(value, line, hint), values };
  };
}
