import { isJsonObject, ownField } from "./json.ts";

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
    // Inherited values are no data: `__proto__` would answer for a key that is not there.
    if (!Object.hasOwn(b, key) || !sameJson(a[key], b[key])) return false;
  }
  for (const key in b) if (b[key] !== undefined) named--;
  return named === 0;
}

/** Whether everything that `stated` states is in `full`, too; what a server fills in does not count. Lists are whole. */
export function includesJson(full: unknown, stated: unknown): boolean {
  if (Array.isArray(stated)) {
    return (
      Array.isArray(full) && full.length === stated.length && stated.every((item, at) => includesJson(full[at], item))
    );
  }
  if (!isJsonObject(stated)) return full === stated;
  return isJsonObject(full) && Object.entries(stated).every(([key, value]) => includesJson(ownField(full, key), value));
}
