import { clone, sameJson, timestamp } from "../../runtime/index.ts";
import type { Core } from "../core.ts";
import { badRequest, conflict, notFound } from "../request/status.ts";
import type { KubeObject, ObjectKey, ResourceDefinition } from "../types.ts";
import type { StoredObject } from "./store.ts";
import { listAt, objectAt } from "./values.ts";

export const ORPHAN = "orphan";
export const FOREGROUND = "foregroundDeletion";

export type PropagationPolicy = "Background" | "Foreground" | "Orphan";

export interface DeleteOptions {
  readonly dryRun?: boolean;
  readonly gracePeriodSeconds?: number | undefined;
  readonly propagationPolicy?: PropagationPolicy | undefined;
  readonly preconditions?: { readonly uid?: string | undefined; readonly resourceVersion?: string | undefined };
}

export interface Deleted {
  /** Whether the object is gone, or only marked. */
  readonly removed: boolean;
  readonly stored: StoredObject;
}

/** Whether nothing keeps a marked object any longer. */
export function isRemovable(definition: ResourceDefinition, object: KubeObject): boolean {
  const { metadata } = object;
  if (metadata.deletionTimestamp === undefined) return false;
  if ((metadata.finalizers?.length ?? 0) > 0 || (metadata.deletionGracePeriodSeconds ?? 0) > 0) return false;
  return definition.resource !== "/namespaces" || listAt(object, "spec", "finalizers").length === 0;
}

/** Removes an object, or marks it if finalizers or a grace period keep it. */
export function deleteObject(
  core: Core,
  definition: ResourceDefinition,
  key: ObjectKey,
  options: DeleteOptions,
): Deleted {
  const stored = core.store.get(key);
  if (!stored) throw notFound(definition, key.name);
  checkPreconditions(definition, stored.object, options);
  const { metadata } = stored.object;
  const finalizers = finalizersFor(metadata.finalizers ?? [], options.propagationPolicy);
  const graceSeconds = graceFor(definition, stored.object, options.gracePeriodSeconds);
  const isMarked = metadata.deletionTimestamp !== undefined;

  const marked: KubeObject = clone(stored.object);
  if (finalizers.length > 0) marked.metadata.finalizers = finalizers;
  else delete marked.metadata.finalizers;
  const shortened = isMarked && graceSeconds < (metadata.deletionGracePeriodSeconds ?? 0);
  if (!isMarked || shortened) {
    marked.metadata.deletionTimestamp = timestamp(core.clock.now() + graceSeconds * 1000);
    marked.metadata.deletionGracePeriodSeconds = graceSeconds;
    if (metadata.generation !== undefined && !isMarked) marked.metadata.generation = metadata.generation + 1;
  }
  if (definition.resource === "/namespaces") marked.status = { ...objectAt(marked, "status"), phase: "Terminating" };

  if (isRemovable(definition, marked)) {
    const removed = options.dryRun ? stored : core.store.remove(key);
    return { removed: true, stored: removed ?? stored };
  }
  const isSame = isMarked && !shortened && sameJson(finalizers, metadata.finalizers ?? []);
  if (isSame || options.dryRun) return { removed: false, stored };
  return { removed: false, stored: core.store.put(key, marked) };
}

/** Changes an object's metadata, or its spec, on the server's own decision, and removes it if nothing keeps it. */
export function rewrite(
  core: Core,
  definition: ResourceDefinition,
  stored: StoredObject,
  change: (object: KubeObject) => void,
): void {
  const object = clone(stored.object);
  change(object);
  if (isRemovable(definition, object)) core.store.remove(stored.key);
  else core.store.put(stored.key, object);
}

function finalizersFor(present: readonly string[], policy: PropagationPolicy | undefined): string[] {
  if (policy === undefined) return [...present];
  const others = present.filter((finalizer) => finalizer !== ORPHAN && finalizer !== FOREGROUND);
  if (policy === "Orphan") return [...others, ORPHAN];
  return policy === "Foreground" ? [...others, FOREGROUND] : others;
}

function graceFor(definition: ResourceDefinition, object: KubeObject, asked: number | undefined): number {
  if (asked !== undefined && asked < 0) throw badRequest("gracePeriodSeconds must be greater than or equal to 0");
  const rule = definition.strategy.gracePeriodSeconds;
  if (!rule) return 0;
  const usual = rule(object);
  if (usual === 0) return 0;
  const already = object.metadata.deletionGracePeriodSeconds;
  return asked ?? already ?? usual;
}

function checkPreconditions(definition: ResourceDefinition, object: KubeObject, options: DeleteOptions): void {
  const { uid, resourceVersion } = options.preconditions ?? {};
  const { metadata } = object;
  if (uid !== undefined && uid !== metadata.uid) {
    throw conflict(
      definition,
      metadata.name,
      `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${metadata.uid}`,
    );
  }
  if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion) {
    throw conflict(
      definition,
      metadata.name,
      `Precondition failed: ResourceVersion in precondition: ${resourceVersion}, ResourceVersion in object meta: ${metadata.resourceVersion}`,
    );
  }
}
