/** What JSON.parse can return. Everything from outside is this until it has been parsed into something better. */
export type Json = null | boolean | number | string | Json[] | JsonObject;
export interface JsonObject {
  [key: string]: Json | undefined;
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A deep copy of what JSON can hold. */
export function clone<T extends Json | undefined>(value: T): T;
export function clone(value: Json | undefined): Json | undefined {
  if (Array.isArray(value)) return value.map((item) => clone(item));
  if (!isJsonObject(value)) return value;
  const copy: JsonObject = {};
  for (const key of Object.keys(value)) {
    // A field of that name is data like any other; written plainly it would become the copy's prototype.
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
