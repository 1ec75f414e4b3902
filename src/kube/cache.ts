import type { Log } from "../runtime/index.ts";
import { Indexes, type IndexFunction } from "./indexes.ts";
import { type KubeObject, keyOf, type ObjectName } from "./object.ts";
import { Progress } from "./progress.ts";
import { compareVersions, isOlder, newerVersion } from "./resource-version.ts";

/**
 * Called for every change, after the cache shows it. A replaced object (same name, other uid) is a delete and an add.
 */
export interface CacheHandler<T> {
  added?(object: T): void;
  updated?(object: T, previous: T): void;
  /** Also for deletes that no watch showed and a list revealed; `object` is the last known state. */
  deleted?(object: T): void;
}

/** What readers see of a reflector's cache. Objects are shared and read-only: to change one, copy it. */
export interface Cache<T extends KubeObject> {
  readonly size: number;
  /** Whether the first list is complete. Until then, a missing object means nothing. */
  readonly hasSynced: boolean;
  /** Every change up to this resourceVersion is in the cache. */
  readonly version: string | undefined;
  get(name: ObjectName): T | undefined;
  getByKey(key: string): T | undefined;
  list(): T[];
  /** Objects by an index's value; throws for an index that was not defined. */
  byIndex(index: string, value: string): T[];
  indexValues(index: string): string[];
  defineIndex(name: string, valuesOf: IndexFunction<T>): void;
  /** Also calls `added` for existing objects. Returns how to stop. */
  subscribe(handler: CacheHandler<T>): () => void;
  synced(signal?: AbortSignal): Promise<void>;
  hasSeen(version: string): boolean;
  /**
   * Resolves when everything up to this version is in the cache: after a write, nothing older is acted on. For objects
   * that this cache holds; for others it may take until the next bookmark.
   */
  waitFor(version: string, signal?: AbortSignal): Promise<void>;
  /**
   * Puts the answer of our own write into the cache before the watch brings it. From then on, reads include that write,
   * and late events cannot undo it.
   */
  wrote(object: T): void;
  /** The same for a delete after which the object is gone. */
  deleted(object: T): void;
}

export interface ObjectCacheOptions<T> {
  readonly log: Log;
  /** Whether this cache would hold the object (namespace, selectors). Undefined: not known. */
  readonly holds?: (object: T) => boolean | undefined;
  /** Applied to every object before it is kept (the reflector applies it to what it brings). */
  readonly prepare?: (object: T) => T;
  readonly indexes?: Readonly<Record<string, IndexFunction<T>>>;
}

/**
 * How many deletes are remembered, against late copies of older events. A stream is out of order by a few events, not
 * thousands.
 */
const MAX_TOMBSTONES = 1_000;

/** What is known of a name whose object is gone. */
interface Tombstone {
  /** Everything of that name up to this version is old, for every uid. */
  readonly version: string | undefined;
  /** We deleted it ourselves, at an unknown version: this uid never returns. */
  readonly uid: string | undefined;
}

/**
 * The objects of one list-and-watch. Invariant: each object only moves forward in resourceVersion (if versions can be
 * compared), in whatever order lists, events and our own writes arrive.
 */
export class ObjectCache<T extends KubeObject> implements Cache<T> {
  readonly #objects = new Map<string, T>();
  readonly #indexes = new Indexes<T>();
  readonly #handlers = new Set<CacheHandler<T>>();
  readonly #tombstones = new Map<string, Tombstone>();
  readonly #log: Log;
  readonly #holds: (object: T) => boolean | undefined;
  readonly #prepare: (object: T) => T;
  readonly progress = new Progress();
  readonly #syncWaiters = new Set<() => void>();

  constructor(options: ObjectCacheOptions<T>) {
    this.#log = options.log;
    this.#holds = options.holds ?? (() => true);
    this.#prepare = options.prepare ?? ((object) => object);
    for (const [name, valuesOf] of Object.entries(options.indexes ?? {})) this.defineIndex(name, valuesOf);
  }

  get size(): number {
    return this.#objects.size;
  }

  get hasSynced(): boolean {
    return this.progress.version !== undefined;
  }

  get version(): string | undefined {
    return this.progress.version;
  }

  get(name: ObjectName): T | undefined {
    return this.#objects.get(keyOf(name));
  }

  getByKey(key: string): T | undefined {
    return this.#objects.get(key);
  }

