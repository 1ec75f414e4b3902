import { isJsonObject, type Json, type JsonObject, ownField, valueAt } from "../../runtime/index.ts";
import { badRequest } from "../request/status.ts";

/**
 * The value with everything that is equal in `old` taken from there: unchanged parts are then identical objects.
 * Changes `value`, which must share nothing with `old` before.
 */
export function sharing(value: Json, old: Json | undefined): Json {
  if (typeof value !== "object" || value === null || typeof old !== "object" || old === null) return value;
  if (Array.isArray(value)) {
    if (!Array.isArray(old)) return value;
    let isSame = value.length === old.length;
    value.forEach((item, index) => {
      const shared = sharing(item, old[index]);
      value[index] = shared;
      if (shared !== old[index]) isSame = false;
    });
    return isSame ? old : value;
  }
  if (!isJsonObject(value) || !isJsonObject(old)) return value;
  const keys = Object.keys(value);
  let isSame = keys.length === Object.keys(old).length;
  for (const key of keys) {
    const item = value[key];
    const before = ownField(old, key);
    const shared = item === undefined ? undefined : sharing(item, before);
    if (shared !== item) value[key] = shared;
    if (shared === undefined || shared !== before) isSame = false;
  }
  return isSame ? old : value;
}

export function objectAt(value: Json | undefined, ...path: string[]): JsonObject | undefined {
  const found = valueAt(value, ...path);
  return isJsonObject(found) ? found : undefined;
}

export function listAt(value: Json | undefined, ...path: string[]): Json[] {
  const found = valueAt(value, ...path);
  return Array.isArray(found) ? found : [];
}

export function textAt(value: Json | undefined, ...path: string[]): string | undefined {
  const found = valueAt(value, ...path);
  return typeof found === "string" ? found : undefined;
}

/** Sets a nested field, creating the maps on the path. */
export function setAt(object: JsonObject, path: readonly string[], value: Json | undefined): void {
  let target = object;
  for (const step of path.slice(0, -1)) {
    const next = ownField(target, step);
    if (isJsonObject(next)) target = next;
    else {
      const made: JsonObject = {};
      target[step] = made;
      target = made;
    }
  }
  const last = path.at(-1);
  if (last === undefined) return;
  if (value === undefined) delete target[last];
  else target[last] = value;
}

/** Sets a field if the client left it out. */
export function setDefault(object: JsonObject, key: string, value: Json): void {
  if (ownField(object, key) === undefined || object[key] === null) object[key] = value;
}

/** `.spec.replicas` as steps: the simple paths of scale subresources and selectable fields. */
export function simplePath(path: string): string[] {
  return path.split(".").filter((step) => step !== "");
}

/**
 * Parses a request's JSON. Dangerous input is refused here: nesting too deep for recursion, and keys that would reach
 * an object's prototype when copied.
 */
export function parseJson(text: string, depthLimit: number): Json {
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch (error) {
    const why = error instanceof SyntaxError ? error.message : "malformed";
    throw badRequest(`error decoding the request body: invalid JSON: ${why}`);
  }
  guard(value, depthLimit);
  return value;
}

export function guard(value: Json | undefined, depthLeft: number): void {
  if (typeof value !== "object" || value === null) return;
  if (depthLeft <= 0) throw badRequest("error decoding the request body: exceeded max depth");
  if (Array.isArray(value)) {
    for (const item of value) guard(item, depthLeft - 1);
    return;
  }
  for (const key in value) {
    if (key === "__proto__") throw badRequest('error decoding the request body: the key "__proto__" is not allowed');
    guard(value[key], depthLeft - 1);
  }
}
