import type { Clock } from "../../runtime/index.ts";

/** Even if edits never stop, a revision is made after this many times the quiet time. */
const LONGEST_IN_QUIET_TIMES = 10;

interface Moving {
  readonly digest: string;
  readonly firstMs: number;
  readonly lastMs: number;
}

/** [U15] For how long what a revision is made of has been quiet. A new leader starts to count when it first looks. */
export class Settling {
  readonly #clock: Clock;
  readonly #moving = new Map<string, Moving>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How much longer this content has to stay as it is; 0: it has settled. */
  leftMs(appKey: string, digest: string, quietMs: number): number {
    const nowMs = this.#clock.monotonicMs();
    const before = this.#moving.get(appKey);
    const now = before?.digest === digest ? before : { digest, firstMs: before?.firstMs ?? nowMs, lastMs: nowMs };
    this.#moving.set(appKey, now);
    const dueMs = Math.min(now.lastMs + quietMs, now.firstMs + LONGEST_IN_QUIET_TIMES * quietMs);
    return Math.max(0, dueMs - nowMs);
  }

  /** A revision of it was made, or the content is the previous revision's again. */
  end(appKey: string): void {
    this.#moving.delete(appKey);
  }
}
