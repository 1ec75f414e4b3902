import { LIMITS } from "../../runtime/index.ts";

/** What one call of a script may use. Every call starts with the full amounts. */
export interface LuaLimits {
  /** Units of work: about one per evaluated operation, and per byte or element that a library function handles. */
  fuel: number;
  /** Bytes allocated in total during the call (strings, tables, closures), whether or not they are still in use. */
  memoryBytes: number;
  /** Lua and library calls nested in one another. */
  callDepth: number;
  /** Tables nested in one another in a value that crosses into or out of the script. */
  jsonDepth: number;
}

export const DEFAULT_LUA_LIMITS: LuaLimits = {
  // Karmada stops a script after 1 s of wall time. This much work takes well under a second here, is the same on every
  // machine, and is some ten thousand times what an ordinary interpretation needs.
  fuel: 10_000_000,
  // A large object is 1.5 MiB (etcd's limit); a script may copy it dozens of times, but cannot hurt the process.
  memoryBytes: 64 * 1024 * 1024,
  // gopher-lua's call stack, so that recursion ends where it ends in Karmada.
  callDepth: 256,
  jsonDepth: LIMITS.jsonDepth,
};
