import type { KubeObject } from "../apiserver/index.ts";
import { isJsonObject, type Json, type JsonObject, timestamp, valueAt } from "../runtime/index.ts";

export function textAt(value: Json | undefined, ...path: readonly string[]): string {
  const found = valueAt(value, ...path);
  return typeof found === "string" ? found : "";
}

export function numberAt(value: Json | undefined, ...path: readonly string[]): number | undefined {
  const found = valueAt(value, ...path);
  return typeof found === "number" ? found : undefined;
}

export function objectAt(value: Json | undefined, ...path: readonly string[]): JsonObject {
  const found = valueAt(value, ...path);
  return isJsonObject(found) ? found : {};
}

export function objectsAt(value: Json | undefined, ...path: readonly string[]): JsonObject[] {
  const found = valueAt(value, ...path);
  return Array.isArray(found) ? found.filter(isJsonObject) : [];
}

export function textsAt(value: Json | undefined, ...path: readonly string[]): string[] {
  const found = valueAt(value, ...path);
  return Array.isArray(found) ? found.filter((each) => typeof each === "string") : [];
}

export function keyOf(namespace: string, name: string): string {
  return namespace === "" ? name : `${namespace}/${name}`;
}

export function splitKey(key: string): { namespace: string; name: string } {
  const slash = key.indexOf("/");
  return slash < 0 ? { namespace: "", name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

export function isDeleting(object: KubeObject): boolean {
  return object.metadata.deletionTimestamp !== undefined;
}

/** The conditions with one of them set. Its time changes only with its status, as in Kubernetes' helpers. */
export function withCondition(
  conditions: readonly JsonObject[],
  condition: { type: string; status: string; reason?: string; message?: string; lastUpdateTime?: string },
  nowMs: number,
): JsonObject[] {
  const previous = conditions.find(({ type }) => type === condition.type);
  const lastTransitionTime = previous?.status === condition.status ? previous.lastTransitionTime : timestamp(nowMs);
  const next: JsonObject = { ...condition, lastTransitionTime: lastTransitionTime ?? timestamp(nowMs) };
  return previous ? conditions.map((each) => (each === previous ? next : each)) : [...conditions, next];
}

export function conditionOf(object: KubeObject, type: string): JsonObject | undefined {
  return objectsAt(object, "status", "conditions").find((condition) => condition.type === type);
}
