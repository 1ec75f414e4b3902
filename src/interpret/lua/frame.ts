import type { Variable } from "./ast.ts";
import type { LuaValue } from "./values.ts";

/** A local variable that an inner function shares. */
export interface Box {
  value: LuaValue;
}

/** How a block ended. The Vm holds the results, the tail call or the label. */
export const ENDED = 0;
export const BROKE = 1;
export const RETURNED = 2;
export const TAIL_CALL = 3;
export const JUMPED = 4;
export type Signal = typeof ENDED | typeof BROKE | typeof RETURNED | typeof TAIL_CALL | typeof JUMPED;

export type Exec = (frame: Frame) => Signal;
export type Evaluate = (frame: Frame) => LuaValue;
export type EvaluateList = (frame: Frame) => LuaValue[];

/** A compiled function of the script. The parsed form is not kept: scripts are cached for long. */
export interface Prototype {
  readonly line: number;
  readonly parameters: readonly Variable[];
  readonly isVararg: boolean;
  /** Some variable of it is captured. */
  readonly hasBoxes: boolean;
  readonly body: Exec;
  /** The cost of a call, without its statements. */
  readonly callFuel: number;
  readonly frameBytes: number;
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
    const { parameters, isVararg, hasBoxes } = closure.prototype;
    if (isVararg) this.varargs = args.slice(parameters.length);
    if (hasBoxes) {
      this.boxes = [];
      for (const { captured, slot } of parameters) if (captured) this.boxes[slot] = { value: args[slot] };
    }
    // A call creates its arguments only for this frame, so they can be its first slots.
    args.length = parameters.length;
    this.locals = args;
  }
}
