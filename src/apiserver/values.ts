import { isJsonObject, type Json, type JsonObject } from "../runtime/index.ts";
import { badRequest } from "./status.ts";

/**
 * The value with everything that is equal in `old` taken from there: what did not change is then the very same object.
 * Changes `value`, which shares nothing with `old` before.
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
    const before = own(old, key);
    const shared = item === undefined ? undefined : sharing(item, before);
    if (shared !== item) value[key] = shared;
    if (shared === undefined || shared !== before) isSame = false;
  }
  return isSame ? old : value;
}

/** Deep equality; an undefined field is an absent one. */
export function equal(left: Json | undefined, right: Json | undefined): boolean {
  if (left === right) return true;
  if (Array.isArray(left)) {
    if (!Array.isArray(right) || left.length !== right.length) return false;
    return left.every((item, index) => equal(item, right[index]));
  }
  if (!isJsonObject(left) || !isJsonObject(right)) return false;
  for (const key of Object.keys(left)) if (!equal(left[key], own(right, key))) return false;
  for (const key of Object.keys(right)) if (right[key] !== undefined && own(left, key) === undefined) return false;
  return true;
}

/** The object's own field: `constructor` is data here, never a function of Object's. */
export function own(object: JsonObject, key: string): Json | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
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

export function valueAt(value: Json | undefined, ...path: string[]): Json | undefined {
  let found = value;
  for (const step of path) {
    if (!isJsonObject(found)) return undefined;
    found = own(found, step);
  }
  return found;
}

/** Sets a nested field, making the maps on the way. */
export function setAt(object: JsonObject, path: readonly string[], value: Json | undefined): void {
  let target = object;
  for (const step of path.slice(0, -1)) {
    const next = own(target, step);
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

/** Sets a field where the client left it out. */
export function setDefault(object: JsonObject, key: string, value: Json): void {
  if (own(object, key) === undefined || object[key] === null) object[key] = value;
}

/** `.spec.replicas` as steps; the simple paths that scale subresources and selectable fields use. */
export function simplePath(path: string): string[] {
  return path.split(".").filter((step) => step !== "");
}

/**
 * Reads a request's JSON. What could hurt later is refused here: nesting deeper than recursion stands, and keys that
 * would reach an object's prototype when copied.
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

/** RFC 3339 in whole seconds, as metadata has it. */
export function timestamp(nowMs: number): string {
  return `${new Date(nowMs).toISOString().slice(0, 19)}Z`;
}
