import type { Clock } from "../runtime/index.ts";

/** Others (leases to renew, requests to answer) get the event loop at least this often while much is read. */
const LONGEST_BLOCK_MS = 8;

/** Lets a long computation give way now and then. On virtual time computing takes no time, so nothing ever changes. */
export class Breather {
  readonly #clock: Clock;
  #sinceMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#sinceMs = clock.monotonicMs();
  }

  /** To be called after waiting for I/O: the loop has just been free. */
  rested(): void {
    this.#sinceMs = this.#clock.monotonicMs();
  }

  /** Whether it is time to await `rest`. Asked separately, since awaiting for nothing costs a turn per object. */
  get isDue(): boolean {
    return this.#clock.monotonicMs() - this.#sinceMs >= LONGEST_BLOCK_MS;
  }

  async rest(): Promise<void> {
    await this.#clock.sleep(0);
    this.rested();
  }
}
