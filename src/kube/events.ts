import { type Clock, type Log, LruMap, type Random, silentLog, timestamp } from "../runtime/index.ts";
import type { KubeClient } from "./client.ts";
import { NotFoundError, StatusError, WriteOutcomeUnknownError } from "./errors.ts";
import { EventLine } from "./event-line.ts";
import type { KubeObject } from "./object.ts";
import { resource } from "./resource.ts";

const EVENTS = resource({ apiVersion: "v1", kind: "Event", plural: "events", namespaced: true });

export interface EventNote {
  readonly type: "Normal" | "Warning";
  /** One word in CamelCase, for machines. */
  readonly reason: string;
  /** One sentence, for users. */
  message: string;
}

export interface EventRecorderOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log?: Log | undefined;
  /** The reporting component, as `kubectl describe` shows it under "From". */
  readonly component: string;
  /** The process of that component. */
  readonly instance: string;
}

export interface EventStats {
  readonly waiting: number;
  readonly written: number;
  readonly dropped: number;
  readonly suppressed: number;
}

/** Objects and series remembered for counting. If one is dropped, its next occurrence starts a new event. */
const MAX_REMEMBERED = 4_096;
/**
 * client-go's limit: this many events of one object at once, then one every five minutes. Counting continues meanwhile.
 * It applies to routine events and to the counts of warnings; a new warning is always written.
 */
const BURST_PER_OBJECT = 25;
const REFILL_MS = 5 * 60_000;
/** The count of a repeated warning is written at most this long after the limit suppressed it. */
const HELD_BACK_MS = 60_000;
/** A warning that could not be written is retried after this time, as long as necessary. */
const WARNING_RETRY_MS = 10_000;
/** After so many different messages with one reason about one object, within the window, they become one event. */
const MAX_SIMILAR_MESSAGES = 10;
const SIMILAR_WINDOW_MS = 10 * 60_000;
const WRITE_TIMEOUT_MS = 15_000;
const WRITE_ATTEMPTS = 3;
/** How long a shutdown waits for the last events. */
const FLUSH_MS = 3_000;
/** The server's limit. */
const MAX_MESSAGE_LENGTH = 1_024;
const MAX_EVENT_NAME_PREFIX = 200;

/** The reference of an event to its object. Only this is remembered: keeping the object itself would waste memory. */
type Involved = Pick<KubeObject, "apiVersion" | "kind"> &
  Pick<KubeObject["metadata"], "name" | "namespace" | "uid" | "resourceVersion">;

interface Series {
  readonly involved: Involved;
  readonly note: EventNote;
  readonly isWarning: boolean;
  message: string;
  count: number;
  firstMs: number;
  lastMs: number;
  /** The name of the event on the server, after it was written. */
  eventName: string | undefined;
}

/**
 * Writes events that `kubectl describe` shows: core/v1 with count and timestamps, which every server and every kubectl
 * supports. `record` never waits and never throws; repeated events become one event with a count. Too many routine
 * events are dropped. Warnings are combined or written later, and dropped only if the server refuses them permanently.
 */
