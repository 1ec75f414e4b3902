import type { FunctionNode } from "./ast.ts";
import type { LuaValue } from "./values.ts";

/** A local variable that an inner function shares. */
export interface Box {
  value: LuaValue;
}

/** How a block ended. What is returned, called last or jumped to stands in the Vm. */
export const ENDED = 0;
export const BROKE = 1;
export const RETURNED = 2;
export const TAIL_CALL = 3;
export const JUMPED = 4;
export type Signal = typeof ENDED | typeof BROKE | typeof RETURNED | typeof TAIL_CALL | typeof JUMPED;

export type Exec = (frame: Frame) => Signal;
export type Evaluate = (frame: Frame) => LuaValue;
export type EvaluateList = (frame: Frame) => LuaValue[];

/** A function of the script, compiled. */
export interface Prototype {
  readonly node: FunctionNode;
  readonly body: Exec;
}

export interface Closure {
  readonly prototype: Prototype;
  readonly upvalues: Box[];
}

const NO_BOXES: Box[] = [];
const NO_VALUES: LuaValue[] = [];

/** One running call of a function. A variable lives in `locals`, or if captured in `boxes`, at its slot. */
export class Frame {
  locals: LuaValue[];
  boxes: Box[] = NO_BOXES;
  varargs: LuaValue[] = NO_VALUES;
  readonly upvalues: Box[];

  constructor(closure: Closure, args: LuaValue[]) {
    this.upvalues = closure.upvalues;
    const { node } = closure.prototype;
    const { parameters } = node;
    if (node.isVararg) this.varargs = args.slice(parameters.length);
    if (node.hasBoxes) {
      this.boxes = [];
      for (const { captured, slot } of parameters) if (captured) this.boxes[slot] = { value: args[slot] };
    }
    // A call builds its arguments for this frame alone, so they can be its first slots.
    args.length = parameters.length;
    this.locals = args;
  }
}
