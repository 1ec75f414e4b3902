import type { KubeObject } from "../apiserver/index.ts";
import { isJsonObject, type Json, type JsonObject } from "../runtime/index.ts";

/** The value at a path of fields, or undefined where the path ends early. */
export function valueAt(value: Json | undefined, ...path: readonly string[]): Json | undefined {
  let found = value;
  for (const field of path) {
    if (!isJsonObject(found) || !Object.hasOwn(found, field)) return undefined;
    found = found[field];
  }
  return found;
}

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

/** Everything the one states, the other states too; what an API server fills in does not count. */
export function covers(full: Json | undefined, stated: Json | undefined): boolean {
  if (Array.isArray(stated)) {
    return Array.isArray(full) && full.length === stated.length && stated.every((item, at) => covers(full[at], item));
  }
  if (isJsonObject(stated)) {
    return isJsonObject(full) && Object.entries(stated).every(([key, value]) => covers(full[key], value));
  }
  return full === stated;
}

/** The same content, whatever the order of fields. */
export function equal(left: Json | undefined, right: Json | undefined): boolean {
  return covers(left, right) && covers(right, left);
}

/** As Kubernetes writes times: whole seconds, UTC. */
export function timestamp(nowMs: number): string {
  return `${new Date(nowMs).toISOString().slice(0, 19)}Z`;
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

/** The conditions with one of them set. Its time moves only when its status does, as Kubernetes' helpers do. */
export function withCondition(
  conditions: readonly JsonObject[],
  condition: { type: string; status: string; reason?: string; message?: string },
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
