import { LIMITS } from "../../runtime/index.ts";

/** The limits of one call of a script. Every call starts with the full amounts. */
export interface LuaLimits {
  /** Units of work: about one per evaluated operation, and per byte or element that a library function handles. */
  readonly fuel: number;
  /** Bytes allocated in total during the call (strings, tables, closures), whether or not they are still in use. */
  readonly memoryBytes: number;
  /** Lua and library calls nested in one another. */
  readonly callDepth: number;
  /** Nested tables in a value that is passed into or out of the script. */
  readonly jsonDepth: number;
}

/** Tenants write scripts too, and the controller's event loop waits for each call. */
export const DEFAULT_LUA_LIMITS: LuaLimits = {
  // Costs are set so that a unit takes at most about 10 ns once V8 has compiled the engine: this is about 15 ms, and
  // less than 50 ms even for the first script of a process. An ordinary interpretation takes 1,000 to 5,000 units.
  fuel: 1_500_000,
  // A large object is 1.5 MiB (etcd's limit); a script may copy it a few times, but cannot harm the process.
  memoryBytes: 16 * 1024 * 1024,
  // gopher-lua's call stack, so that recursion ends where it ends in Karmada.
  callDepth: 256,
  jsonDepth: LIMITS.jsonDepth,
};

/** The text of a result: no API server accepts a larger object, and a result is written and compared as text. */
export const MAX_RESULT_BYTES = LIMITS.requestBodyBytes;

/** A script's own lines run right after compiling, in the same turn, to see what it defines. */
export const LOADING_LUA_LIMITS: Partial<LuaLimits> = {
  fuel: DEFAULT_LUA_LIMITS.fuel / 10,
  memoryBytes: DEFAULT_LUA_LIMITS.memoryBytes / 4,
};

/** With comments. Users' scripts have a few kilobytes. */
export const MAX_SCRIPT_CHARACTERS = 64 * 1024;

/** One for each token and more if names are searched: about 20 ms, and 2 MB for as long as the script is cached. */
export const MAX_COMPILE_STEPS = 8_000;
