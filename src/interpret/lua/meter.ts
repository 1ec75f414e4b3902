import { LuaLimitError, type LuaLimitName } from "./errors.ts";
import type { LuaLimits } from "./limits.ts";

/** What each allocation counts for, in bytes: about what V8 takes for it. */
export const TABLE_BYTES = 96;
export const SLOT_BYTES = 16;
export const ENTRY_BYTES = 48;
export const STRING_BYTES = 24;
export const CLOSURE_BYTES = 96;

/** Comparing, hashing or joining strings costs nothing extra up to this length, and beyond it one unit per 16 bytes. */
export const LONG_STRING_BYTES = 64;
export const LONG_STRING_SHIFT = 4;

/**
 * Counts down what one call may use. The fields are public because compiled code takes from them directly; whoever
 * brings one below zero calls the method that throws.
 */
export class Meter {
  fuel = 0;
  memoryBytes = 0;
  depth = 0;
  callDepth = 0;
  jsonDepth = 0;
  /** The line of the statement or call that runs now, for errors that have no line of their own. */
  line = 0;
  readonly script: string;

  constructor(script: string) {
    this.script = script;
  }

  refill(limits: LuaLimits): void {
    this.fuel = limits.fuel;
    this.memoryBytes = limits.memoryBytes;
    this.callDepth = limits.callDepth;
    this.jsonDepth = limits.jsonDepth;
    this.depth = 0;
    this.line = 1;
  }

  burn(units: number): void {
    this.fuel -= units;
    if (this.fuel < 0) this.outOfFuel();
  }

  allocate(bytes: number): void {
    this.memoryBytes -= bytes;
    if (this.memoryBytes < 0) throw this.exceeded("memory", "allocated more memory than one call may use");
  }

  /** Counts a string that was just made; returns it. */
  string(value: string): string {
    this.allocate(STRING_BYTES + value.length);
    return value;
  }

  outOfFuel(): never {
    throw this.exceeded("fuel", "ran longer than one call may; look for a loop that does not end");
  }

  tooDeep(): never {
    throw this.exceeded("depth", "stack overflow: calls nest too deeply; look for recursion that does not end");
  }

  valueTooDeep(): never {
    throw this.exceeded("depth", "a value nests too deeply to be converted");
  }

  private exceeded(limit: LuaLimitName, detail: string): LuaLimitError {
    return new LuaLimitError(this.script, this.line, limit, detail);
  }
}
