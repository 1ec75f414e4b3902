import {
  type CancelTimer,
  type Clock,
  type Log,
  type Metrics,
  type Random,
  retryDelayMs,
  silentLog,
} from "../runtime/index.ts";
import { Delays } from "./delays.ts";

/**
 * When to run the key again although nothing changed; undefined: only on a change. The last value counts: an earlier
 * run's request is dropped.
 */
export interface WorkResult {
  readonly requeueAfterMs?: number | undefined;
  /** The same for work that can wait: it is then added as by `addWhenFree`. */
  readonly whenFreeAfterMs?: number | undefined;
}

export interface WorkQueueOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly log?: Log | undefined;
  /** Handles one key. If it throws, it runs again after a delay that doubles each time. */
  readonly work: (key: string, signal: AbortSignal) => Promise<WorkResult | undefined>;
  readonly concurrency?: number | undefined;
  readonly retryBaseMs?: number | undefined;
  readonly retryMaxMs?: number | undefined;
  readonly hooks?: WorkQueueHooks | undefined;
}

/** Called with plain numbers, for any metrics system. */
export interface WorkQueueHooks {
  /** The key left the queue: how long it waited, and how many still wait. */
  started?(key: string, waitedMs: number, depth: number): void;
  finished?(key: string, tookMs: number, failed: boolean): void;
}

/** Hooks that record what controller-runtime's queues record, under the same names. */
export function measuredQueue(metrics: Metrics, name: string): WorkQueueHooks {
  return {
    started: (_key, waitedMs) => metrics.observe("workqueue_queue_duration_seconds", { name }, waitedMs / 1000),
    finished: (_key, tookMs, failed) => {
      metrics.observe("workqueue_work_duration_seconds", { name }, tookMs / 1000);
      if (failed) metrics.count("workqueue_retries_total", { name });
    },
  };
}

export interface WorkQueueStats {
  readonly depth: number;
  readonly running: number;
  readonly delayed: number;
  readonly retrying: number;
  readonly finished: number;
  readonly failed: number;
}

const DEFAULT_CONCURRENCY = 4;
/**
 * Keys that can wait run in addition to the rest, one for this many concurrent workers: they neither starve nor crowd
 * out others.
 */
const KEYS_PER_FREE_SLOT = 16;
/** From a short failure of a tenth of a second to an outage, which is then retried once every two minutes. */
const RETRY_BASE_MS = 100;
const RETRY_MAX_MS = 120_000;

/**
 * A queue of keys. A key waits at most once, however often it is added, and is never processed twice at a time. If it
 * is added while it is being processed, it runs once more afterwards. The order is first come, first served, so that no
 * key starves. Keys that can wait have a separate queue, so that a thousand of them do not delay an urgent one.
 */
export class WorkQueue {
  readonly #options: WorkQueueOptions;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #concurrency: number;
  readonly #freeSlots: number;
  /** Insertion order is the order of work; the value is the time since when the key waits. */
  readonly #waiting = new Map<string, number>();
  /** The same for keys that can wait. */
  readonly #patient = new Map<string, number>();
  readonly #running = new Set<string>();
  #patientRunning = 0;
  /** Added while running. */
  readonly #again = new Map<string, number>();
  readonly #delays = new Delays<string>();
  /** The request of each key's last run. */
  readonly #requeues = new Delays<string>();
  readonly #patientRequeues = new Delays<string>();
  readonly #retries = new Delays<string>();
  readonly #allDelays = [this.#delays, this.#requeues, this.#patientRequeues, this.#retries];
  readonly #failures = new Map<string, number>();
  readonly #workAbort = new AbortController();
  #alarm: { atMs: number; cancel: CancelTimer } | undefined;
  #state: "idle" | "running" | "stopped" = "idle";
  #finished = 0;
  #failed = 0;
  #idleWaiters: (() => void)[] = [];

  constructor(options: WorkQueueOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#log = options.log ?? silentLog;
    this.#concurrency = options.concurrency ?? DEFAULT_CONCURRENCY;
    this.#freeSlots = Math.max(1, Math.floor(this.#concurrency / KEYS_PER_FREE_SLOT));
  }

  get stats(): WorkQueueStats {
    return {
      depth: this.#waiting.size + this.#patient.size,
      running: this.#running.size,
      delayed: this.#delays.size + this.#requeues.size + this.#patientRequeues.size,
      retrying: this.#retries.size,
      finished: this.#finished,
      failed: this.#failed,
    };
  }

