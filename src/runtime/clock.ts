import { setMaxListeners } from "node:events";
import { performance } from "node:perf_hooks";
import type { Random } from "./random.ts";

/** The only source of time. */
export interface Clock {
  /** Wall-clock milliseconds since 1970. May jump, also backwards: only for values that users and API objects show. */
  now(): number;
  /** Milliseconds that never jump. For every duration, deadline and timeout inside one process. */
  monotonicMs(): number;
  /** Resolves after `durationMs`, or rejects with the signal's reason as soon as it aborts. */
  sleep(durationMs: number, signal?: AbortSignal): Promise<void>;
  /**
   * Runs it after `durationMs`, unless it is cancelled before. For timers that nearly always are, such as a request's
   * deadline.
   */
  after(durationMs: number, run: () => void): CancelTimer;
}

export type CancelTimer = () => void;

// setTimeout treats a longer time as 1 ms; so a longer time is split into several sleeps.
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  sleep(durationMs, signal) {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const onAbort = () => {
        cancel();
        reject(signal?.reason);
      };
      const cancel = systemClock.after(durationMs, () => {
        signal?.removeEventListener("abort", onAbort);
        resolve();
      });
      if (!signal) return;
      // One signal may end many sleeps; Node reports more than ten listeners as a leak on stderr.
      setMaxListeners(0, signal);
      signal.addEventListener("abort", onAbort, { once: true });
    });
  },
  after(durationMs, run) {
    let timer: NodeJS.Timeout | undefined;
    const wait = (leftMs: number) => {
      const napMs = Math.min(Math.max(leftMs, 0), LONGEST_TIMER_MS);
      timer = setTimeout(() => (leftMs > napMs ? wait(leftMs - napMs) : run()), napMs);
    };
    wait(durationMs);
    return () => clearTimeout(timer);
  },
};

/** Exponential backoff with full jitter in its upper half: attempt 0 waits about `baseMs`, never more than `maxMs`. */
export function retryDelayMs(attempt: number, baseMs: number, maxMs: number, random: Random): number {
  const ceiling = Math.min(maxMs, baseMs * 2 ** Math.min(attempt, 30));
  return ceiling / 2 + random.next() * (ceiling / 2);
}
