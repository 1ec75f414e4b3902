/** What the loops of a live page share: waking up when something changed, and not computing the same twice. */
import type { Clock } from "../../runtime/index.ts";

/** The last value and what it was computed for. */
export class Remembered<T> {
  #key: string | undefined;
  #value: T | undefined;

  async get(key: string, compute: () => Promise<T>): Promise<T> {
    if (this.#key === key && this.#value !== undefined) return this.#value;
    const value = await compute();
    this.#key = key;
    this.#value = value;
    return value;
  }
}

/** Wakes a loop when something changed: many changes at once wake it once. */
export class Pulse {
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  #isDue = false;
  #wake: () => void = () => {};

  constructor(clock: Clock, signal: AbortSignal) {
    this.#clock = clock;
    this.#signal = signal;
    signal.addEventListener("abort", () => this.#wake(), { once: true });
  }

  beat(): void {
    this.#isDue = true;
    this.#wake();
  }

  /** Waits for the next change, and a little longer for those that follow it. False: the signal aborted. */
  async next(gapMs: number): Promise<boolean> {
    if (!this.#isDue && !this.#signal.aborted) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    await this.#clock.sleep(gapMs, this.#signal).catch(() => {});
    this.#isDue = false;
    return !this.#signal.aborted;
  }
}
