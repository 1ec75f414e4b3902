import { isJsonObject } from "../../runtime/index.ts";

/** Whether two JSON values say the same, whatever the order of their keys; a key without a value counts as absent. */
export function sameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((item, index) => sameJson(item, b[index]));
  }
  if (!isJsonObject(a) || !isJsonObject(b)) return false;
  let named = 0;
  for (const key in a) {
    if (a[key] === undefined) continue;
    named++;
    if (!sameJson(a[key], b[key])) return false;
  }
  for (const key in b) if (b[key] !== undefined) named--;
  return named === 0;
}