export class EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #line = new EventLine<Series>();
  readonly #series = new LruMap<string, Series>(MAX_REMEMBERED);
  readonly #similar = new LruMap<string, { sinceMs: number; messages: Set<string> }>(MAX_REMEMBERED);
  readonly #buckets = new LruMap<string, { tokens: number; filledMs: number }>(MAX_REMEMBERED);
  #wake: (() => void) | undefined;
  #written = 0;
  #dropped = 0;
  #suppressed = 0;

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#log = options.log ?? silentLog;
  }

  get stats(): EventStats {
    return {
      waiting: this.#line.size,
      written: this.#written,
      dropped: this.#dropped,
      suppressed: this.#suppressed,
    };
  }

  record(regarding: KubeObject, note: EventNote): void {
    const { kind, metadata } = regarding;
    const object = `${kind}/${metadata.namespace ?? ""}/${metadata.name}/${metadata.uid ?? ""}`;
    const group = `${object}|${note.type}|${note.reason}`;
    const combined = this.#isOneTooMany(group, note.message);
    const nowMs = this.#clock.now();
    const series = this.#series.getOrMake(`${group}|${combined ? "" : note.message}`, () => ({
      involved: involvedObject(regarding),
      note,
      isWarning: note.type === "Warning",
      message: "",
      count: 0,
      firstMs: nowMs,
      lastMs: nowMs,
      eventName: undefined,
    }));
    series.message = (combined ? `(combined from similar events): ${note.message}` : note.message).slice(
      0,
      MAX_MESSAGE_LENGTH,
    );
    series.count++;
    series.lastMs = nowMs;
    if (this.#line.has(series)) return;
    // A new warning uses the same allowance, but is also written without it.
    const isNewWarning = series.isWarning && series.eventName === undefined;
    if (!this.#mayWrite(object) && !isNewWarning) {
      this.#suppressed++;
      if (series.isWarning) this.#writeLater(series, HELD_BACK_MS);
      return;
    }
    this.#enqueue(series);
    this.#wake?.();
  }

  /** Writes until aborted, then writes the remaining events for a short time. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const next = this.#line.take(this.#clock.monotonicMs());
      if (next) await this.#write(next);
      else await this.#until(signal);
    }
    const endMs = this.#clock.monotonicMs() + FLUSH_MS;
    for (const series of this.#line.drain()) {
      if (this.#clock.monotonicMs() >= endMs) break;
      await this.#write(series, endMs - this.#clock.monotonicMs());
    }
  }

  #enqueue(series: Series): void {
    const givenUp = this.#line.add(series);
    if (!givenUp) return;
    this.#dropped++;
    if (givenUp.isWarning) this.#log.warn("too many warnings wait to be written", { event: givenUp.note.reason });
  }

  #writeLater(series: Series, delayMs: number): void {
    this.#line.addLater(series, this.#clock.monotonicMs() + delayMs);
    this.#wake?.();
  }

  /** Until something is recorded, or a waiting event becomes due. */
  #until(signal: AbortSignal): Promise<void> {
    const { dueMs } = this.#line;
    return new Promise((resolve) => {
      let cancel = () => {};
      const wake = () => {
        cancel();
        signal.removeEventListener("abort", wake);
        this.#wake = undefined;
        resolve();
      };
      if (dueMs !== undefined) cancel = this.#clock.after(Math.max(1, dueMs - this.#clock.monotonicMs()), wake);
      this.#wake = wake;
      signal.addEventListener("abort", wake, { once: true });
    });
  }

  async #write(series: Series, timeoutMs = WRITE_TIMEOUT_MS): Promise<void> {
    try {
      await this.#createOrCount(series, { timeoutMs, maxAttempts: WRITE_ATTEMPTS });
      this.#written++;
    } catch (error) {
      if (series.isWarning && mayPass(error)) {
        this.#writeLater(series, WARNING_RETRY_MS);
        return;
      }
      // Its count is kept: the next occurrence writes it.
      if (error instanceof WriteOutcomeUnknownError) return;
      this.#dropped++;
      const reason = error instanceof Error ? error.message : String(error);
      this.#log.warn("an event could not be written", { event: series.note.reason, reason });
    }
  }

  async #createOrCount(series: Series, options: { timeoutMs: number; maxAttempts: number }): Promise<void> {
    const { client } = this.#options;
    const namespace = eventNamespace(series.involved);
    if (series.eventName !== undefined) {
      const body = { count: series.count, lastTimestamp: timestamp(series.lastMs), message: series.message };
      try {
        await client.patch(EVENTS, { namespace, name: series.eventName }, { type: "merge", body }, options);
        return;
      } catch (error) {
        // Events expire, after an hour by default.
        if (!(error instanceof NotFoundError)) throw error;
        series.count = 1;
        series.firstMs = series.lastMs;
      }
    }
    const name = `${series.involved.name.slice(0, MAX_EVENT_NAME_PREFIX)}.${this.#options.random.uuid().slice(0, 18).replaceAll("-", "")}`;
    series.eventName = name;
    await client.create(EVENTS, this.#event(series, namespace, name), options);
  }

  #event(series: Series, namespace: string, name: string): KubeObject {
    const { component, instance } = this.#options;
    const { involved, note } = series;
    return {
      apiVersion: "v1",
      kind: "Event",
      metadata: { name, namespace },
      involvedObject: { ...involved },
      type: note.type,
      reason: note.reason,
      message: series.message,
      count: series.count,
      firstTimestamp: timestamp(series.firstMs),
      lastTimestamp: timestamp(series.lastMs),
      source: { component },
      reportingComponent: component,
      reportingInstance: instance,
    };
  }

  #isOneTooMany(group: string, message: string): boolean {
    const nowMs = this.#clock.monotonicMs();
    const similar = this.#similar.getOrMake(group, () => ({ sinceMs: nowMs, messages: new Set() }));
    if (nowMs - similar.sinceMs > SIMILAR_WINDOW_MS) {
      similar.sinceMs = nowMs;
      similar.messages.clear();
    }
    if (similar.messages.has(message)) return false;
    if (similar.messages.size >= MAX_SIMILAR_MESSAGES) return true;
    similar.messages.add(message);
    return false;
  }

  #mayWrite(object: string): boolean {
    const nowMs = this.#clock.monotonicMs();
    const bucket = this.#buckets.getOrMake(object, () => ({ tokens: BURST_PER_OBJECT, filledMs: nowMs }));
    const refilled = Math.floor((nowMs - bucket.filledMs) / REFILL_MS);
    if (refilled > 0) {
      bucket.tokens = Math.min(BURST_PER_OBJECT, bucket.tokens + refilled);
      bucket.filledMs += refilled * REFILL_MS;
    }
    if (bucket.tokens === 0) return false;
    bucket.tokens--;
    return true;
  }
}

function involvedObject({ apiVersion, kind, metadata }: KubeObject): Involved {
  const { name, namespace, uid, resourceVersion } = metadata;
  return { apiVersion, kind, name, namespace, uid, resourceVersion };
}

const UNAUTHORIZED = 401;
const TOO_MANY_REQUESTS = 429;
const FIRST_SERVER_ERROR = 500;

/** Whether the same write may succeed later. If the server refuses the event itself, it will refuse it again. */
function mayPass(error: unknown): boolean {
  if (!(error instanceof StatusError)) return true;
  const { code } = error.status;
  return code === UNAUTHORIZED || code === TOO_MANY_REQUESTS || code >= FIRST_SERVER_ERROR;
}

/** The server expects the events of cluster-scoped objects in `default`. */
function eventNamespace({ namespace }: Involved): string {
  return namespace ?? "default";
}
