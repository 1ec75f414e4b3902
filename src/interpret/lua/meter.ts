import { LuaLimitError, type LuaLimitName } from "./errors.ts";
import type { LuaLimits } from "./limits.ts";

/**
 * The charge for each allocation, in bytes: at least V8's worst case, including the unused room of growing arrays and
 * maps and a heap number for each value.
 */
export const TABLE_BYTES = 112;
/** A separate list, even a short one: V8 reserves room for 17 values with the first one. */
export const LIST_BYTES = 160;
export const SLOT_BYTES = 40;
export const ENTRY_BYTES = 144;
export const STRING_BYTES = 48;
export const CLOSURE_BYTES = 256;
export const BOX_BYTES = 32;

/** Creating and collecting many small objects takes a unit per 8 bytes; long strings take far less. */
const ALLOCATION_SHIFT = 3;

/** Comparing, hashing or joining strings is free up to this length, and beyond it costs one unit per 16 bytes. */
export const LONG_STRING_BYTES = 64;
export const LONG_STRING_SHIFT = 4;

/** A traversal of unknown length pays for this many steps in advance. */
export const WALK_STEPS = 8;

/** The cost of creating a string, even a short one. */
const STRING_FUEL = 4;

/** What one call of a script used of its limits. */
export interface LuaUsage {
  readonly fuel: number;
  readonly memoryBytes: number;
}

/**
 * Counts down the limits of one call. All work that grows with a script's data is charged here in advance: work beyond
 * the limit never starts. The fields are public because compiled code subtracts from them directly; code that makes one
 * negative calls the method that throws.
 */
export class Meter {
  fuel = 0;
  memoryBytes = 0;
  depth = 0;
  callDepth = 0;
  jsonDepth = 0;
  /** The line of the current statement or call, for errors without their own line. */
  line = 0;
  readonly script: string;
  #filled: LuaUsage = { fuel: 0, memoryBytes: 0 };

  constructor(script: string) {
    this.script = script;
  }

  refill(limits: LuaLimits): void {
    this.#filled = limits;
    this.fuel = limits.fuel;
    this.memoryBytes = limits.memoryBytes;
    this.callDepth = limits.callDepth;
    this.jsonDepth = limits.jsonDepth;
    this.depth = 0;
    this.line = 1;
  }

  /** What was used since the last refill. A refused charge counts up to the limit. */
  usage(): LuaUsage {
    const { fuel, memoryBytes } = this.#filled;
    return { fuel: fuel - Math.max(this.fuel, 0), memoryBytes: memoryBytes - Math.max(this.memoryBytes, 0) };
  }

  // Written so that even NaN does not pass.
  burn(units: number): void {
    this.fuel -= units;
    if (!(this.fuel >= 0)) this.outOfFuel();
  }

  /** Charges for small objects that are about to be created, including the time to collect them. */
  allocate(bytes: number): void {
    this.reserve(bytes);
    this.fuel -= bytes >>> ALLOCATION_SHIFT;
    if (!(this.fuel >= 0)) this.outOfFuel();
  }

  /** Charges only for memory: for single blocks, or memory that is freed at once. */
  reserve(bytes: number): void {
    this.memoryBytes -= bytes;
    if (!(this.memoryBytes >= 0)) throw this.#exceeded("memory", "allocated more memory than one call may use");
  }

  /** Charges for a string that is about to be created. */
  text(length: number): void {
    this.reserve(STRING_BYTES + length);
    this.burn(STRING_FUEL + (length >>> LONG_STRING_SHIFT));
  }

  /** Charges for a list of values that is about to be created or copied. */
  list(count: number): void {
    this.allocate(count * SLOT_BYTES);
    this.burn(count);
  }

  outOfFuel(): never {
    this.fuel = -1;
    throw this.#exceeded("fuel", "ran longer than one call may; look for a loop that does not end");
  }

  tooDeep(): never {
    throw this.#exceeded("depth", "stack overflow: calls nest too deeply; look for recursion that does not end");
  }

  valueTooLarge(limitBytes: number): never {
    throw this.#exceeded("memory", `a value has more than ${limitBytes} bytes as JSON`);
  }

  valueTooDeep(): never {
    throw this.#exceeded("depth", "a value nests too deeply to be converted");
  }

  #exceeded(limit: LuaLimitName, detail: string): LuaLimitError {
    return new LuaLimitError(this.script, this.line, limit, detail);
  }
}
