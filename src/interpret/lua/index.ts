/**
 * The Lua engine: Karmada's customization scripts with gopher-lua's 5.1 semantics and Karmada's restrictions. A script
 * is compiled once and called with JSON; every call starts from a clean global state and is bounded in work, memory and
 * depth. Imports only src/runtime.
 */
export type { LuaLimitName } from "./errors.ts";
export { LuaLimitError, LuaRuntimeError, LuaSyntaxError } from "./errors.ts";
export type { LuaLimits } from "./limits.ts";
export { LuaScript } from "./script.ts";
