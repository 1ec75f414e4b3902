/** What JSON.parse can return. Everything from outside has this type until it is parsed into a more specific one. */
export type Json = null | boolean | number | string | Json[] | JsonObject;
export interface JsonObject {
  [key: string]: Json | undefined;
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The object's own field: `constructor` is data here, never a function of Object. */
export function ownField(object: JsonObject, key: string): Json | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** The value at a path of fields; undefined if the path ends early. */
export function valueAt(value: Json | undefined, ...path: readonly string[]): Json | undefined {
  let found = value;
  for (const field of path) {
    if (!isJsonObject(found)) return undefined;
    found = ownField(found, field);
  }
  return found;
}

/** JSON with sorted keys: two values have the same text if and only if they are equal. */
export function canonicalText(value: Json | undefined): string {
  if (Array.isArray(value)) return `[${value.map(canonicalText).join(",")}]`;
  if (!isJsonObject(value)) return JSON.stringify(value ?? null);
  const fields = Object.keys(value)
    .filter((key) => value[key] !== undefined)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalText(ownField(value, key))}`);
  return `{${fields.join(",")}}`;
}

/** A deep copy of a JSON value. */
export function clone<T extends Json | undefined>(value: T): T;
export function clone(value: Json | undefined): Json | undefined {
  if (Array.isArray(value)) return value.map((item) => clone(item));
  if (!isJsonObject(value)) return value;
  const copy: JsonObject = {};
  for (const key of Object.keys(value)) {
    // A field of this name is ordinary data; a plain assignment would set the copy's prototype.
    if (key === "__proto__") {
      Object.defineProperty(copy, key, {
        value: clone(value[key]),
        enumerable: true,
        configurable: true,
        writable: true,
      });
    } else copy[key] = clone(value[key]);
  }
  return copy;
}
