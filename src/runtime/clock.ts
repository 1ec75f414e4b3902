import { setMaxListeners } from "node:events";
import { performance } from "node:perf_hooks";
import type { Random } from "./random.ts";

/** Time, as the one source of it. */
export interface Clock {
  /** Wall-clock milliseconds since 1970. May jump, also backwards: only for what people and API objects read. */
  now(): number;
  /** Milliseconds that never jump. For every duration, deadline and timeout inside one process. */
  monotonicMs(): number;
  /** Resolves after `durationMs`, or rejects with the signal's reason as soon as it aborts. */
  sleep(durationMs: number, signal?: AbortSignal): Promise<void>;
  /** Runs it after `durationMs`, unless it is cancelled before: for what nearly always is, such as a request's deadline. */
  after(durationMs: number, run: () => void): CancelTimer;
}

export type CancelTimer = () => void;

// setTimeout treats anything longer as 1 ms; a longer sleep is taken in several naps.
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  async sleep(durationMs, signal) {
    const end = performance.now() + durationMs;
    for (let left = durationMs; ; left = end - performance.now()) {
      await nap(Math.min(Math.max(left, 0), LONGEST_TIMER_MS), signal);
      if (left <= LONGEST_TIMER_MS) return;
    }
  },
  after(durationMs, run) {
    const end = performance.now() + durationMs;
    const wait = (leftMs: number): NodeJS.Timeout =>
      setTimeout(
        () => {
          if (leftMs <= LONGEST_TIMER_MS) run();
          else timer = wait(end - performance.now());
        },
        Math.min(Math.max(leftMs, 0), LONGEST_TIMER_MS),
      );
    let timer = wait(durationMs);
    return () => clearTimeout(timer);
  },
};

function nap(durationMs: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    }, durationMs);
    if (!signal) return;
    // One signal may end many sleeps; Node takes more than ten listeners for a leak and says so on stderr.
    setMaxListeners(0, signal);
    signal.addEventListener("abort", onAbort, { once: true });
  });
}

/** Exponential backoff with full jitter in its upper half: attempt 0 waits about `baseMs`, never more than `maxMs`. */
export function retryDelayMs(attempt: number, baseMs: number, maxMs: number, random: Random): number {
  const ceiling = Math.min(maxMs, baseMs * 2 ** Math.min(attempt, 30));
  return ceiling / 2 + random.next() * (ceiling / 2);
}
