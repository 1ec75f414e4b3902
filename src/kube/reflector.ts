import { type Clock, isJsonObject, LIMITS, type Log, type Random, retryDelayMs, silentLog } from "../runtime/index.ts";
import { Breather } from "./breather.ts";
import { type Cache, ObjectCache } from "./cache.ts";
import type { KubeClient, ListPage, Selection } from "./client.ts";
import { allowManyListeners, childAbort, orAbort, withDeadline } from "./deadline.ts";
import { ExpiredError, ForbiddenError, StatusError, statusError, statusInfo } from "./errors.ts";
import type { IndexFunction } from "./indexes.ts";
import { LineSplitter } from "./lines.ts";
import { deepFreeze, type KubeObject, keyOf, withoutManagedFields } from "./object.ts";
import { type Resource, readObject } from "./resource.ts";
import { isOlder } from "./resource-version.ts";

export interface ReflectorOptions<T extends KubeObject> {
  readonly client: KubeClient;
  readonly resource: Resource<T>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log?: Log | undefined;
  readonly selection?: Selection | undefined;
  /** What `selection`'s label and field selectors mean, so that our own writes enter the cache only if they belong. */
  readonly selects?: ((object: T) => boolean) | undefined;
  readonly indexes?: Readonly<Record<string, IndexFunction<T>>> | undefined;
  /** Drops what nobody reads, before it is kept. */
  readonly transform?: ((object: T) => T) | undefined;
  /** Managed fields are dropped unless asked for: often half of an object. */
  readonly keepManagedFields?: boolean | undefined;
  /** Makes changing a cached object throw. For tests. */
  readonly freeze?: boolean | undefined;
  readonly pageObjects?: number | undefined;
  /** A watch that brings nothing for this long, not even a bookmark, is taken for dead and opened anew. */
  readonly idleTimeoutMs?: number | undefined;
  /** Called when the list or watch stops working, works again, or has worked for the first time. */
  readonly healthChanged?: (() => void) | undefined;
}

export interface ReflectorHealth {
  readonly hasSynced: boolean;
  /** When the server was last heard, on the monotonic clock. What lies longer back than bookmarks come is suspect. */
  readonly lastHeardMs: number | undefined;
  /** Why the list or watch does not work at the moment. */
  readonly failure: string | undefined;
  /** Whether it fails because the server does not let us read this: then waiting will not help. */
  readonly isForbidden: boolean;
  readonly lists: number;
  readonly watches: number;
}

/** Bookmarks come about once a minute: two missing ones, and the connection is half-open. */
const IDLE_TIMEOUT_MS = 130_000;
/** The server ends the watch by itself after this; spread out, so that reconnects do not come in waves. */
const WATCH_SECONDS_MIN = 300;
const WATCH_SECONDS_SPREAD = 300;
const OPEN_TIMEOUT_MS = 30_000;
const RETRY_BASE_MS = 500;
const RETRY_MAX_MS = 30_000;
/** A watch that ends sooner than this without an event did not work, whatever it said. */
const USEFUL_WATCH_MS = 5_000;
/** After so many watches in a row that did not work, the version itself is suspected, and everything listed anew. */
const MAX_FRUITLESS_WATCHES = 5;
const PAGE_ATTEMPTS = 4;
/** A list is read without pages after its continue tokens expired so often: then one answer must do. */
const MAX_EXPIRED_PAGES = 2;
/**
 * A server that only has versions from before those we saw was restored from a backup, if it stays so for this long;
 * sooner it is a cache that lags. Until then nothing moves backwards.
 */
const HISTORY_RESET_AFTER_MS = 5 * 60_000;
/** And said so often: a lagging answer before an outage and one after it prove nothing. */
const HISTORY_RESET_LISTS = 5;
/** The largest object etcd takes, four times over for managed fields and escapes. */
const MAX_LINE_LENGTH = 4 * LIMITS.requestBodyBytes;

