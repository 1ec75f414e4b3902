/**
 * The Lua engine: Karmada's customization scripts with gopher-lua's 5.1 semantics and Karmada's restrictions. A script
 * is compiled once and called with JSON. Every call starts from a clean global state and is limited in work, memory and
 * depth. Imports only src/runtime.
 */
export type { LuaLimitName } from "./errors.ts";
export { LuaLimitError, LuaRuntimeError, LuaSyntaxError } from "./errors.ts";
export { LOADING_LUA_LIMITS, type LuaLimits, MAX_SCRIPT_CHARACTERS } from "./limits.ts";
export type { LuaUsage } from "./meter.ts";
export { LuaScript } from "./script.ts";
