import { getEventListeners, setMaxListeners } from "node:events";
import type { Clock } from "../runtime/index.ts";

/** The reason of an abort that a deadline caused. */
export class DeadlineReached extends Error {
  override readonly name = "DeadlineReached";
  readonly afterMs: number;
  constructor(afterMs: number) {
    super(`deadline of ${afterMs} ms reached`);
    this.afterMs = afterMs;
  }
}

/**
 * Controllers that were not aborted and have no listeners left, for reuse: creating one costs more than the rest of a
 * deadline. The receiver of a signal must remove its listeners when its work ends.
 */
const unused: AbortController[] = [];
const MAX_UNUSED = 64;

function keepUnused(controller: AbortController): void {
  const { signal } = controller;
  if (signal.aborted || unused.length >= MAX_UNUSED || getEventListeners(signal, "abort").length > 0) return;
  unused.push(controller);
}

/**
 * Runs `work` with a signal that aborts when the time is over or the parent aborts. It settles at that moment even if
 * the work ignores the signal. Leaves neither a timer nor a listener behind: AbortSignal.any would keep one per request
 * on a parent that lives as long as the process.
 */
export function withDeadline<Value>(
  clock: Clock,
  durationMs: number,
  parent: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<Value>,
): Promise<Value> {
  return new Promise((resolve, reject) => {
    parent?.throwIfAborted();
    if (parent) allowManyListeners(parent);
    const inner = unused.pop() ?? new AbortController();
    const letGo = () => {
      cancel();
      parent?.removeEventListener("abort", onParentAbort);
    };
    const cutOff = (reason: unknown) => {
      letGo();
      reject(reason);
      inner.abort(reason);
    };
    const onParentAbort = () => cutOff(parent?.reason);
    const cancel = clock.after(durationMs, () => cutOff(new DeadlineReached(durationMs)));
    parent?.addEventListener("abort", onParentAbort, { once: true });
    // After the work has ended, nothing stops it; after it was cut off, its result is ignored.
    work(inner.signal).then(
      (value) => {
        letGo();
        keepUnused(inner);
        resolve(value);
      },
      (error) => {
        letGo();
        keepUnused(inner);
        reject(error);
      },
    );
  });
}

/** The promise's result, or the signal's reason if that comes first. */
export function orAbort<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) {
      promise.catch(() => {});
      return onAbort();
    }
    signal.addEventListener("abort", onAbort, { once: true });
    promise.then(
      (value) => {
        signal.removeEventListener("abort", onAbort);
        resolve(value);
      },
      (error) => {
        signal.removeEventListener("abort", onAbort);
        reject(error);
      },
    );
  });
}

/** A controller that aborts with its parent, until it is released. */
export function childAbort(parent: AbortSignal): { controller: AbortController; letGo: () => void } {
  const controller = new AbortController();
  allowManyListeners(parent);
  const onAbort = () => controller.abort(parent.reason);
  if (parent.aborted) onAbort();
  else parent.addEventListener("abort", onAbort, { once: true });
  return { controller, letGo: () => parent.removeEventListener("abort", onAbort) };
}

/**
 * One signal stops a whole process with its many requests and watches; Node reports more than ten listeners as a leak.
 */
export function allowManyListeners(signal: AbortSignal): void {
  setMaxListeners(0, signal);
}
