import { isJsonObject, type Json, type JsonObject } from "../runtime/index.ts";

/** Objects are values: never change one in place; copy it. */
export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly [field: string]: Json | undefined;
}

/** The parts of metadata that this room reads; the rest is kept unchanged. */
export interface ObjectMeta extends JsonObject {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly deletionTimestamp?: string;
  readonly labels?: { readonly [key: string]: string };
  readonly annotations?: { readonly [key: string]: string };
}

/** Identifies one object of its kind. */
export interface ObjectName {
  /** Absent for cluster-scoped objects. */
  readonly namespace?: string;
  readonly name: string;
}

/** `namespace/name`, or `name` alone for a cluster-scoped object: the key of caches and queues. */
export function keyOf(name: ObjectName): string {
  return name.namespace ? `${name.namespace}/${name.name}` : name.name;
}

export function nameOfKey(key: string): ObjectName {
  const slash = key.indexOf("/");
  return slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

export function isKubeObject(value: unknown): value is KubeObject {
  return (
    isJsonObject(value) &&
    typeof value.apiVersion === "string" &&
    typeof value.kind === "string" &&
    isJsonObject(value.metadata) &&
    typeof value.metadata.name === "string"
  );
}

/** The object without `metadata.managedFields`, which is often half of its size and useless to a reader. */
export function withoutManagedFields<T extends KubeObject>(object: T): T {
  if (object.metadata.managedFields === undefined) return object;
  const { managedFields: _dropped, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/** Makes any change of the object, at any depth, throw. For tests and development, because it traverses the object. */
export function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const part of Object.values(value)) deepFreeze(part);
  }
  return value;
}