  list(): T[] {
    return [...this.#objects.values()];
  }

  byIndex(index: string, value: string): T[] {
    return this.#indexes.find(index, value);
  }

  indexValues(index: string): string[] {
    return this.#indexes.values(index);
  }

  defineIndex(name: string, valuesOf: IndexFunction<T>): void {
    this.#indexes.define(name, valuesOf, this.#objects);
  }

  subscribe(handler: CacheHandler<T>): () => void {
    for (const object of this.#objects.values()) this.#guarded(() => handler.added?.(object));
    this.#handlers.add(handler);
    return () => this.#handlers.delete(handler);
  }

  synced(signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.hasSynced) return resolve();
      if (signal?.aborted) return reject(signal.reason);
      const onAbort = () => {
        this.#syncWaiters.delete(done);
        reject(signal?.reason);
      };
      const done = () => {
        signal?.removeEventListener("abort", onAbort);
        resolve();
      };
      this.#syncWaiters.add(done);
      signal?.addEventListener("abort", onAbort, { once: true });
    });
  }

  hasSeen(version: string): boolean {
    return this.progress.hasSeen(version);
  }

  waitFor(version: string, signal?: AbortSignal): Promise<void> {
    return this.progress.waitFor(version, signal);
  }

  wrote(object: T): void {
    const version = object.metadata.resourceVersion;
    // The stream has already passed this version, perhaps with a later change or a delete: our answer is outdated.
    if (version === undefined || !this.#isAhead(version)) return;
    const cached = this.#objects.get(keyOf(object.metadata));
    const holds = this.#holds(object) ?? cached !== undefined;
    if (holds) this.upsert(this.#prepare(object));
    else if (cached && cached.metadata.uid === object.metadata.uid) this.#drop(cached, version);
  }

  deleted(object: T): void {
    const key = keyOf(object.metadata);
    const cached = this.#objects.get(key);
    if (cached && cached.metadata.uid !== object.metadata.uid) return;
    this.#bury(key, { uid: object.metadata.uid });
    if (cached) this.#set(key, cached, undefined);
  }

  /** A state of an object from the server; ignored if it is older than the known one. */
  upsert(object: T): void {
    const key = keyOf(object.metadata);
    if (this.#isBuried(key, object)) return;
    const previous = this.#objects.get(key);
    const version = object.metadata.resourceVersion;
    if (previous && version !== undefined) {
      const order = compareVersions(version, previous.metadata.resourceVersion ?? "");
      if (order !== undefined && order <= 0) return;
    }
    this.#set(key, previous, object);
  }

  /** A delete, or the object's leaving the selection. */
  remove(object: T): void {
    const key = keyOf(object.metadata);
    const previous = this.#objects.get(key);
    const { uid, resourceVersion } = object.metadata;
    this.#bury(key, { version: resourceVersion });
    if (!previous) return;
    const order = compareVersions(resourceVersion ?? "", previous.metadata.resourceVersion ?? "");
    // Without an order, only the uid shows whether this is the deleted object or an earlier one.
    const isOld = order === undefined ? previous.metadata.uid !== uid : order < 0;
    if (isOld) return;
    this.#set(key, previous, undefined);
  }

  /** The end of a list: objects that it did not contain are gone, except those that are newer than the list. */
  finishList(version: string, listed: ReadonlySet<string>, reset: boolean): void {
    for (const [key, object] of this.#objects) {
      if (listed.has(key)) continue;
      if (!reset && isOlder(version, object.metadata.resourceVersion)) continue;
      this.#set(key, object, undefined);
    }
    // Streams after this list start at its version and cannot bring older events. Our own deletes stay.
    for (const [key, { uid }] of this.#tombstones) {
      if (uid === undefined) this.#tombstones.delete(key);
      else this.#tombstones.set(key, { uid, version: undefined });
    }
    this.progress.listEnds(version, reset);
    for (const done of this.#syncWaiters) done();
    this.#syncWaiters.clear();
  }

  /** Forgets an object's known versions, for a server whose history was reset. */
  forceUpsert(object: T): void {
    const key = keyOf(object.metadata);
    this.#tombstones.delete(key);
    this.#set(key, this.#objects.get(key), object);
  }

  #isAhead(version: string): boolean {
    if (this.progress.version === undefined) return true; // The end of the first list settles it.
    const order = compareVersions(this.progress.version, version);
    return order !== undefined && order < 0;
  }

  #isBuried(key: string, object: T): boolean {
    const tombstone = this.#tombstones.get(key);
    if (!tombstone) return false;
    const { uid, resourceVersion } = object.metadata;
    if (uid !== undefined && uid === tombstone.uid) return true;
    if (tombstone.version === undefined) return false;
    // Not by uid alone: an object that left a selector may return, at a later version.
    const order = compareVersions(resourceVersion ?? "", tombstone.version);
    return order !== undefined && order <= 0;
  }

  #bury(key: string, known: Partial<Tombstone>): void {
    const before = this.#tombstones.get(key);
    const version = known.version === undefined ? before?.version : newerVersion(before?.version, known.version);
    this.#tombstones.delete(key);
    this.#tombstones.set(key, { version, uid: known.uid ?? before?.uid });
    if (this.#tombstones.size <= MAX_TOMBSTONES) return;
    const oldest = this.#tombstones.keys().next();
    if (!oldest.done) this.#tombstones.delete(oldest.value);
  }

  #drop(cached: T, version: string): void {
    const key = keyOf(cached.metadata);
    this.#bury(key, { version });
    this.#set(key, cached, undefined);
  }

  #set(key: string, previous: T | undefined, next: T | undefined): void {
    if (next) this.#objects.set(key, next);
    else this.#objects.delete(key);
    this.#indexes.change(key, previous, next);
    const sameObject = previous && next && previous.metadata.uid === next.metadata.uid;
    for (const handler of this.#handlers) {
      this.#guarded(() => {
        if (sameObject) return handler.updated?.(next, previous);
        if (previous) handler.deleted?.(previous);
        if (next) handler.added?.(next);
      });
    }
  }

  /** One handler's error must not stop the other handlers or the stream. */
  #guarded(call: () => void): void {
    try {
      call();
    } catch (error) {
      this.#log.error("a cache handler threw", { error: error instanceof Error ? error.stack : String(error) });
    }
  }
}