/** Thrown (inside) when a watch brought nothing for too long. Nothing is known to be wrong yet: opening it anew will tell. */
class IdleWatchError extends Error {
  override readonly name = "IdleWatchError";
}

/** Thrown (inside) when somebody knows better than the watch does that it may have missed something. */
class ListAskedError extends Error {
  override readonly name = "ListAskedError";
}

/** Thrown (inside) when a list is older than what has been seen already. */
class StaleListError extends Error {
  override readonly name = "StaleListError";
}

/**
 * Keeps a cache equal to what the server has of one kind: lists in pages, then watches, and goes on from where it was
 * after every fault. It never stops by itself.
 */
export class Reflector<T extends KubeObject> {
  readonly #options: ReflectorOptions<T>;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #cache: ObjectCache<T>;
  readonly #breather: Breather;
  #stale: { sinceMs: number; lists: number } | undefined;
  #expiredPages = 0;
  #lastHeardMs: number | undefined;
  #failure: string | undefined;
  #isForbidden = false;
  #lists = 0;
  #watches = 0;
  /** Set from when a list was asked for until one has begun since. */
  #isListAsked = false;
  /** Ends the watch or the pause that is under way. */
  #interrupt: AbortController | undefined;

  constructor(options: ReflectorOptions<T>) {
    this.#options = options;
    this.#clock = options.clock;
    this.#log = (options.log ?? silentLog).with({ kind: options.resource.kind, base: options.client.basePath });
    this.#breather = new Breather(options.clock);
    this.#cache = new ObjectCache<T>({
      log: this.#log,
      holds: (object) => this.#holds(object),
      prepare: (object) => this.#prepared(object),
      indexes: options.indexes ?? {},
    });
  }

  get cache(): Cache<T> {
    return this.#cache;
  }

  get health(): ReflectorHealth {
    return {
      hasSynced: this.#cache.hasSynced,
      lastHeardMs: this.#lastHeardMs,
      failure: this.#failure,
      isForbidden: this.#isForbidden,
      lists: this.#lists,
      watches: this.#watches,
    };
  }

  /**
   * Lists at once, whatever the watch does: for whoever learns that the server was away, when a watch may stand still
   * without knowing it. `why` is the failure until the list is in: what was seen before it is not to be relied on.
   */
  listAnew(why: string): void {
    this.#isListAsked = true;
    if (this.#cache.hasSynced) this.#setFailure(why);
    this.#interrupt?.abort(new ListAskedError(why));
  }

  /** Runs until aborted; resolves then, and never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    let failures = 0;
    allowManyListeners(signal);
    while (!signal.aborted) {
      try {
        await this.#list(signal);
        const worked = await this.#watchUntilLost(signal);
        if (worked) failures = 0;
        // A version that expires as soon as it was listed would otherwise mean listing without end.
        else await this.#pause(failures++, undefined, signal);
      } catch (error) {
        if (signal.aborted) break;
        this.#report("list failed; it is tried again", error);
        await this.#pause(failures++, error, signal);
      }
    }
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { client, resource, selection } = this.#options;
    const limit = this.#expiredPages > MAX_EXPIRED_PAGES ? 0 : (this.#options.pageObjects ?? LIMITS.listPageObjects);
    const listed = new Set<string>();
    let reset = false;
    let token: string | undefined;
    let version = "";
    this.#cache.progress.listBegins();
    this.#isListAsked = false;
    do {
      let page: ListPage<T>;
      try {
        // The first page is tried again by `run`, with its longer pauses; the others here, lest one hiccup undo them all.
        const maxAttempts = token === undefined ? 1 : PAGE_ATTEMPTS;
        page = await client.listPage(resource, { ...selection, limit, signal, maxAttempts }, token);
      } catch (error) {
        if (error instanceof ExpiredError) this.#expiredPages++;
        throw error;
      }
      this.#breather.rested();
      if (token === undefined) reset = this.#isHistoryReset(page.resourceVersion);
      version = page.resourceVersion;
      for (const item of page.items) {
        const object = this.#prepared(item);
        listed.add(keyOf(object.metadata));
        if (reset) this.#cache.forceUpsert(object);
        else this.#cache.upsert(object);
        if (this.#breather.isDue) await this.#breather.rest();
      }
      token = page.continueToken;
      this.#lastHeardMs = this.#clock.monotonicMs();
    } while (token !== undefined);
    if (signal.aborted) return;
    this.#cache.finishList(version, listed, reset);
    this.#lists++;
    this.#expiredPages = 0;
    this.#setFailure(undefined);
    if (this.#lists === 1) this.#options.healthChanged?.();
    this.#log.debug("listed", { objects: listed.size, version });
  }

  /** Throws StaleListError while a list from the past may be a cache that lags. */
  #isHistoryReset(version: string): boolean {
    const seen = this.#cache.version;
    if (!isOlder(version, seen)) {
      this.#stale = undefined;
      return false;
    }
    const nowMs = this.#clock.monotonicMs();
    this.#stale ??= { sinceMs: nowMs, lists: 0 };
    this.#stale.lists++;
    if (nowMs - this.#stale.sinceMs < HISTORY_RESET_AFTER_MS || this.#stale.lists < HISTORY_RESET_LISTS) {
      throw new StaleListError(`the server listed version ${version}, but ${seen} has been seen already`);
    }
    this.#log.error("the server's history began anew (a restored backup?); everything is taken as it is now", {
      version,
      seen,
    });
    this.#stale = undefined;
    return true;
  }

  /** Watches, again and again, until the version is lost. Whether any of the watches worked. */
  async #watchUntilLost(signal: AbortSignal): Promise<boolean> {
    let worked = false;
    for (let fruitless = 0; fruitless < MAX_FRUITLESS_WATCHES; ) {
      // Asked for while the last list was under way: that one may be of before.
      if (this.#isListAsked) return true;
      const startedMs = this.#clock.monotonicMs();
      const versionBefore = this.#cache.version;
      let failure: unknown;
      try {
        await this.#watchOnce(signal);
      } catch (error) {
        if (!(error instanceof IdleWatchError)) failure = error;
      }
      if (signal.aborted) return worked;
      if (failure instanceof ListAskedError) return true;
      const useful = this.#cache.version !== versionBefore || this.#clock.monotonicMs() - startedMs >= USEFUL_WATCH_MS;
      if (useful) worked = true;
      if (failure instanceof ExpiredError) {
        this.#log.info("the watch's version is too old; listing anew", { version: versionBefore });
        return worked;
      }
      fruitless = useful ? 0 : fruitless + 1;
      if (failure !== undefined) this.#report("watch broke off; it goes on from where it was", failure);
      if (failure !== undefined || !useful) await this.#pause(Math.max(0, fruitless - 1), failure, signal);
      if (signal.aborted) return worked;
    }
    this.#log.warn("watches keep failing; listing anew", { version: this.#cache.version });
    return worked;
  }

  async #watchOnce(parent: AbortSignal): Promise<void> {
    const { client, resource, selection, random } = this.#options;
    const { controller, letGo } = childAbort(parent);
    const { signal } = controller;
    this.#interrupt = controller;
    try {
      const stream = await withDeadline(this.#clock, OPEN_TIMEOUT_MS, signal, () =>
        client.watch(resource, {
          ...selection,
          resourceVersion: this.#cache.version ?? "",
          timeoutSeconds: Math.round(WATCH_SECONDS_MIN + random.next() * WATCH_SECONDS_SPREAD),
          signal,
        }),
      );
      this.#watches++;
      this.#heard();
      void this.#endWhenIdle(controller);
      const lines = new LineSplitter(MAX_LINE_LENGTH);
      const chunks = stream.chunks[Symbol.asyncIterator]();
      for (;;) {
        const chunk = await orAbort(chunks.next(), signal);
        if (chunk.done) break;
        this.#heard();
        for (const line of lines.push(chunk.value)) {
          this.#handleLine(line);
          if (this.#breather.isDue) await this.#breather.rest();
        }
        signal.throwIfAborted();
      }
      if (lines.hasRest) this.#log.debug("the watch ended inside a line; the rest is asked for again");
    } finally {
      letGo();
      // Also tells the transport to let go of a stream that is not read to its end.
      controller.abort(new Error("watch closed"));
    }
  }

  async #endWhenIdle(controller: AbortController): Promise<void> {
    const limitMs = this.#options.idleTimeoutMs ?? IDLE_TIMEOUT_MS;
    try {
      for (;;) {
        const quietMs = this.#clock.monotonicMs() - (this.#lastHeardMs ?? 0);
        if (quietMs >= limitMs) break;
        // Whole milliseconds: the smallest fraction of one may be too small for the clock to move.
        await this.#clock.sleep(Math.ceil(limitMs - quietMs), controller.signal);
      }
    } catch {
      return; // The watch ended before it was idle.
    }
    controller.abort(new IdleWatchError(`the watch was silent for ${limitMs} ms`));
  }

  #heard(): void {
    this.#lastHeardMs = this.#clock.monotonicMs();
    this.#setFailure(undefined);
    this.#breather.rested();
  }

  #setFailure(failure: string | undefined, isForbidden = false): void {
    if (failure === undefined && this.#isListAsked) return;
    const turned = (failure === undefined) !== (this.#failure === undefined) || isForbidden !== this.#isForbidden;
    this.#failure = failure;
    this.#isForbidden = isForbidden;
    if (turned) this.#options.healthChanged?.();
  }

  #handleLine(line: string): void {
    const event: unknown = JSON.parse(line);
    if (!isJsonObject(event)) throw new Error("the watch sent something that is not an event");
    if (event.type === "ERROR") {
      const context = { method: "GET", path: this.#options.client.basePath, object: "watch" };
      throw statusError(context, statusInfo(event.object, 500));
    }
    const version =
      isJsonObject(event.object) && isJsonObject(event.object.metadata)
        ? event.object.metadata.resourceVersion
        : undefined;
    if (typeof version !== "string" || version === "") throw new Error("the watch sent an event without a version");
    switch (event.type) {
      case "ADDED":
      case "MODIFIED":
        this.#cache.upsert(this.#prepared(readObject(this.#options.resource, event.object)));
        break;
      case "DELETED":
        this.#cache.remove(this.#prepared(readObject(this.#options.resource, event.object)));
        break;
      case "BOOKMARK":
        break;
      default:
        this.#log.warn("the watch sent an event of an unknown type", { type: String(event.type) });
        return;
    }
    this.#cache.progress.saw(version);
  }

  #prepared(object: T): T {
    const { keepManagedFields, transform, freeze } = this.#options;
    let result = keepManagedFields ? object : withoutManagedFields(object);
    if (transform) result = transform(result);
    return freeze ? deepFreeze(result) : result;
  }

  #holds(object: T): boolean | undefined {
    const { selection, selects } = this.#options;
    if (selection?.namespace && object.metadata.namespace !== selection.namespace) return false;
    if (selects) return selects(object);
    return selection?.labelSelector || selection?.fieldSelector ? undefined : true;
  }

  #report(message: string, error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error);
    // The same failure, again and again, is worth one line until something changes.
    if (this.#failure === reason) this.#log.debug(message, { reason });
    else this.#log.warn(message, { reason });
    this.#setFailure(reason, error instanceof ForbiddenError);
  }

  async #pause(attempt: number, error: unknown, signal: AbortSignal): Promise<void> {
    const askedMs = error instanceof StatusError ? Math.min(error.status.retryAfterMs ?? 0, RETRY_MAX_MS) : 0;
    const delayMs = Math.max(askedMs, retryDelayMs(attempt, RETRY_BASE_MS, RETRY_MAX_MS, this.#options.random));
    if (this.#isListAsked) return;
    const { controller, letGo } = childAbort(signal);
    this.#interrupt = controller;
    await this.#clock.sleep(delayMs, controller.signal).catch(() => {});
    letGo();
  }
}
