import { isJsonObject, type Json, type JsonObject, valueAt } from "../runtime/index.ts";

/** Thrown when a field of an object from outside does not have the type of its kind. */
export class BadObject extends Error {
  override readonly name = "BadObject";
}

export function wrongType(path: string, expected: string, found: Json | undefined): BadObject {
  return new BadObject(`${path} must be ${expected}, found ${describe(found)}`);
}

export function describe(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "an object";
  if (typeof value === "string") return `the text ${JSON.stringify(value.slice(0, 40))}`;
  return `the ${typeof value} ${String(value)}`;
}

export interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** apiVersion without a slash is the core group. */
export function gvkOf(object: JsonObject): GroupVersionKind {
  const apiVersion = typeof object.apiVersion === "string" ? object.apiVersion : "";
  const slash = apiVersion.indexOf("/");
  return {
    group: slash < 0 ? "" : apiVersion.slice(0, slash),
    version: apiVersion.slice(slash + 1),
    kind: typeof object.kind === "string" ? object.kind : "",
  };
}

export function kindKey(apiVersion: string, kind: string): string {
  return `${apiVersion}/${kind}`;
}

/** For messages: `StatefulSet default/web`. */
export function describeObject(object: JsonObject): string {
  const metadata = isJsonObject(object.metadata) ? object.metadata : {};
  const name = typeof metadata.name === "string" ? metadata.name : "(no name)";
  const namespace = typeof metadata.namespace === "string" ? `${metadata.namespace}/` : "";
  return `${typeof object.kind === "string" ? object.kind : "object"} ${namespace}${name}`;
}

/** The value at the path, or undefined. Null counts as absent, as in Kubernetes. */
export function presentAt(object: JsonObject, ...path: string[]): Json | undefined {
  return valueAt(object, ...path) ?? undefined;
}

export function textAt(object: JsonObject, ...path: string[]): string | undefined {
  const value = presentAt(object, ...path);
  if (value === undefined || typeof value === "string") return value;
  throw wrongType(path.join("."), "a text", value);
}

export function integerAt(object: JsonObject, ...path: string[]): number | undefined {
  const value = presentAt(object, ...path);
  if (value === undefined) return undefined;
  if (typeof value === "number" && Number.isSafeInteger(value)) return value;
  throw wrongType(path.join("."), "a whole number", value);
}

export function booleanAt(object: JsonObject, ...path: string[]): boolean | undefined {
  const value = presentAt(object, ...path);
  if (value === undefined || typeof value === "boolean") return value;
  throw wrongType(path.join("."), "true or false", value);
}

export function objectAt(object: JsonObject, ...path: string[]): JsonObject | undefined {
  const value = presentAt(object, ...path);
  if (value === undefined || isJsonObject(value)) return value;
  throw wrongType(path.join("."), "an object", value);
}

export function textMapAt(object: JsonObject, ...path: string[]): Record<string, string> | undefined {
  const map = objectAt(object, ...path);
  if (map === undefined) return undefined;
  const texts: Record<string, string> = {};
  for (const [key, value] of Object.entries(map)) {
    if (typeof value !== "string") throw wrongType([...path, key].join("."), "a text", value);
    define(texts, key, value);
  }
  return texts;
}

/** The objects of a list; any other list is an error, an absent one is empty. */
export function objectsAt(object: JsonObject, ...path: string[]): JsonObject[] {
  const value = presentAt(object, ...path);
  if (value === undefined) return [];
  if (!Array.isArray(value)) throw wrongType(path.join("."), "a list", value);
  return value.map((item, index) => {
    if (isJsonObject(item)) return item;
    throw wrongType(`${path.join(".")}[${index}]`, "an object", item);
  });
}

/** A copy with the value at the path; only objects on the path are copied. Missing objects on the path are created. */
export function withValue(object: JsonObject, path: readonly string[], value: Json): JsonObject {
  const [key, ...rest] = path;
  if (key === undefined) return object;
  const child = Object.hasOwn(object, key) ? object[key] : undefined;
  if (rest.length > 0 && child !== undefined && child !== null && !isJsonObject(child)) {
    throw wrongType(key, "an object", child);
  }
  const copy: JsonObject = { ...object };
  define(copy, key, rest.length === 0 ? value : withValue(isJsonObject(child) ? child : {}, rest, value));
  return copy;
}

/** A copy without the value at the path; the same object if it was absent. */
export function withoutValue(object: JsonObject, path: readonly string[]): JsonObject {
  const [key, ...rest] = path;
  if (key === undefined || !Object.hasOwn(object, key)) return object;
  if (rest.length === 0) {
    const { [key]: _removed, ...others } = object;
    return others;
  }
  const child = object[key];
  if (!isJsonObject(child)) return object;
  const changed = withoutValue(child, rest);
  return changed === child ? object : withValue(object, [key], changed);
}

/** Sets an own property with any name: plain assignment to `__proto__` would not. */
function define<T>(target: { [key: string]: T }, key: string, value: T): void {
  Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
}
