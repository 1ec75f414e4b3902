/**
 * Lets a few callers at a time do something that takes much memory while it lasts, in the order in which they came.
 */
export class Turns {
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(atOnce: number) {
    this.#free = atOnce;
  }

  /** Resolves when it is this caller's turn, with what ends it: only the first call counts. Rejects when aborted. */
  take(signal: AbortSignal): Promise<() => void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const onAbort = () => {
        this.#waiting.splice(this.#waiting.indexOf(begin), 1);
        reject(signal.reason);
      };
      const begin = () => {
        signal.removeEventListener("abort", onAbort);
        let isHeld = true;
        resolve(() => {
          if (isHeld) this.#pass();
          isHeld = false;
        });
      };
      if (this.#free > 0) {
        this.#free--;
        return begin();
      }
      this.#waiting.push(begin);
      signal.addEventListener("abort", onAbort, { once: true });
    });
  }

  #pass(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#free++;
  }
}
