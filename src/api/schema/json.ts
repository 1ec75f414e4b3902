import { isJsonObject, type Json, type JsonObject, LIMITS } from "../../runtime/index.ts";

/** The value of an own field; inherited ones (`__proto__`, `constructor`) do not exist. */
export function ownField(object: JsonObject, key: string): Json | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** Sets an own field, also one named `__proto__`. */
export function setField(object: JsonObject, key: string, value: Json): void {
  if (key === "__proto__") {
    Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
  } else {
    object[key] = value;
  }
}

/** The names of the fields that are there; a field set to undefined is not. */
export function fieldNames(object: JsonObject): string[] {
  return Object.keys(object).filter((key) => object[key] !== undefined);
}

export function jsonEqual(left: Json | undefined, right: Json | undefined): boolean {
  if (left === right) return true;
  if (Array.isArray(left)) {
    return (
      Array.isArray(right) && left.length === right.length && left.every((item, index) => jsonEqual(item, right[index]))
    );
  }
  if (!isJsonObject(left) || !isJsonObject(right)) return false;
  let count = 0;
  for (const name of Object.keys(left)) {
    if (left[name] === undefined) continue;
    if (!jsonEqual(left[name], ownField(right, name))) return false;
    count++;
  }
  for (const name of Object.keys(right)) if (right[name] !== undefined) count--;
  return count === 0;
}

/** JSON with sorted keys: two values have the same text exactly if they are equal. */
export function canonicalText(value: Json | undefined): string {
  if (Array.isArray(value)) return `[${value.map(canonicalText).join(",")}]`;
  if (isJsonObject(value)) {
    const fields = fieldNames(value)
      .sort()
      .map((name) => `${JSON.stringify(name)}:${canonicalText(ownField(value, name))}`);
    return `{${fields.join(",")}}`;
  }
  return JSON.stringify(value ?? null);
}

/** Whether recursion over the value is safe: it nests no deeper than a limit that this very check respects. */
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
