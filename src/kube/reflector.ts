import { type Clock, isJsonObject, LIMITS, type Log, type Random, retryDelayMs, silentLog } from "../runtime/index.ts";
import { Breather } from "./breather.ts";
import { type Cache, ObjectCache } from "./cache.ts";
import type { KubeClient, ListPage, Selection } from "./client.ts";
import { allowManyListeners, childAbort, orAbort, withDeadline } from "./deadline.ts";
import { ExpiredError, ForbiddenError, StatusError, statusError, statusInfo } from "./errors.ts";
import type { IndexFunction } from "./indexes.ts";
import { LineSplitter } from "./lines.ts";
import type { UnwantedKeys } from "./list-body.ts";
import { deepFreeze, type KubeObject, keyOf, withoutManagedFields } from "./object.ts";
import { type Resource, readObject } from "./resource.ts";
import { isOlder } from "./resource-version.ts";
import type { StreamClaim, StreamSeat } from "./stream-budget.ts";

export interface ReflectorOptions<T extends KubeObject> {
  readonly client: KubeClient;
  readonly resource: Resource<T>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log?: Log | undefined;
  readonly selection?: Selection | undefined;
  /**
   * The meaning of `selection`'s label and field selectors, so that our own writes enter the cache only if they match.
   */
  readonly selects?: ((object: T) => boolean) | undefined;
  readonly indexes?: Readonly<Record<string, IndexFunction<T>>> | undefined;
  /** Drops unused fields before an object is kept. */
  readonly transform?: ((object: T) => T) | undefined;
  /** Keys whose texts `transform` drops anyway: long lists are read without them. */
  readonly unwanted?: UnwantedKeys | undefined;
  /** Makes changing a cached object throw. For tests. */
  readonly freeze?: boolean | undefined;
  readonly pageObjects?: number | undefined;
  /** Only metadata crosses the wire. */
  readonly metadataOnly?: boolean | undefined;
  /** Receives everything instead of the cache, which stays empty: for kinds of which few objects are read. */
  readonly feed?: ReflectorFeed<T> | undefined;
  /** The streams that it shares a limit with; absent: those that the program always has. */
  readonly stream?: Pick<StreamClaim, "lane" | "weight"> | undefined;
  /** A watch that brings nothing for this long, not even a bookmark, counts as dead and is reopened. */
  readonly idleTimeoutMs?: number | undefined;
  /** Called when the list or watch stops working, works again, or works for the first time. */
  readonly healthChanged?: (() => void) | undefined;
}

/** Receives the content of lists and watches, in order. An event may be older than the result of a later `get`. */
export interface ReflectorFeed<T> {
  listBegins(): void;
  listed(object: T): void;
  /** Objects that were not listed since `listBegins` are gone. */
  listEnded(): void;
  changed(object: T, isDeleted: boolean): void;
}

export interface ReflectorHealth {
  readonly hasSynced: boolean;
  /**
   * When the server last sent something, on the monotonic clock. If that is longer ago than the bookmark interval, the
   * stream is suspect.
   */
  readonly lastHeardMs: number | undefined;
  /** Why the list or watch does not work now. */
  readonly failure: string | undefined;
  /** Whether it fails because the server does not allow the read: then waiting does not help. */
  readonly isForbidden: boolean;
  /** Whether it waits for a free stream: then the failure is not about the server. */
  readonly isStarved: boolean;
  readonly lists: number;
  readonly watches: number;
}

/** Bookmarks come about once a minute: if two are missing, the connection is half-open. */
const IDLE_TIMEOUT_MS = 130_000;
/** The server ends the watch by itself after this time; randomized, so that reconnects do not come in waves. */
const WATCH_SECONDS_MIN = 300;
const WATCH_SECONDS_SPREAD = 300;
const OPEN_TIMEOUT_MS = 30_000;
const RETRY_BASE_MS = 500;
const RETRY_MAX_MS = 30_000;
/** A watch that ends sooner than this without an event did not work. */
const USEFUL_WATCH_MS = 5_000;
/** After this many failed watches in a row, the version itself is suspect, and everything is listed again. */
const MAX_FRUITLESS_WATCHES = 5;
const PAGE_ATTEMPTS = 4;
/** A page is read and parsed within this time, unless its server is slow. */
const LIST_TURN_MS = 1_000;
/** After its continue tokens expired this often, a list is read without pages. */
const MAX_EXPIRED_PAGES = 2;
/**
 * If a server only has older versions than we have seen, it was restored from a backup, provided that this lasts this
 * long; before that, it is a lagging cache. Until then, nothing moves backwards.
 */
