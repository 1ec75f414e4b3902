import type { FunctionNode } from "../ast.ts";
import { type Closure, type Exec, Frame, type Prototype, RETURNED, TAIL_CALL } from "../frame.ts";
import { BOX_BYTES, type Meter } from "../meter.ts";
import { LuaTable } from "../table.ts";
import { type LuaResult, type LuaValue, NOTHING } from "../values.ts";
import type { Vm } from "../vm.ts";
import type { Context } from "./context.ts";
import { compileBlock } from "./statements.ts";

/** The cost of a call beyond its body, and the number of variable slots that cost one more unit. */
const CALL_FUEL = 8;
const SLOTS_SHIFT = 2;
const FRAME_BYTES = 160;
const FRAME_SLOT_BYTES = 32;
const ARG_TABLE_FUEL = 10;

/** Compiles the script's main function, including everything inside it. */
export function compileMain(vm: Vm, main: FunctionNode): Closure {
  const context: Context = {
    vm,
    depth: 0,
    block: (block) => compileBlock(context, block),
    prototype: (node) => compilePrototype(context, node),
  };
  return { prototype: context.prototype(main), upvalues: [] };
}

function compilePrototype(context: Context, node: FunctionNode): Prototype {
  // The scopes around a function in the source do not exist when it runs.
  const { depth } = context;
  context.depth = 0;
  const body = compileBody(context, node);
  context.depth = depth;
  const { line, parameters, isVararg, hasBoxes } = node;
  return {
    line,
    parameters,
    isVararg,
    hasBoxes,
    body,
    callFuel: CALL_FUEL + (hasBoxes ? node.slots : node.slots >>> SLOTS_SHIFT),
    frameBytes: FRAME_BYTES + node.slots * FRAME_SLOT_BYTES + (hasBoxes ? parameters.length * BOX_BYTES : 0),
  };
}

function compileBody(context: Context, node: FunctionNode): Exec {
  const block = context.block(node.body);
  const { argTable } = node;
  if (argTable === undefined) return block;
  const { meter } = context.vm;
  return (frame) => {
    meter.burn(ARG_TABLE_FUEL + frame.varargs.length * 2);
    const table = new LuaTable(meter);
    for (const value of frame.varargs) table.append(value);
    table.set("n", frame.varargs.length);
    if (argTable.captured) frame.boxes[argTable.slot] = { value: table };
    else frame.locals[argTable.slot] = table;
    return block(frame);
  };
}

/** Runs a function of the script. A call in tail position replaces the function instead of nesting in it. */
export function runClosure(vm: Vm, closure: Closure, args: LuaValue[]): LuaResult {
  const { meter } = vm;
  if (++meter.depth > meter.callDepth) meter.tooDeep();
  let { prototype }: { prototype: Prototype } = closure;
  let frame = enter(meter, closure, args);
  for (;;) {
    const signal = prototype.body(frame);
    if (signal !== TAIL_CALL) {
      meter.depth--;
      return signal === RETURNED ? vm.returned : NOTHING;
    }
    const callee = vm.tailCallee;
    if (callee?.closure === undefined) {
      meter.depth--;
      return callee === undefined ? NOTHING : callee.invoke(vm.tailArgs);
    }
    prototype = callee.closure.prototype;
    frame = enter(meter, callee.closure, vm.tailArgs);
  }
}

function enter(meter: Meter, closure: Closure, args: LuaValue[]): Frame {
  const { callFuel, frameBytes, isVararg } = closure.prototype;
  meter.burn(callFuel);
  meter.reserve(frameBytes);
  if (isVararg) meter.list(args.length);
  return new Frame(closure, args);
}
