import type { FunctionNode } from "../ast.ts";
import { type Closure, type Exec, Frame, type Prototype, RETURNED, TAIL_CALL } from "../frame.ts";
import { LuaTable } from "../table.ts";
import { type LuaResult, type LuaValue, NOTHING } from "../values.ts";
import type { Vm } from "../vm.ts";
import type { Context } from "./context.ts";
import { compileBlock } from "./statements.ts";

/** What a call takes beyond its body. */
const CALL_FUEL = 3;

/** Compiles the script's main function, and with it everything inside. */
export function compileMain(vm: Vm, main: FunctionNode): Closure {
  const context: Context = {
    vm,
    block: (block) => compileBlock(context, block),
    prototype: (node) => ({ node, body: compileBody(context, node) }),
  };
  return { prototype: context.prototype(main), upvalues: [] };
}

function compileBody(context: Context, node: FunctionNode): Exec {
  const block = context.block(node.body);
  const { argTable } = node;
  if (argTable === undefined) return block;
  const { meter } = context.vm;
  return (frame) => {
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
  let frame = new Frame(closure, args);
  for (;;) {
    meter.burn(CALL_FUEL);
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
    frame = new Frame(callee.closure, vm.tailArgs);
  }
}
