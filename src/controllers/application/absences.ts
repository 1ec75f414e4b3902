import type { Clock } from "../../runtime/index.ts";

/** A watch may be behind a delivery for a moment: an object counts as lost when it has been absent for this long. */
const LOST_AFTER_MS = 3_000;
/** An object that does not come back is sent again this often, not more. */
const SENT_AGAIN_MS = 30_000;
export const LOOK_AGAIN_MS = LOST_AFTER_MS;

/**
 * Objects that were delivered and are absent. Karmada recreates what it finds by the names of its own Works, and OCM's
 * agents look every few minutes: what a user deletes in a member would be missed for long.
 */
export class Absences {
  readonly #clock: Clock;
  readonly #sinceMs = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether the object has been absent for long enough to be sent again. Asked with every look at it. */
  isLost(id: string, isAbsent: boolean): boolean {
    const nowMs = this.#clock.monotonicMs();
    if (!isAbsent) {
      this.#sinceMs.delete(id);
      return false;
    }
    const sinceMs = this.#sinceMs.get(id);
    if (sinceMs === undefined) this.#sinceMs.set(id, nowMs);
    if (sinceMs === undefined || nowMs - sinceMs < LOST_AFTER_MS) return false;
    this.#sinceMs.set(id, nowMs + SENT_AGAIN_MS);
    return true;
  }

  /** Something was seen to be absent, and is looked at again soon. */
  get isWaiting(): boolean {
    return this.#sinceMs.size > 0;
  }
}
