import { type Clock, type Log, type Random, silentLog } from "../runtime/index.ts";
import { BoundedMap } from "./bounded-map.ts";
import type { KubeClient } from "./client.ts";
import { NotFoundError, WriteOutcomeUnknownError } from "./errors.ts";
import type { KubeObject } from "./object.ts";
import { resource } from "./resource.ts";

const EVENTS = resource({ apiVersion: "v1", kind: "Event", plural: "events", namespaced: true });

export interface EventNote {
  readonly type: "Normal" | "Warning";
  /** One word in CamelCase, for machines. */
  readonly reason: string;
  /** One sentence, for people. */
  readonly message: string;
}

export interface EventRecorderOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log?: Log | undefined;
  /** Who reports, as `kubectl describe` shows it under "From". */
  readonly component: string;
  /** Which process of it. */
  readonly instance: string;
}

export interface EventStats {
  readonly waiting: number;
  readonly written: number;
  readonly dropped: number;
  readonly suppressed: number;
}

/** Notes not yet written. More than this means that the server cannot be reached, and old news is worth little. */
const MAX_WAITING = 1_000;
/** Objects and series remembered for counting. Forgetting one only begins a new event for it. */
const MAX_REMEMBERED = 4_096;
/** client-go's limit: this many events of one object at once, then one every five minutes. Counts go on meanwhile. */
const BURST_PER_OBJECT = 25;
const REFILL_MS = 5 * 60_000;
/** After so many different messages with one reason about one object, within the window, they become one event. */
const MAX_SIMILAR_MESSAGES = 10;
const SIMILAR_WINDOW_MS = 10 * 60_000;
const WRITE_TIMEOUT_MS = 15_000;
const WRITE_ATTEMPTS = 3;
/** What a shutdown waits for the last notes. */
const FLUSH_MS = 3_000;
/** The server's limit. */
const MAX_MESSAGE_LENGTH = 1_024;
const MAX_EVENT_NAME_PREFIX = 200;

/** What an event says of its object. No more is remembered: the object itself, as it was then, would stay in memory. */
type Involved = Pick<KubeObject, "apiVersion" | "kind"> &
  Pick<KubeObject["metadata"], "name" | "namespace" | "uid" | "resourceVersion">;

interface Series {
  readonly involved: Involved;
  readonly note: EventNote;
  message: string;
  count: number;
  firstMs: number;
  lastMs: number;
  /** The name of the event on the server, once there is one. */
  eventName: string | undefined;
}

/**
 * Writes events that `kubectl describe` shows: core/v1 with count and timestamps, which every server and every kubectl
 * knows. `record` never waits and never throws; what repeats becomes one event with a count.
 */
export class EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #waiting = new Set<Series>();
  readonly #series = new BoundedMap<string, Series>(MAX_REMEMBERED);
  readonly #similar = new BoundedMap<string, { sinceMs: number; messages: Set<string> }>(MAX_REMEMBERED);
  readonly #buckets = new BoundedMap<string, { tokens: number; filledMs: number }>(MAX_REMEMBERED);
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
      waiting: this.#waiting.size,
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
    if (this.#waiting.has(series)) return;
    if (this.#waiting.size >= MAX_WAITING) {
      this.#dropped++;
      return;
    }
    if (!this.#mayWrite(object)) {
      this.#suppressed++;
      return;
    }
    this.#waiting.add(series);
    this.#wake?.();
  }

  /** Writes until aborted, then what is left for a short while. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const [next] = this.#waiting;
      if (next) await this.#write(next);
      else await this.#until(signal);
    }
    const endMs = this.#clock.monotonicMs() + FLUSH_MS;
    for (const series of this.#waiting) {
      if (this.#clock.monotonicMs() >= endMs) break;
      await this.#write(series, endMs - this.#clock.monotonicMs());
    }
  }

  #until(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        signal.removeEventListener("abort", wake);
        this.#wake = undefined;
        resolve();
      };
      this.#wake = wake;
      signal.addEventListener("abort", wake, { once: true });
    });
  }

  async #write(series: Series, timeoutMs = WRITE_TIMEOUT_MS): Promise<void> {
    // Taken out first: what happens while it is being written is news again.
    this.#waiting.delete(series);
    try {
      await this.#createOrCount(series, { timeoutMs, maxAttempts: WRITE_ATTEMPTS });
      this.#written++;
    } catch (error) {
      // Its count is not lost: the next occurrence writes it.
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

/** The server wants the events of cluster-scoped objects in `default`. */
function eventNamespace({ namespace }: Involved): string {
  return namespace ?? "default";
}

/** Kubernetes' Time has whole seconds. */
function timestamp(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
}
