import type { Clock } from "../runtime/index.ts";

/** While much is parsed, other work (leases to renew, requests to answer) gets the event loop at least this often. */
const LONGEST_BLOCK_MS = 8;

/** Lets a long computation yield from time to time. On virtual time computing takes no time, so it never yields. */
export class Breather {
  readonly #clock: Clock;
  #sinceMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#sinceMs = clock.monotonicMs();
  }

  /** Call it after waiting for I/O: the loop has just been free. */
  rested(): void {
    this.#sinceMs = this.#clock.monotonicMs();
  }

  /** Whether it is time to await `rest`. A separate check, because awaiting without need costs a turn per object. */
  get isDue(): boolean {
    return this.#clock.monotonicMs() - this.#sinceMs >= LONGEST_BLOCK_MS;
  }

  async rest(): Promise<void> {
    await this.#clock.sleep(0);
    this.rested();
  }
}
