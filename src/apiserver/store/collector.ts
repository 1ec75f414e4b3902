import type { Core } from "../core.ts";
import type { KubeObject, ObjectKey, OwnerReference, ResourceDefinition } from "../types.ts";
import { deleteObject, FOREGROUND, ORPHAN, rewrite } from "./deletion.ts";
import type { StoredObject, StoreEvent } from "./store.ts";
import { listAt } from "./values.ts";

const NAMESPACES = "/namespaces";

/**
 * Garbage collection and the deletion of namespaces. Every stored change adds work here. `drain` does all of it, in
 * order, before the request is answered: there are no timers, so the same requests always give the same history.
 */
export class Collector {
  readonly #core: Core;
  readonly #work: (() => void)[] = [];
  #draining = false;

  constructor(core: Core) {
    this.#core = core;
    core.store.listen((event) => this.#observe(event));
  }

  /** Queues other follow-up work. */
  later(work: () => void): void {
    this.#work.push(work);
  }

  drain(): void {
    if (this.#draining) return;
    this.#draining = true;
    try {
      for (let next = this.#work.shift(); next; next = this.#work.shift()) next();
    } finally {
      this.#draining = false;
    }
  }

  #observe({ type, key, old, current }: StoreEvent): void {
    const { metadata } = current.object;
    const uid = metadata.uid ?? "";
    const owners = metadata.ownerReferences ?? [];
    if (type === "DELETED") {
      for (const dependent of this.#core.store.dependents(uid)) this.later(() => this.#checkOwners(dependent.key));
      for (const owner of owners) this.later(() => this.#continueDeletion(owner.uid));
      if (key.namespace !== "") this.later(() => this.#finishNamespace(key.namespace));
      return;
    }
    if (owners.length > 0 && owners !== old?.object.metadata.ownerReferences) this.later(() => this.#checkOwners(key));
    for (const owner of old?.object.metadata.ownerReferences ?? []) {
      if (!owners.some((each) => each.uid === owner.uid)) this.later(() => this.#continueDeletion(owner.uid));
    }
    if (metadata.deletionTimestamp === undefined) return;
    const finalizers = metadata.finalizers ?? [];
    if (finalizers.includes(FOREGROUND) || finalizers.includes(ORPHAN)) this.later(() => this.#continueDeletion(uid));
    if (key.resource === NAMESPACES) {
      if (old?.object.metadata.deletionTimestamp === undefined) this.later(() => this.#emptyNamespace(key.name));
    }
  }

  /** Deletes an object if no owner is left; removes references to owners that are gone. */
  #checkOwners(key: ObjectKey): void {
    const stored = this.#core.store.get(key);
    const definition = this.#core.registry.findStorage(key.resource);
    const owners = stored?.object.metadata.ownerReferences ?? [];
    if (!stored || !definition || owners.length === 0) return;
    const states = owners.map((owner) => this.#ownerState(owner, key.namespace));
    if (states.every((state) => state === "solid")) return;
    if (states.includes("solid")) {
      const kept = owners.filter((_, index) => states[index] === "solid");
      rewrite(this.#core, definition, stored, (object) => setOwners(object, kept));
      return;
    }
    if (states.includes("deleting")) {
      // Its owner waits for it: its own dependents are deleted first, too.
      const hasDependents = this.#core.store.dependents(stored.object.metadata.uid ?? "").length > 0;
      this.#delete(definition, stored, hasDependents ? "Foreground" : undefined);
      return;
    }
    this.#delete(definition, stored, undefined);
  }

  #delete(definition: ResourceDefinition, stored: StoredObject, policy: "Foreground" | "Background" | undefined): void {
    if (stored.object.metadata.deletionTimestamp !== undefined) return;
    deleteObject(this.#core, definition, stored.key, { propagationPolicy: policy });
  }

  #ownerState(owner: OwnerReference, namespace: string): "solid" | "gone" | "deleting" {
    const definition = this.#core.registry.findKind(owner.apiVersion, owner.kind);
    // If a kind is not served, nothing is known about its objects: Kubernetes' collector then keeps their dependents.
    if (!definition) return "solid";
    const found = this.#core.store.byUid(owner.uid);
    if (!found || found.key.resource !== definition.resource || found.key.name !== owner.name) return "gone";
    if (found.key.namespace !== "" && found.key.namespace !== namespace) return "gone";
    const { deletionTimestamp, finalizers } = found.object.metadata;
    return deletionTimestamp !== undefined && finalizers?.includes(FOREGROUND) ? "deleting" : "solid";
  }

  /**
   * An owner that is being deleted: releases or deletes its dependents, or removes the owner when none is left to wait
   * for.
   */
  #continueDeletion(uid: string): void {
    const { store, registry } = this.#core;
    const owner = store.byUid(uid);
    const definition = owner && registry.findStorage(owner.key.resource);
    if (!owner || !definition || owner.object.metadata.deletionTimestamp === undefined) return;
    const finalizers = owner.object.metadata.finalizers ?? [];
    if (finalizers.includes(ORPHAN)) {
      for (const dependent of store.dependents(uid)) this.#orphan(dependent, uid);
      this.#dropFinalizer(definition, owner.key, ORPHAN);
    } else if (finalizers.includes(FOREGROUND)) {
      const blocking = store
        .dependents(uid)
        .filter(({ object }) =>
          object.metadata.ownerReferences?.some((each) => each.uid === uid && each.blockOwnerDeletion === true),
        );
      if (blocking.length === 0) this.#dropFinalizer(definition, owner.key, FOREGROUND);
      for (const dependent of blocking) this.later(() => this.#checkOwners(dependent.key));
    }
  }

  #orphan(dependent: StoredObject, ownerUid: string): void {
    const definition = this.#core.registry.findStorage(dependent.key.resource);
    const kept = dependent.object.metadata.ownerReferences?.filter((each) => each.uid !== ownerUid) ?? [];
    if (definition) rewrite(this.#core, definition, dependent, (object) => setOwners(object, kept));
  }

  #dropFinalizer(definition: ResourceDefinition, key: ObjectKey, finalizer: string): void {
    const stored = this.#core.store.get(key);
    if (stored) rewrite(this.#core, definition, stored, (object) => removeFinalizer(object, finalizer));
  }

  #emptyNamespace(namespace: string): void {
    const { store, registry } = this.#core;
    for (const resource of [...store.kindsIn(namespace)]) {
      const definition = registry.findStorage(resource);
      if (!definition) continue;
      for (const stored of [...store.objects(resource, namespace)]) {
        // A cascade may have deleted it meanwhile.
        if (store.get(stored.key)) this.#delete(definition, stored, "Background");
      }
    }
    this.later(() => this.#finishNamespace(namespace));
  }

  #finishNamespace(name: string): void {
    const { store, registry } = this.#core;
    const stored = store.get({ resource: NAMESPACES, namespace: "", name });
    const definition = registry.findStorage(NAMESPACES);
    if (!stored || !definition || stored.object.metadata.deletionTimestamp === undefined) return;
    if (listAt(stored.object, "spec", "finalizers").length === 0 || !store.kindsIn(name).next().done) return;
    rewrite(this.#core, definition, stored, (namespace) => {
      namespace.spec = { finalizers: [] };
    });
  }
}

function setOwners(object: KubeObject, owners: readonly OwnerReference[]): void {
  if (owners.length > 0) object.metadata.ownerReferences = owners.map((owner) => ({ ...owner }));
  else delete object.metadata.ownerReferences;
}

export function removeFinalizer(object: KubeObject, finalizer: string): void {
  const kept = object.metadata.finalizers?.filter((each) => each !== finalizer) ?? [];
  if (kept.length > 0) object.metadata.finalizers = kept;
  else delete object.metadata.finalizers;
}
