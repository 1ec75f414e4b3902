import { isJsonObject, type Json, type JsonObject, valueAt } from "../runtime/index.ts";

export function objectAt(object: JsonObject, ...path: readonly string[]): JsonObject | undefined {
  const value = valueAt(object, ...path);
  return isJsonObject(value) ? value : undefined;
}

export function stringAt(object: JsonObject, ...path: readonly string[]): string | undefined {
  const value = valueAt(object, ...path);
  return typeof value === "string" ? value : undefined;
}

/** The object below `path`, created if it is missing. Only for objects that this room owns. */
export function ensureObject(object: JsonObject, ...path: readonly string[]): JsonObject {
  let current = object;
  for (const key of path) {
    const next = Object.hasOwn(current, key) ? current[key] : undefined;
    if (isJsonObject(next)) {
      current = next;
    } else {
      const made: JsonObject = {};
      current[key] = made;
      current = made;
    }
  }
  return current;
}

/** The string entries of a map such as `metadata.labels`. */
export function stringMapAt(object: JsonObject, ...path: readonly string[]): Record<string, string> {
  const entries = Object.entries(objectAt(object, ...path) ?? {});
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === "string"));
}

/**
 * A canonical text: keys sorted, and values that Kubernetes reads as "not set" (null, undefined) left out. Lists keep
 * their order and their nulls, because positions have a meaning there.
 */
export function meaningText(value: Json | undefined): string {
  return JSON.stringify(sorted(value ?? null));
}

export function sameMeaning(a: Json | undefined, b: Json | undefined): boolean {
  return meaningText(a) === meaningText(b);
}

function sorted(value: Json): Json {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isJsonObject(value)) return value;
  const result: JsonObject = Object.create(null);
  for (const key of Object.keys(value).sort()) {
    const entry = value[key];
    if (entry !== undefined && entry !== null) result[key] = sorted(entry);
  }
  return result;
}

/** `namespace/name`, or the name alone for cluster-scoped objects. */
export function nameOf(object: JsonObject): string {
  const namespace = stringAt(object, "metadata", "namespace");
  const name = stringAt(object, "metadata", "name") ?? "";
  return namespace ? `${namespace}/${name}` : name;
}

export function kindAndName(object: JsonObject): string {
  return `${stringAt(object, "kind") ?? "object"} ${nameOf(object)}`;
}

/** The same value with every object's keys in order: equal values then have equal texts. */
export function sortKeys(value: Json): Json {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (!isJsonObject(value)) return value;
  const result: JsonObject = {};
  for (const key of Object.keys(value).sort()) {
    const entry = value[key];
    if (entry !== undefined) result[key] = sortKeys(entry);
  }
  return result;
}
