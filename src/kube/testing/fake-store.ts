import { isJsonObject, type JsonObject } from "../../runtime/index.ts";
import type { KubeObject } from "../object.ts";

export interface StoredEvent {
  readonly version: number;
  readonly collection: string;
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly object: KubeObject;
  /** The previous state, for selectors. */
  readonly previous: KubeObject | undefined;
}

/**
 * The state behind a FakeApi: every version of every object, so that any past moment can be listed. A collection is the
 * path of a kind without namespaces, such as `/api/v1/pods`.
 */
export class FakeStore {
  readonly #objects = new Map<string, Map<string, KubeObject>>();
  readonly events: StoredEvent[] = [];
  readonly onEvent = new Set<(event: StoredEvent) => void>();
  #version: number;
  readonly #firstVersion: number;
  #uids = 0;

  constructor(firstVersion = 1000) {
    this.#firstVersion = firstVersion;
    this.#version = firstVersion;
  }

  get version(): number {
    return this.#version;
  }

  get(collection: string, key: string): KubeObject | undefined {
    return this.#objects.get(collection)?.get(key);
  }

  list(collection: string): KubeObject[] {
    return sorted(this.#objects.get(collection) ?? new Map());
  }

  /** The collection as it was at a version. */
  listAt(collection: string, version: number): KubeObject[] {
    if (version < this.#firstVersion) return [];
    const state = new Map<string, KubeObject>();
    for (const event of this.events) {
      if (event.version > version) break;
      if (event.collection !== collection) continue;
      const key = storeKey(event.object);
      if (event.type === "DELETED") state.delete(key);
      else state.set(key, event.object);
    }
    return sorted(state);
  }

  /** Creates or replaces; the store sets uid, resourceVersion and generation. Nothing happens if nothing changes. */
  put(collection: string, object: KubeObject, nowMs: number): KubeObject {
    const key = storeKey(object);
    const previous = this.get(collection, key);
    const same = previous && sameContent(previous, object);
    if (same) return previous;
    this.#version++;
    const specChanged = JSON.stringify(previous?.spec) !== JSON.stringify(object.spec);
    const stored: KubeObject = {
      ...object,
      metadata: {
        ...object.metadata,
        uid: previous?.metadata.uid ?? `uid-${++this.#uids}`,
        resourceVersion: String(this.#version),
        generation: (previous?.metadata.generation ?? 0) + (specChanged || !previous ? 1 : 0),
        creationTimestamp: previous?.metadata.creationTimestamp ?? new Date(nowMs).toISOString(),
      },
    };
    this.#collection(collection).set(key, stored);
    this.#emit({ version: this.#version, collection, type: previous ? "MODIFIED" : "ADDED", object: stored, previous });
    return stored;
  }

  remove(collection: string, key: string): KubeObject | undefined {
    const previous = this.get(collection, key);
    if (!previous) return undefined;
    this.#version++;
    this.#collection(collection).delete(key);
    const object = {
      ...previous,
      metadata: { ...previous.metadata, resourceVersion: String(this.#version) },
    };
    this.#emit({ version: this.#version, collection, type: "DELETED", object, previous });
    return object;
  }

  #collection(collection: string): Map<string, KubeObject> {
    let objects = this.#objects.get(collection);
    if (!objects) {
      objects = new Map();
      this.#objects.set(collection, objects);
    }
    return objects;
  }

  #emit(event: StoredEvent): void {
    this.events.push(event);
    for (const listener of [...this.onEvent]) listener(event);
  }
}

export function storeKey(object: KubeObject): string {
  return `${object.metadata.namespace ?? ""}/${object.metadata.name}`;
}

/** Equality terms (`a=b,c!=d`) over labels; enough for tests. */
export function matchesLabels(object: KubeObject, selector: string | null): boolean {
  if (!selector) return true;
  const labels = object.metadata.labels ?? {};
  return selector.split(",").every((term) => {
    if (!term.includes("=")) return term.startsWith("!") ? !(term.slice(1) in labels) : term in labels;
    const [key = "", value = ""] = term.split(/!?==?/);
    return (labels[key] === value) !== term.includes("!");
  });
}

/** RFC 7386. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isJsonObject(patch)) return patch;
  const result: JsonObject = isJsonObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else Object.assign(result, { [key]: mergePatch(result[key], value) });
  }
  return result;
}

function sameContent(a: KubeObject, b: KubeObject): boolean {
  const text = (object: KubeObject) => {
    const { uid: _1, resourceVersion: _2, generation: _3, creationTimestamp: _4, ...metadata } = object.metadata;
    return JSON.stringify({ ...object, metadata });
  };
  return text(a) === text(b);
}

function sorted(objects: ReadonlyMap<string, KubeObject>): KubeObject[] {
  return [...objects.keys()].sort().flatMap((key) => objects.get(key) ?? []);
}
