import { setMaxListeners } from "node:events";
import type { CancelTimer, Clock } from "../clock.ts";
import type { Random } from "../random.ts";

/** A Wednesday of 2025: objects created on virtual time have recognizable dates. */
const DEFAULT_WALL_MS = Date.UTC(2025, 0, 1);

/** `run` gives up after this much virtual time: its promise will not settle any more. */
const DEFAULT_RUN_LIMIT_MS = 24 * 60 * 60 * 1000;

export interface VirtualClockOptions {
  readonly startWallMs?: number;
  /** Decides which of two sleepers with the same wake-up time goes first; by default, the one that slept first. */
  readonly random?: Random;
}

interface Sleeper {
  readonly atMs: number;
  readonly tieBreak: number;
  readonly order: number;
  readonly wake: () => void;
}

/**
 * A clock whose time moves only on a test's request. Sleepers wake one at a time, in the order of their time, and
 * everything that follows from one (promise chains, in-memory I/O) completes before the next wakes.
 */
export class VirtualClock implements Clock {
  readonly #random: Random | undefined;
  readonly #sleepers: Sleeper[] = [];
  #elapsedMs = 0;
  #wallOffsetMs: number;
  #order = 0;

  constructor(options: VirtualClockOptions = {}) {
    this.#random = options.random;
    this.#wallOffsetMs = options.startWallMs ?? DEFAULT_WALL_MS;
  }

  now(): number {
    return Math.floor(this.#wallOffsetMs + this.#elapsedMs);
  }

  monotonicMs(): number {
    return this.#elapsedMs;
  }

  sleep(durationMs: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const onAbort = () => {
        cancel();
        reject(signal?.reason);
      };
      const cancel = this.after(durationMs, () => {
        signal?.removeEventListener("abort", onAbort);
        resolve();
      });
      if (!signal) return;
      setMaxListeners(0, signal);
      signal.addEventListener("abort", onAbort, { once: true });
    });
  }

  after(durationMs: number, run: () => void): CancelTimer {
    const sleeper: Sleeper = {
      atMs: this.#elapsedMs + Math.max(0, durationMs),
      tieBreak: this.#random?.next() ?? 0,
      order: this.#order++,
      wake: run,
    };
    this.#insert(sleeper);
    return () => {
      const index = this.#sleepers.indexOf(sleeper);
      if (index >= 0) this.#sleepers.splice(index, 1);
    };
  }

  /** Sets the wall clock forwards or backwards, as an operator or NTP does. Durations are not touched. */
  jumpWall(deltaMs: number): void {
    this.#wallOffsetMs += deltaMs;
  }

  /** The number of current sleeps. After a complete shutdown it must be zero; otherwise something leaks. */
  get sleeping(): number {
    return this.#sleepers.length;
  }

  /** When the next sleeper wakes, on the monotonic clock. */
  get nextWakeMs(): number | undefined {
    return this.#sleepers[0]?.atMs;
  }

  /**
   * Runs everything that is ready, without moving time: one turn of the event loop drains promise chains of any length.
   */
  settle(): Promise<void> {
    return new Promise((resolve) => setImmediate(resolve));
  }

  /** Wakes the next sleeper and runs what follows from it. False if there is no sleeper. */
  async step(): Promise<boolean> {
    const next = this.#sleepers.shift();
    if (!next) return false;
    this.#elapsedMs = Math.max(this.#elapsedMs, next.atMs);
    next.wake();
    await this.settle();
    return true;
  }

  /** Moves time forward, waking every sleeper on the way. */
  async advance(durationMs: number): Promise<void> {
    await this.settle();
    const endMs = this.#elapsedMs + durationMs;
    for (let next = this.nextWakeMs; next !== undefined && next <= endMs; next = this.nextWakeMs) await this.step();
    this.#elapsedMs = endMs;
  }

  /** Moves time forward until the promise settles. Throws if there is no sleeper left, or after `limitMs`. */
  async run<Value>(promise: Promise<Value>, limitMs = DEFAULT_RUN_LIMIT_MS): Promise<Value> {
    let settled = false;
    const done = () => {
      settled = true;
    };
    promise.then(done, done);
    await this.settle();
    const endMs = this.#elapsedMs + limitMs;
    while (!settled) {
      const next = this.nextWakeMs;
      if (next === undefined) throw new Error("virtual time has stopped: nothing sleeps, and the promise is pending");
      if (next > endMs) throw new Error(`the promise is still pending after ${limitMs} ms of virtual time`);
      await this.step();
    }
    return promise;
  }

  #insert(sleeper: Sleeper): void {
    let low = 0;
    let high = this.#sleepers.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const other = this.#sleepers[middle];
      if (other && isBefore(other, sleeper)) low = middle + 1;
      else high = middle;
    }
    this.#sleepers.splice(low, 0, sleeper);
  }
}

function isBefore(a: Sleeper, b: Sleeper): boolean {
  if (a.atMs !== b.atMs) return a.atMs < b.atMs;
  if (a.tieBreak !== b.tieBreak) return a.tieBreak < b.tieBreak;
  return a.order < b.order;
}
