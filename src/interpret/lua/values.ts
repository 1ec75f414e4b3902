import type { Closure } from "./frame.ts";
import type { LuaTable } from "./table.ts";

/** nil is undefined; strings hold bytes (bytes.ts). */
export type LuaValue = undefined | boolean | number | string | LuaTable | LuaFunction;

/** What a call returns: a single value directly, any other number of values in an array. */
export type LuaResult = LuaValue | LuaValue[];

export const NOTHING: LuaValue[] = [];

/** A function of the library, or of the script, which then has a closure. */
export class LuaFunction {
  readonly name: string;
  readonly invoke: (args: LuaValue[]) => LuaResult;
  readonly closure: Closure | undefined;

  constructor(name: string, invoke: (args: LuaValue[]) => LuaResult, closure?: Closure) {
    this.name = name;
    this.invoke = invoke;
    this.closure = closure;
  }
}

/** An error value: what `error` raises and `pcall` catches. No stack is recorded. */
export class LuaThrow {
  readonly value: LuaValue;
  readonly line: number;

  constructor(value: LuaValue, line: number) {
    this.value = value;
    this.line = line;
  }
}

/** The name of every script in the error values that scripts see, as in Karmada. */
export const CHUNK_NAME = "<string>";

/** Raises an error that names the line. */
export function raise(line: number, message: string): never {
  throw new LuaThrow(`${CHUNK_NAME}:${line}: ${message}`, line);
}

export function typeName(value: LuaValue): string {
  switch (typeof value) {
    case "undefined":
      return "nil";
    case "object":
      return value instanceof LuaFunction ? "function" : "table";
    default:
      return typeof value;
  }
}

export function firstOf(result: LuaResult): LuaValue {
  return Array.isArray(result) ? result[0] : result;
}

export function allOf(result: LuaResult): LuaValue[] {
  return Array.isArray(result) ? result : [result];
}
