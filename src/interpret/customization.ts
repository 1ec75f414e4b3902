/** One ResourceInterpreterCustomization: parsed, its scripts compiled. */
import { createHash } from "node:crypto";
import { isJsonObject, type JsonObject } from "../runtime/index.ts";
import { describe, kindKey, valueAt } from "./fields.ts";
import { LuaLimitError, LuaRuntimeError, LuaScript, LuaSyntaxError } from "./lua/index.ts";
import { LUA_OPERATIONS, type LuaOperation } from "./lua-operations.ts";
import { OPERATIONS } from "./operations.ts";
import type { Problem } from "./problem.ts";

export const CUSTOMIZATION_API_VERSION = "config.karmada.io/v1alpha1";
export const CUSTOMIZATION_KIND = "ResourceInterpreterCustomization";

/** A Lua script of a sane customization has a few hundred lines; etcd bounds an object at 1.5 MiB. */
const MAX_SCRIPT_CHARACTERS = 512 * 1024;

export interface CompiledScript {
  /** The customization's name. */
  source: string;
  /** Changes exactly when the script's text does. */
  version: string;
  script: LuaScript;
}

/** A script that does not compile still claims its operation: to answer from another layer instead would be a guess. */
export type CustomizationScript = CompiledScript | { source: string; version: string; broken: string; line?: number };

export interface Customization {
  name: string;
  /** `apiVersion/kind` of the objects it reads. */
  target: string;
  scripts: ReadonlyMap<LuaOperation, CustomizationScript>;
}

export interface ParsedCustomization {
  /** Undefined when not even the target can be read. */
  customization: Customization | undefined;
  problems: Problem[];
}

const BY_KEY: ReadonlyMap<string, LuaOperation> = new Map(
  OPERATIONS.flatMap((operation) =>
    operation === "Prune" ? [] : [[LUA_OPERATIONS[operation].key, operation] as const],
  ),
);

export function parseCustomization(object: JsonObject): ParsedCustomization {
  const problems: Problem[] = [];
  const error = (field: string, reason: string, line?: number) =>
    problems.push({ severity: "error", field, reason, ...(line !== undefined && { line }) });

  const name = valueAt(object, "metadata", "name");
  if (typeof name !== "string" || name === "") error("metadata.name", "is required");
  const apiVersion = requiredText(object, ["spec", "target", "apiVersion"], "such as apps.kruise.io/v1beta1", error);
  const kind = requiredText(object, ["spec", "target", "kind"], "such as StatefulSet", error);
  const rules = valueAt(object, "spec", "customizations");
  if (!isJsonObject(rules)) error("spec.customizations", `must be an object, found ${describe(rules)}`);
  if (apiVersion === undefined || kind === undefined || !isJsonObject(rules))
    return { customization: undefined, problems };

  const source = typeof name === "string" ? name : "(no name)";
  const scripts = new Map<LuaOperation, CustomizationScript>();
  for (const [key, rule] of Object.entries(rules)) {
    const operation = BY_KEY.get(key);
    const field = `spec.customizations.${key}`;
    if (operation === undefined) {
      const reason = `is not known and not used; known are ${[...BY_KEY.keys()].join(", ")}`;
      problems.push({ severity: "warning", field, reason });
      continue;
    }
    if (rule === undefined || rule === null) continue;
    const text = isJsonObject(rule) ? rule.luaScript : undefined;
    if (typeof text !== "string") {
      error(`${field}.luaScript`, `must be the text of a Lua script, found ${describe(text)}`);
      continue;
    }
    if (text === "") continue;
    const compiled = compileScript(text, operation, source);
    scripts.set(operation, compiled);
    if ("broken" in compiled) error(`${field}.luaScript`, compiled.broken, compiled.line);
  }
  return { customization: { name: source, target: kindKey(apiVersion, kind), scripts }, problems };
}

function requiredText(
  object: JsonObject,
  path: string[],
  example: string,
  error: (field: string, reason: string) => void,
): string | undefined {
  const value = valueAt(object, ...path);
  if (typeof value === "string" && value !== "") return value;
  error(path.join("."), `must be a text ${example}, found ${describe(value)}`);
  return undefined;
}

/** Compiles, and runs the script once to see that it defines its function. */
export function compileScript(text: string, operation: LuaOperation, source: string): CustomizationScript {
  const { key, functionName, signature } = LUA_OPERATIONS[operation];
  const version = createHash("sha256").update(text).digest("base64url");
  const broken = (reason: string, line?: number): CustomizationScript => ({
    source,
    version,
    broken: reason,
    ...(line !== undefined && { line }),
  });
  if (text.length > MAX_SCRIPT_CHARACTERS) return broken(`is longer than ${MAX_SCRIPT_CHARACTERS} characters`);
  try {
    const script = LuaScript.compile(text, { name: `${source}: ${key}` });
    if (!isDefined(script, functionName)) return broken(`does not define ${functionName}; write ${signature}`);
    return { source, version, script };
  } catch (error) {
    if (error instanceof LuaSyntaxError || error instanceof LuaRuntimeError) return broken(error.reason, error.line);
    if (error instanceof LuaLimitError) return broken(error.message, error.line);
    throw error;
  }
}

/** No script can define a global of this name, so that calling it runs the script's own lines and nothing else. */
const NOTHING = "\0";

/** Throws what the script's own lines throw. The engine's check runs them without a clock, which they may ask. */
function isDefined(script: LuaScript, functionName: string): boolean {
  if (script.has(functionName)) return true;
  const loading = failureOfCalling(script, NOTHING);
  if (loading !== undefined && !isNotFound(loading, NOTHING)) throw loading;
  const calling = failureOfCalling(script, functionName);
  return calling === undefined || !isNotFound(calling, functionName);
}

function failureOfCalling(script: LuaScript, functionName: string): LuaRuntimeError | undefined {
  try {
    script.call(functionName, [], { clock: { now: () => 0 } });
    return undefined;
  } catch (error) {
    if (error instanceof LuaRuntimeError) return error;
    throw error;
  }
}

function isNotFound({ reason }: LuaRuntimeError, functionName: string): boolean {
  return reason === `not found function ${functionName}` || reason.startsWith(`${functionName} is not a function`);
}
