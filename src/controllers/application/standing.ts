import { type Clock, LruMap } from "../../runtime/index.ts";

/** A namespace that is there may be deleted: it is looked for again after this time. */
const REMEMBERED_MS = 60_000;
const REMEMBERED_MAX = 1_000;

/**
 * Objects that one application needs and that others made, such as its target namespace: they are used as they are
 * found. To write them would be to fight with their owners over marks and labels.
 */
export class Standing {
  readonly #clock: Clock;
  readonly #seenAtMs = new LruMap<string, number>(REMEMBERED_MAX);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(cluster: string, key: string): void {
    this.#seenAtMs.set(`${cluster} ${key}`, this.#clock.monotonicMs());
  }

  /** The last look found that it is not there. */
  delete(cluster: string, key: string): void {
    this.#seenAtMs.delete(`${cluster} ${key}`);
  }

  has(cluster: string, key: string): boolean {
    return this.#seenAtMs.get(`${cluster} ${key}`) !== undefined;
  }

  /** Whether that need not be looked at again yet. */
  isRecent(cluster: string, key: string): boolean {
    const seenAtMs = this.#seenAtMs.get(`${cluster} ${key}`);
    return seenAtMs !== undefined && this.#clock.monotonicMs() - seenAtMs < REMEMBERED_MS;
  }
}
