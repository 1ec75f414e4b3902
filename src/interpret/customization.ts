/** One ResourceInterpreterCustomization: parsed, its scripts compiled. */
import { createHash } from "node:crypto";
import { isJsonObject, type JsonObject } from "../runtime/index.ts";
import { describe, kindKey, presentAt } from "./fields.ts";
import {
  LOADING_LUA_LIMITS,
  LuaLimitError,
  LuaRuntimeError,
  LuaScript,
  LuaSyntaxError,
  MAX_SCRIPT_CHARACTERS,
} from "./lua/index.ts";
import { LUA_OPERATIONS, type LuaOperation } from "./lua-operations.ts";
import { OPERATIONS } from "./operations.ts";
import type { Problem } from "./problem.ts";

export const CUSTOMIZATION_API_VERSION = "config.karmada.io/v1alpha1";
export const CUSTOMIZATION_KIND = "ResourceInterpreterCustomization";

export interface CompiledScript {
  /** The customization's name. */
  readonly source: string;
  /** Changes if and only if the script's text changes. */
  readonly version: string;
  readonly script: LuaScript;
}

/** A script that does not compile still claims its operation: an answer from another layer would be a guess. */
export type CustomizationScript = CompiledScript | { source: string; version: string; broken: string; line?: number };

export interface Customization {
  readonly name: string;
  /** `apiVersion/kind` of the objects it reads. */
  readonly target: string;
  readonly scripts: ReadonlyMap<LuaOperation, CustomizationScript>;
}

export interface ParsedCustomization {
  /** Undefined if not even the target can be read. */
  readonly customization: Customization | undefined;
  readonly problems: Problem[];
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

  const name = presentAt(object, "metadata", "name");
  if (typeof name !== "string" || name === "") error("metadata.name", "is required");
  const apiVersion = requiredText(object, ["spec", "target", "apiVersion"], "such as apps.kruise.io/v1beta1", error);
  const kind = requiredText(object, ["spec", "target", "kind"], "such as StatefulSet", error);
  const rules = presentAt(object, "spec", "customizations");
  if (!isJsonObject(rules)) error("spec.customizations", `must be an object, found ${describe(rules)}`);
  if (apiVersion === undefined || kind === undefined || !isJsonObject(rules))
    return { customization: undefined, problems };

  const source = typeof name === "string" ? name : "(no name)";
  const scripts = new Map<LuaOperation, CustomizationScript>();
  for (const [key, rule] of Object.entries(rules)) {
    const operation = BY_KEY.get(key);
    const field = `spec.customizations.${key}`;
    if (operation === undefined) {
      const reason = `is unknown and not used; known are ${[...BY_KEY.keys()].join(", ")}`;
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
  const value = presentAt(object, ...path);
  if (typeof value === "string" && value !== "") return value;
  error(path.join("."), `must be a text ${example}, found ${describe(value)}`);
  return undefined;
}

/** Compiles, and runs the script once to check that it defines its function. */
export function compileScript(text: string, operation: LuaOperation, source: string): CustomizationScript {
  const { key, functionName, signature } = LUA_OPERATIONS[operation];
  // A script that is far too long is not even read.
  const isTooLong = text.length > MAX_SCRIPT_CHARACTERS;
  const version = createHash("sha256")
    .update(isTooLong ? String(text.length) : text)
    .digest("base64url");
  const broken = (reason: string, line?: number): CustomizationScript => ({
    source,
    version,
    broken: reason,
    ...(line !== undefined && { line }),
  });
  if (isTooLong) return broken(`is longer than ${MAX_SCRIPT_CHARACTERS} characters; make it shorter`);
  try {
    const script = LuaScript.compile(text, { name: `${source}: ${key}` });
    // Its own lines may read the time.
    const isDefined = script.has(functionName, { limits: LOADING_LUA_LIMITS, clock: { now: () => 0 } });
    return isDefined ? { source, version, script } : broken(`does not define ${functionName}; write ${signature}`);
  } catch (error) {
    if (error instanceof LuaSyntaxError || error instanceof LuaRuntimeError) return broken(error.reason, error.line);
    if (error instanceof LuaLimitError) return broken(error.message, error.line);
    throw error;
  }
}