const HISTORY_RESET_AFTER_MS = 5 * 60_000;
/** And this many answers agree: one lagging answer before an outage and one after it prove nothing. */
const HISTORY_RESET_LISTS = 5;
/** The largest object that etcd accepts, times four for managed fields and escapes. */
const MAX_LINE_LENGTH = 4 * LIMITS.requestBodyBytes;

/**
 * Thrown internally when a watch brought nothing for too long. Nothing is known to be wrong yet: reopening it will
 * show.
 */
class IdleWatchError extends Error {
  override readonly name = "IdleWatchError";
}

/** Thrown internally when a caller knows that the watch may have missed something. */
class ListAskedError extends Error {
  override readonly name = "ListAskedError";
}

/** Thrown internally when a list is older than what was already seen. */
class StaleListError extends Error {
  override readonly name = "StaleListError";
}

/**
 * Keeps a cache equal to the server's objects of one kind: lists in pages, then watches, and resumes after every fault.
 * It never stops by itself.
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
  #isStarved = false;
  #seat: StreamSeat | undefined;
  #lists = 0;
  #watches = 0;
  /** Set from the request of a list until a list has started since. */
  #isListAsked = false;
  /** Ends the current watch or pause. */
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
      isStarved: this.#isStarved,
      lists: this.#lists,
      watches: this.#watches,
    };
  }

  /**
   * Lists at once, regardless of the watch: for callers that learn that the server was unreachable, when a watch may
   * stall unnoticed. `why` is the failure until the list is complete: what was seen before it is not reliable.
   */
  listAnew(why: string): void {
    this.#isListAsked = true;
    if (this.#cache.hasSynced && !this.#isStarved) this.#setFailure(why);
    this.#interrupt?.abort(new ListAskedError(why));
  }

  /** Runs until aborted; resolves then, and never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    let failures = 0;
    allowManyListeners(signal);
    while (!signal.aborted) {
      try {
        await this.#takeSeat(signal);
        await this.#list(signal);
        const worked = await this.#watchUntilLost(signal);
        if (worked) failures = 0;
        // Otherwise a version that expires as soon as it was listed would cause endless lists.
        else await this.#pause(failures++, undefined, signal);
      } catch (error) {
        if (signal.aborted) break;
        this.#report("list failed; it is retried", error);
        await this.#pause(failures++, error, signal);
      }
    }
    this.#seat?.release();
  }

  /** Before anything is read: a stream that has to wait costs the server nothing. */
  async #takeSeat(signal: AbortSignal): Promise<void> {
    if (this.#seat?.isOwed()) {
      this.#seat.release();
      this.#seat = undefined;
    }
    if (this.#seat) return;
    const { client, resource, stream } = this.#options;
    const claim = {
      lane: stream?.lane ?? "own",
      kind: `${resource.apiVersion}/${resource.kind}`,
      weight: stream?.weight,
    };
    this.#seat = await client.streams.take(claim, signal, (why) => this.#setFailure(why, "starved"));
    this.#showLife();
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { client, resource, selection, metadataOnly, feed, unwanted } = this.#options;
    const limit = this.#expiredPages > MAX_EXPIRED_PAGES ? 0 : (this.#options.pageObjects ?? LIMITS.listPageObjects);
    const listed = new Set<string>();
    let reset = false;
    let token: string | undefined;
    let version = "";
    this.#cache.progress.listBegins();
    feed?.listBegins();
    this.#isListAsked = false;
    do {
      const turn = await this.#listTurn(signal);
      try {
        // `run` retries the first page, with its longer pauses; the others are retried here, so that one failure does
        // not discard them all.
        const maxAttempts = token === undefined ? 1 : PAGE_ATTEMPTS;
        const options = { ...selection, metadataOnly, limit, signal, maxAttempts, unwanted };
        const page: ListPage<T> = await client.listPage(resource, options, token);
        this.#breather.rested();
        if (token === undefined) reset = this.#isHistoryReset(page.resourceVersion);
        version = page.resourceVersion;
        for (const item of page.items) {
          const object = this.#prepared(item);
          if (feed) feed.listed(object);
          else {
            listed.add(keyOf(object.metadata));
            if (reset) this.#cache.forceUpsert(object);
            else this.#cache.upsert(object);
          }
          if (this.#breather.isDue) await this.#breather.rest();
        }
        token = page.continueToken;
      } catch (error) {
        if (error instanceof ExpiredError) this.#expiredPages++;
        throw error;
      } finally {
        turn.end();
      }
      this.#lastHeardMs = this.#showLife();
    } while (token !== undefined);
    if (signal.aborted) return;
    this.#cache.finishList(version, listed, reset);
    feed?.listEnded();
    this.#lists++;
    this.#expiredPages = 0;
    this.#setFailure(undefined);
    if (this.#lists === 1) this.#options.healthChanged?.();
    this.#log.debug("listed", { objects: listed.size, version });
  }

  /** A server that does not answer soon gives way to others, so that an unreachable cluster delays none. */
  async #listTurn(signal: AbortSignal): Promise<{ end(): void }> {
    const pass = await this.#options.client.listTurns.take(signal);
    const waiting = new AbortController();
    void this.#clock.sleep(LIST_TURN_MS, waiting.signal).then(pass, () => {});
    return {
      end: () => {
        waiting.abort();
        pass();
      },
    };
  }

  /** Throws StaleListError while an older list may come from a lagging cache. */
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
    this.#log.error("the server's history was reset (a restored backup?); its current state is accepted", {
      version,
      seen,
    });
    this.#stale = undefined;
    return true;
  }

  /** Watches repeatedly until the version is lost. Returns whether any of the watches worked. */
  async #watchUntilLost(signal: AbortSignal): Promise<boolean> {
    let worked = false;
    for (let fruitless = 0; fruitless < MAX_FRUITLESS_WATCHES; ) {
      await this.#takeSeat(signal);
      // Requested while the last list was in progress: that list may be older than the request.
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
        this.#log.info("the watch's version is too old; listing again", { version: versionBefore });
        return worked;
      }
      fruitless = useful ? 0 : fruitless + 1;
      if (failure !== undefined) this.#report("watch failed; it resumes where it was", failure);
      if (failure !== undefined || !useful) await this.#pause(Math.max(0, fruitless - 1), failure, signal);
      if (signal.aborted) return worked;
    }
    this.#log.warn("watches keep failing; listing again", { version: this.#cache.version });
    return worked;
  }

  async #watchOnce(parent: AbortSignal): Promise<void> {
    const { client, resource, selection, metadataOnly, random } = this.#options;
    const { controller, letGo } = childAbort(parent);
    const { signal } = controller;
    this.#interrupt = controller;
    try {
      const stream = await withDeadline(this.#clock, OPEN_TIMEOUT_MS, signal, () =>
        client.watch(resource, {
          ...selection,
          metadataOnly,
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
      if (lines.hasRest) this.#log.debug("the watch ended inside a line; the rest is requested again");
    } finally {
      letGo();
      // Also tells the transport to release a stream that is not read to its end.
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

  /** Whether the server answers or not: this loop still runs. */
  #showLife(): number {
    const nowMs = this.#clock.monotonicMs();
    this.#seat?.alive(nowMs);
    return nowMs;
  }

  #heard(): void {
    this.#lastHeardMs = this.#showLife();
    this.#setFailure(undefined);
    this.#breather.rested();
  }

  #setFailure(failure: string | undefined, cause?: "forbidden" | "starved"): void {
    if (failure === undefined && this.#isListAsked) return;
    const [isForbidden, isStarved] = [cause === "forbidden", cause === "starved"];
    const turned =
      (failure === undefined) !== (this.#failure === undefined) ||
      isForbidden !== this.#isForbidden ||
      isStarved !== this.#isStarved;
    this.#failure = failure;
    this.#isForbidden = isForbidden;
    this.#isStarved = isStarved;
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
    const { feed } = this.#options;
    switch (event.type) {
      case "ADDED":
      case "MODIFIED":
      case "DELETED": {
        const object = this.#prepared(readObject(this.#options.resource, event.object));
        if (feed) feed.changed(object, event.type === "DELETED");
        else if (event.type === "DELETED") this.#cache.remove(object);
        else this.#cache.upsert(object);
        break;
      }
      case "BOOKMARK":
        break;
      default:
        this.#log.warn("the watch sent an event of an unknown type", { type: String(event.type) });
        return;
    }
    this.#cache.progress.saw(version);
  }

  #prepared(object: T): T {
    const { transform, freeze } = this.#options;
    // Often half of an object, and no reader needs them.
    let result = withoutManagedFields(object);
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
    // A repeated failure is logged once until something changes.
    if (this.#failure === reason) this.#log.debug(message, { reason });
    else this.#log.warn(message, { reason });
    this.#setFailure(reason, error instanceof ForbiddenError ? "forbidden" : undefined);
  }

  async #pause(attempt: number, error: unknown, signal: AbortSignal): Promise<void> {
    const askedMs = error instanceof StatusError ? Math.min(error.status.retryAfterMs ?? 0, RETRY_MAX_MS) : 0;
    const delayMs = Math.max(askedMs, retryDelayMs(attempt, RETRY_BASE_MS, RETRY_MAX_MS, this.#options.random));
    this.#showLife();
    if (this.#isListAsked) return;
    const { controller, letGo } = childAbort(signal);
    this.#interrupt = controller;
    await this.#clock.sleep(delayMs, controller.signal).catch(() => {});
    letGo();
  }
}