  /** Starts processing; earlier keys wait until then. */
  start(): void {
    if (this.#state !== "idle") return;
    this.#state = "running";
    this.#wake();
  }

  /** Due at once. Ignored after shutdown. */
  add(key: string): void {
    if (this.#state === "stopped") return;
    const nowMs = this.#clock.monotonicMs();
    this.#patient.delete(key);
    if (this.#running.has(key)) {
      if (!this.#again.has(key)) this.#again.set(key, nowMs);
    } else if (!this.#waiting.has(key)) this.#waiting.set(key, nowMs);
    this.#dispatch();
  }

  /** Due, but after urgent keys: for what affects very many keys at once, or is not waited for. */
  addWhenFree(key: string): void {
    if (this.#state === "stopped") return;
    const isDueAnyway = this.#waiting.has(key) || this.#again.has(key) || this.#patient.has(key);
    if (!isDueAnyway) this.#patient.set(key, this.#clock.monotonicMs());
    this.#dispatch();
  }

  /** Due after a delay. Of several times for one key, the earliest wins; `add` in the meantime does not cancel it. */
  addAfter(key: string, delayMs: number): void {
    if (this.#state === "stopped") return;
    if (delayMs > 0) {
      this.#delays.add(key, this.#clock.monotonicMs() + delayMs);
      this.#wake();
    } else this.add(key);
  }

  /** Forgets a key that is gone: its delays, its failures. Work in progress completes. */
  forget(key: string): void {
    this.#waiting.delete(key);
    this.#patient.delete(key);
    this.#again.delete(key);
    for (const delays of this.#allDelays) delays.remove(key);
    this.#failures.delete(key);
  }

  /**
   * Accepts no more work and resolves when the work in progress is complete. With `graceMs`, the signal of longer work
   * is aborted then; the client still completes the write that it has sent.
   */
  async shutdown(graceMs?: number): Promise<void> {
    this.#state = "stopped";
    this.#waiting.clear();
    this.#patient.clear();
    this.#again.clear();
    for (const delays of this.#allDelays) delays.clear();
    this.#alarm?.cancel();
    if (this.#running.size === 0) return;
    const abort = () => {
      this.#workAbort.abort(new Error(`shutdown: the work did not end within ${graceMs} ms`));
    };
    const cancel = graceMs === undefined ? undefined : this.#clock.after(graceMs, abort);
    await new Promise<void>((resolve) => this.#idleWaiters.push(resolve));
    cancel?.();
  }

  #dispatch(): void {
    if (this.#state !== "running") return;
    while (this.#running.size - this.#patientRunning < this.#concurrency) {
      const next = this.#waiting.entries().next();
      if (next.done) break;
      void this.#run(...next.value, "waiting");
    }
    // A running key is skipped: it is next when it has ended. There are few of those.
    for (const [key, sinceMs] of this.#patient) {
      if (this.#patientRunning >= this.#freeSlots) return;
      if (!this.#running.has(key)) void this.#run(key, sinceMs, "patient");
    }
  }

  async #run(key: string, sinceMs: number, line: "waiting" | "patient"): Promise<void> {
    const startedMs = this.#clock.monotonicMs();
    (line === "waiting" ? this.#waiting : this.#patient).delete(key);
    this.#running.add(key);
    if (line === "patient") this.#patientRunning++;
    this.#options.hooks?.started?.(key, startedMs - sinceMs, this.#waiting.size + this.#patient.size);
    let failed = false;
    try {
      // An asynchronous step in between, so that work that throws or adds keys synchronously cannot re-enter the
      // dispatch. Keys that can wait let the event loop run: a thousand keys with nothing to do would otherwise run
      // without a pause.
      await (line === "patient" ? this.#clock.sleep(0) : Promise.resolve());
      const result = await this.#options.work(key, this.#workAbort.signal);
      this.#succeeded(key, result);
    } catch (error) {
      failed = true;
      this.#retryLater(key, error);
    }
    this.#running.delete(key);
    if (line === "patient") this.#patientRunning--;
    this.#options.hooks?.finished?.(key, this.#clock.monotonicMs() - startedMs, failed);
    const againSinceMs = this.#again.get(key);
    this.#again.delete(key);
    if (againSinceMs !== undefined && this.#state === "running") this.#waiting.set(key, againSinceMs);
    this.#dispatch();
    if (this.#running.size === 0) for (const done of this.#idleWaiters.splice(0)) done();
  }

  #succeeded(key: string, result: WorkResult | undefined): void {
    this.#finished++;
    this.#failures.delete(key);
    this.#retries.remove(key);
    if (this.#state === "stopped") return;
    const nowMs = this.#clock.monotonicMs();
    const dueMs = (afterMs: number | undefined) => (afterMs === undefined ? undefined : nowMs + afterMs);
    this.#requeues.set(key, dueMs(result?.requeueAfterMs));
    this.#patientRequeues.set(key, dueMs(result?.whenFreeAfterMs));
    if (result) this.#wake();
  }

  #retryLater(key: string, error: unknown): void {
    this.#failed++;
    const failures = this.#failures.get(key) ?? 0;
    const { retryBaseMs = RETRY_BASE_MS, retryMaxMs = RETRY_MAX_MS, random } = this.#options;
    const delayMs = retryDelayMs(failures, retryBaseMs, retryMaxMs, random);
    const reason = error instanceof Error ? error.message : String(error);
    this.#log.warn("work failed; it is retried", {
      key,
      failures: failures + 1,
      delayMs: Math.round(delayMs),
      reason,
    });
    if (this.#state === "stopped") return;
    this.#failures.set(key, failures + 1);
    // A retry replaces the previous one: the delay grows, even if events made the key run in between.
    this.#retries.remove(key);
    this.#retries.add(key, this.#clock.monotonicMs() + delayMs);
    this.#wake();
  }

  /** Wakes the next delayed key in time: at most one timer, however many keys wait. */
  #wake(): void {
    if (this.#state !== "running") return;
    this.#dispatch();
    const nextMs = Math.min(...this.#allDelays.map((delays) => delays.nextMs ?? Number.POSITIVE_INFINITY));
    if (nextMs === Number.POSITIVE_INFINITY || (this.#alarm && this.#alarm.atMs <= nextMs)) return;
    this.#alarm?.cancel();
    const cancel = this.#clock.after(Math.ceil(nextMs - this.#clock.monotonicMs()), () => {
      this.#alarm = undefined;
      this.#addDue();
    });
    this.#alarm = { atMs: nextMs, cancel };
  }

  #addDue(): void {
    const nowMs = this.#clock.monotonicMs();
    for (const delays of [this.#delays, this.#requeues, this.#retries]) {
      for (let key = delays.take(nowMs); key !== undefined; key = delays.take(nowMs)) this.add(key);
    }
    const patient = this.#patientRequeues;
    for (let key = patient.take(nowMs); key !== undefined; key = patient.take(nowMs)) this.addWhenFree(key);
    this.#wake();
  }
}
