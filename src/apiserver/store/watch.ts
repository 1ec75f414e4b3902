import type { Matcher } from "../request/selectors.ts";
import { expired, type StatusError } from "../request/status.ts";
import { StoredObject, type StoreEvent } from "./store.ts";

/**
 * Text is sent in pieces of about this size, so that ten thousand initial events do not block the event loop at once.
 */
const CHUNK_CHARACTERS = 64 * 1024;

export type WatchEventType = "ADDED" | "MODIFIED" | "DELETED";

export interface WatchScope {
  readonly resource: string;
  /** Empty: all namespaces. */
  readonly namespace: string;
  /** The only name to watch, if the selector has one. */
  readonly name: string | undefined;
  readonly matches: Matcher | undefined;
}

export interface WatchEncoding {
  event(type: WatchEventType, stored: StoredObject): string;
  bookmark(version: number, initialEventsEnd: boolean): string;
}

export interface WatchLimits {
  readonly queueEvents: number;
  /** Undefined if the client did not request bookmarks. */
  readonly bookmarkEveryEvents: number | undefined;
}

type Item = { readonly type: WatchEventType; readonly stored: StoredObject } | { readonly text: string };

/**
 * One client's stream of changes, first in first out. Events wait as references to stored versions and become text when
 * the client reads them. If too many wait, the client is dropped, so memory stays bounded.
 */
export class Watcher {
  readonly scope: WatchScope;
  readonly #encoding: WatchEncoding;
  readonly #limits: WatchLimits;
  /** The initial objects, read before anything else; not counted against the queue. */
  #initial: Iterator<Item> | undefined;
  #queue: Item[] = [];
  #head = 0;
  #lastVersionSent: number;
  #ended = false;
  #failure: unknown;
  #wake: (() => void) | undefined;
  readonly #onClose: (watcher: Watcher) => void;

  constructor(options: {
    scope: WatchScope;
    encoding: WatchEncoding;
    limits: WatchLimits;
    version: number;
    initial: Iterable<Item>;
    onClose: (watcher: Watcher) => void;
  }) {
    this.scope = options.scope;
    this.#encoding = options.encoding;
    this.#limits = options.limits;
    this.#lastVersionSent = options.version;
    this.#initial = options.initial[Symbol.iterator]();
    this.#onClose = options.onClose;
  }

  /** Accepts a change of this watcher's kind; forwards it as seen through the client's selector. */
  offer(event: StoreEvent): void {
    const item = translate(this.scope, event);
    if (item) {
      this.#lastVersionSent = event.version;
      this.#push(item);
    } else this.heartbeat(event.version);
  }

  /** A change that does not match this watcher; enough of them cause a bookmark. */
  heartbeat(version: number): void {
    const every = this.#limits.bookmarkEveryEvents;
    if (every === undefined || version - this.#lastVersionSent < every) return;
    this.#lastVersionSent = version;
    this.#push({ text: this.#encoding.bookmark(version, false) });
  }

  #push(item: Item): void {
    if (this.#ended) return;
    if (this.#queue.length - this.#head >= this.#limits.queueEvents) {
      // The client lost events, so it must list again: the queue is dropped too.
      this.#queue = [];
      this.#head = 0;
      this.#initial = undefined;
      this.fail(expired("the watch was too slow: too many events were waiting; list again"));
      return;
    }
    this.#queue.push(item);
    this.#wake?.();
  }

  /** Ends the stream after the queue, with an ERROR event. */
  fail(error: StatusError): void {
    this.#queue.push({ text: `${JSON.stringify({ type: "ERROR", object: error.status() })}\n` });
    this.close();
  }

  /** Ends the stream after the queue; with a bookmark if the client requested them. */
  finish(version: number): void {
    if (this.#limits.bookmarkEveryEvents !== undefined && version > this.#lastVersionSent) {
      this.#queue.push({ text: this.#encoding.bookmark(version, false) });
    }
    this.close();
  }

  /** The client is gone: a remaining reader gets its reason. */
  abort(reason: unknown): void {
    this.#failure = reason;
    this.#queue = [];
    this.#head = 0;
    this.#initial = undefined;
    this.close();
  }

  close(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#onClose(this);
    this.#wake?.();
  }

  async *chunks(): AsyncGenerator<string> {
    try {
      for (;;) {
        const text = this.#take();
        if (text !== "") {
          yield text;
          continue;
        }
        if (this.#failure !== undefined) throw this.#failure;
        if (this.#ended) return;
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        this.#wake = undefined;
      }
    } finally {
      this.close();
    }
  }

  #take(): string {
    let text = "";
    while (this.#initial && text.length < CHUNK_CHARACTERS) {
      const next = this.#initial.next();
      if (next.done) this.#initial = undefined;
      else text += this.#textOf(next.value);
    }
    while (text.length < CHUNK_CHARACTERS && this.#head < this.#queue.length) {
      const item = this.#queue[this.#head];
      this.#head += 1;
      if (item) text += this.#textOf(item);
    }
    if (this.#head === this.#queue.length && this.#head > 0) {
      this.#queue = [];
      this.#head = 0;
    }
    return text;
  }

  #textOf(item: Item): string {
    return "text" in item ? item.text : this.#encoding.event(item.type, item.stored);
  }
}

/** What a change means to a client that sees only the objects that its selector matches. */
export function translate(
  scope: WatchScope,
  event: StoreEvent,
): { type: WatchEventType; stored: StoredObject } | undefined {
  const { key, old, current } = event;
  if (scope.namespace !== "" && scope.namespace !== key.namespace) return undefined;
  if (scope.name !== undefined && scope.name !== key.name) return undefined;
  const { matches } = scope;
  const isIn = event.type !== "DELETED" && (matches === undefined || matches(current.object));
  const wasIn = old !== undefined && (matches === undefined || matches(old.object));
  if (isIn) return { type: wasIn ? "MODIFIED" : "ADDED", stored: current };
  if (!wasIn) return undefined;
  return { type: "DELETED", stored: event.type === "DELETED" ? current : lastSeen(old, event.version) };
}

/** An object that left the selection: as the client last saw it, under the version of the change. */
function lastSeen(old: StoredObject, version: number): StoredObject {
  const metadata = { ...old.object.metadata, resourceVersion: String(version) };
  return new StoredObject(old.key, { ...old.object, metadata }, version);
}

/** All open watches, by the kind they follow. */
export class WatchHub {
  readonly #watchers = new Map<string, Set<Watcher>>();

  get size(): number {
    let size = 0;
    for (const watchers of this.#watchers.values()) size += watchers.size;
    return size;
  }

  add(watcher: Watcher): void {
    const { resource } = watcher.scope;
    const watchers = this.#watchers.get(resource);
    if (watchers) watchers.add(watcher);
    else this.#watchers.set(resource, new Set([watcher]));
  }

  remove(watcher: Watcher): void {
    const watchers = this.#watchers.get(watcher.scope.resource);
    watchers?.delete(watcher);
    if (watchers?.size === 0) this.#watchers.delete(watcher.scope.resource);
  }

  publish(event: StoreEvent): void {
    for (const [resource, watchers] of this.#watchers) {
      const concerned = resource === event.key.resource;
      for (const watcher of watchers) {
        if (concerned) watcher.offer(event);
        else watcher.heartbeat(event.version);
      }
    }
  }

  /** The kind is no longer served. */
  closeKind(resource: string): void {
    for (const watcher of [...(this.#watchers.get(resource) ?? [])]) watcher.close();
  }

  closeAll(): void {
    for (const watchers of [...this.#watchers.values()]) for (const watcher of [...watchers]) watcher.close();
  }
}
