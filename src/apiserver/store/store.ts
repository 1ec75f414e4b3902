import { apiVersionOf } from "../kinds/registry.ts";
import { tooOldResourceVersion } from "../request/status.ts";
import type { KubeObject, ObjectKey, ResourceDefinition } from "../types.ts";

/**
 * One version of one object. It never changes; its JSON text is created once and shared by every list and watcher, also
 * in the other versions in which the kind is served.
 */
export class StoredObject {
  readonly key: ObjectKey;
  readonly object: KubeObject;
  readonly version: number;
  #text: string | undefined;
  #converted: Map<string, { object: KubeObject; text: string }> | undefined;

  constructor(key: ObjectKey, object: KubeObject, version: number) {
    this.key = key;
    this.object = object;
    this.version = version;
  }

  objectFor(definition: ResourceDefinition): KubeObject {
    return isStored(definition) ? this.object : this.#convert(definition).object;
  }

  textFor(definition: ResourceDefinition): string {
    if (!isStored(definition)) return this.#convert(definition).text;
    this.#text ??= JSON.stringify(this.object);
    return this.#text;
  }

  #convert(definition: ResourceDefinition): { object: KubeObject; text: string } {
    const apiVersion = apiVersionOf(definition);
    this.#converted ??= new Map();
    let made = this.#converted.get(apiVersion);
    if (!made) {
      const renamed = { ...this.object, apiVersion };
      const object = definition.convert ? definition.convert.fromStorage(renamed) : renamed;
      made = { object, text: JSON.stringify(object) };
      this.#converted.set(apiVersion, made);
    }
    return made;
  }
}

function isStored(definition: ResourceDefinition): boolean {
  return definition.storageApiVersion === apiVersionOf(definition);
}

/** One change: a version of the whole store. */
export interface StoreEvent {
  readonly version: number;
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly key: ObjectKey;
  readonly old: StoredObject | undefined;
  /** For DELETED, the last state under the deletion's version. */
  readonly current: StoredObject;
}

/** Objects of one namespace of one kind, in the order of their names. */
class Bucket {
  readonly objects = new Map<string, StoredObject>();
  readonly names: string[] = [];

  set(stored: StoredObject): void {
    const { name } = stored.key;
    if (!this.objects.has(name)) this.names.splice(lowerBound(this.names, name), 0, name);
    this.objects.set(name, stored);
  }

  delete(name: string): void {
    if (this.objects.delete(name)) this.names.splice(lowerBound(this.names, name), 1);
  }
}

