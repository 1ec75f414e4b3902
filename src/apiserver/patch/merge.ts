import { isJsonObject, type Json, type JsonObject, ownField } from "../../runtime/index.ts";

/** RFC 7386. */
export function mergePatch(original: Json | undefined, patch: JsonObject): JsonObject {
  const merged: JsonObject = isJsonObject(original) ? { ...original } : {};
  for (const key of Object.keys(patch)) {
    const value = patch[key];
    if (value === null || value === undefined) delete merged[key];
    else merged[key] = isJsonObject(value) ? mergePatch(ownField(merged, key), value) : value;
  }
  return merged;
}
