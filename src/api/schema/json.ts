import { type Json, type JsonObject, LIMITS } from "../../runtime/index.ts";

/** Sets an own field, also one named `__proto__`. */
export function setField(object: JsonObject, key: string, value: Json): void {
  if (key === "__proto__") {
    Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
  } else {
    object[key] = value;
  }
}

/** The names of the present fields; a field set to undefined is absent. */
export function fieldNames(object: JsonObject): string[] {
  return Object.keys(object).filter((key) => object[key] !== undefined);
}

/** Whether recursion over the value is safe: its nesting is within a limit, which this check also respects. */
export function isTooDeep(value: Json, depthLeft: number = LIMITS.jsonDepth): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (depthLeft < 0) return true;
  if (Array.isArray(value)) return value.some((item) => isTooDeep(item, depthLeft - 1));
  for (const key of Object.keys(value)) {
    const child = value[key];
    if (typeof child === "object" && child !== null && isTooDeep(child, depthLeft - 1)) return true;
  }
  return false;
}