/** The first position whose name is not before `name`. */
export function lowerBound(names: readonly string[], name: string): number {
  let low = 0;
  let high = names.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((names[middle] ?? "") < name) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Where a list continues: the first object after this one. */
export interface Position {
  readonly namespace: string;
  readonly name: string;
}

/**
 * All objects and the recent history of changes. Every change gets the next resource version, so the history is an
 * array indexed by version, and any recent state is the current one with the later changes undone.
 */
export class Store {
  #version: number;
  readonly #kinds = new Map<string, Map<string, Bucket>>();
  readonly #history: (StoreEvent | undefined)[] = [];
  readonly #historyLimit: number;
  /** The newest version that is no longer in the history: no client can resume from before it. */
  #compacted: number;
  readonly #byUid = new Map<string, StoredObject>();
  /** Objects by the uid of each of their owners. */
  readonly #byOwner = new Map<string, Set<string>>();
  readonly #listeners: ((event: StoreEvent) => void)[] = [];

  constructor(options: { version: number; historyEvents: number }) {
    this.#version = options.version;
    this.#compacted = options.version;
    this.#historyLimit = options.historyEvents;
  }

  get version(): number {
    return this.#version;
  }

  get compacted(): number {
    return this.#compacted;
  }

  /** Called for every change, in order, inside commit(). */
  listen(listener: (event: StoreEvent) => void): void {
    this.#listeners.push(listener);
  }

  get(key: ObjectKey): StoredObject | undefined {
    return this.#kinds.get(key.resource)?.get(key.namespace)?.objects.get(key.name);
  }

  byUid(uid: string): StoredObject | undefined {
    return this.#byUid.get(uid);
  }

  /** Objects that name this uid as an owner, in the order in which they started to. */
  dependents(ownerUid: string): StoredObject[] {
    const uids = this.#byOwner.get(ownerUid);
    return uids ? [...uids].flatMap((uid) => this.#byUid.get(uid) ?? []) : [];
  }

  count(resource: string): number {
    let count = 0;
    for (const bucket of this.#kinds.get(resource)?.values() ?? []) count += bucket.names.length;
    return count;
  }

  /** Objects of one kind, or one namespace of it, in order, after a position. */
  *objects(resource: string, namespace: string, after?: Position): Generator<StoredObject> {
    const buckets = this.#kinds.get(resource);
    if (!buckets) return;
    const namespaces = namespace === "" ? [...buckets.keys()].sort(byText) : [namespace];
    for (const each of namespaces) {
      if (after !== undefined && each < after.namespace) continue;
      const bucket = buckets.get(each);
      if (!bucket) continue;
      let index = 0;
      if (after !== undefined && each === after.namespace) {
        index = lowerBound(bucket.names, after.name);
        if (bucket.names[index] === after.name) index += 1;
      }
      for (; index < bucket.names.length; index++) {
        const stored = bucket.objects.get(bucket.names[index] ?? "");
        if (stored) yield stored;
      }
    }
  }

  /** The same at an earlier version. Throws 410 if the history does not reach back that far. */
  *objectsAt(version: number, resource: string, namespace: string, after?: Position): Generator<StoredObject> {
    const later = new Map<string, StoredObject | undefined>();
    for (const event of this.eventsAfter(version)) {
      if (event.key.resource !== resource || (namespace !== "" && event.key.namespace !== namespace)) continue;
      const id = `${event.key.namespace}/${event.key.name}`;
      if (!later.has(id)) later.set(id, event.old);
    }
    if (later.size === 0) {
      yield* this.objects(resource, namespace, after);
      return;
    }
    const restored = [...later.values()].flatMap((old) => old ?? []).sort(byPosition);
    let next = 0;
    const isAfter = (stored: StoredObject) => after === undefined || byPosition(stored, { key: after }) > 0;
    for (const stored of this.objects(resource, namespace, after)) {
      if (later.has(`${stored.key.namespace}/${stored.key.name}`)) continue;
      for (let old = restored[next]; old && byPosition(old, stored) < 0; old = restored[++next]) {
        if (isAfter(old)) yield old;
      }
      yield stored;
    }
    for (let old = restored[next]; old; old = restored[++next]) if (isAfter(old)) yield old;
  }

  /** Changes after a version, oldest first. Throws 410 if some are no longer known. */
  *eventsAfter(version: number): Generator<StoreEvent> {
    if (version < this.#compacted) throw tooOldResourceVersion(version, this.#compacted);
    for (let each = version + 1; each <= this.#version; each++) {
      const event = this.#history[each % this.#historyLimit];
      if (event) yield event;
    }
  }

  /** Kinds that have objects in a namespace. */
  *kindsIn(namespace: string): Generator<string> {
    for (const [resource, buckets] of this.#kinds) if ((buckets.get(namespace)?.names.length ?? 0) > 0) yield resource;
  }

  kinds(): string[] {
    return [...this.#kinds.keys()];
  }

  /** Stores an object under the next version and notifies the listeners. `object` belongs to the store from now on. */
  put(key: ObjectKey, object: KubeObject): StoredObject {
    const old = this.get(key);
    const version = this.#version + 1;
    object.metadata.resourceVersion = String(version);
    const current = new StoredObject(key, object, version);
    this.load(current);
    this.#record({ version, type: old ? "MODIFIED" : "ADDED", key, old, current });
    return current;
  }

  /** Removes an object; returns its last state under the deletion's version. */
  remove(key: ObjectKey): StoredObject | undefined {
    const old = this.get(key);
    if (!old) return undefined;
    const version = this.#version + 1;
    const metadata = { ...old.object.metadata, resourceVersion: String(version) };
    const current = new StoredObject(key, { ...old.object, metadata }, version);
    this.#kinds.get(key.resource)?.get(key.namespace)?.delete(key.name);
    this.#unindex(old);
    this.#record({ version, type: "DELETED", key, old, current });
    return current;
  }

  /** Inserts a stored version without a new one: when state is restored. */
  load(stored: StoredObject): void {
    const { resource, namespace } = stored.key;
    const buckets = this.#kinds.get(resource) ?? new Map<string, Bucket>();
    this.#kinds.set(resource, buckets);
    const bucket = buckets.get(namespace) ?? new Bucket();
    buckets.set(namespace, bucket);
    const old = bucket.objects.get(stored.key.name);
    if (old) this.#unindex(old, stored);
    bucket.set(stored);
    const { uid, ownerReferences } = stored.object.metadata;
    if (uid === undefined) return;
    this.#byUid.set(uid, stored);
    for (const owner of ownerReferences ?? []) {
      const dependents = this.#byOwner.get(owner.uid);
      if (dependents) dependents.add(uid);
      else this.#byOwner.set(owner.uid, new Set([uid]));
    }
  }

  #unindex(old: StoredObject, replacement?: StoredObject): void {
    const { uid, ownerReferences } = old.object.metadata;
    if (uid === undefined) return;
    this.#byUid.delete(uid);
    const kept = new Set(replacement?.object.metadata.ownerReferences?.map((owner) => owner.uid));
    for (const owner of ownerReferences ?? []) {
      // An owner that stays keeps the dependent's position in the order.
      if (kept.has(owner.uid)) continue;
      const dependents = this.#byOwner.get(owner.uid);
      dependents?.delete(uid);
      if (dependents?.size === 0) this.#byOwner.delete(owner.uid);
    }
  }

  #record(event: StoreEvent): void {
    this.#version = event.version;
    this.#history[event.version % this.#historyLimit] = event;
    this.#compacted = Math.max(this.#compacted, event.version - this.#historyLimit);
    for (const listener of this.#listeners) listener(event);
  }
}

const byText = (left: string, right: string) => (left < right ? -1 : left > right ? 1 : 0);

function byPosition(left: { key: Position }, right: { key: Position }): number {
  return byText(left.key.namespace, right.key.namespace) || byText(left.key.name, right.key.name);
}
