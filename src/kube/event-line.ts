/** What an Event line holds: items that are either routine or a warning. */
export interface Queued {
  readonly isWarning: boolean;
}

/**
 * Routine events not yet written. More than this means that the server is unreachable, and old events have little
 * value.
 */
export const MAX_WAITING = 1_000;
/** Warnings not yet written: enough for one for each object of a large hub. */
export const MAX_WAITING_WARNINGS = 4_096;

/**
 * Chooses the next event to write: warnings before routine events, and the oldest first. Events that must wait have a
 * time.
 */
export class EventLine<T extends Queued> {
  readonly #warnings = new Set<T>();
  readonly #routine = new Set<T>();
  /** When each may be written, on the monotonic clock. Warnings only. */
  readonly #later = new Map<T, number>();

  get size(): number {
    return this.#warnings.size + this.#routine.size + this.#later.size;
  }

  has(item: T): boolean {
    return this.#warnings.has(item) || this.#routine.has(item);
  }

  /** What did not fit: the item itself, or a routine one that was dropped for a warning. */
  add(item: T): T | undefined {
    this.#later.delete(item);
    if (!item.isWarning) {
      if (this.size >= MAX_WAITING) return item;
      this.#routine.add(item);
      return undefined;
    }
    if (this.#warnings.size + this.#later.size >= MAX_WAITING_WARNINGS) return item;
    this.#warnings.add(item);
    const [oldest] = this.#routine;
    if (this.size <= MAX_WAITING || oldest === undefined) return undefined;
    this.#routine.delete(oldest);
    return oldest;
  }

  /** Keeps the earlier time if it has one already. */
  addLater(item: T, dueMs: number): void {
    if (!this.has(item) && !this.#later.has(item)) this.#later.set(item, dueMs);
  }

  /** Removes the next one: what happens while it is being written is news again. */
  take(nowMs: number): T | undefined {
    const [next = this.#due(nowMs) ?? this.#routine.values().next().value] = this.#warnings;
    if (next === undefined) return undefined;
    this.#warnings.delete(next);
    this.#routine.delete(next);
    this.#later.delete(next);
    return next;
  }

  /** When the first of the waiting ones may be written. */
  get dueMs(): number | undefined {
    return this.#later.size === 0 ? undefined : Math.min(...this.#later.values());
  }

  /** Everything that is left, due or not. */
  *drain(): Generator<T> {
    for (const item of [...this.#warnings, ...this.#later.keys(), ...this.#routine]) {
      this.#warnings.delete(item);
      this.#later.delete(item);
      this.#routine.delete(item);
      yield item;
    }
  }

  #due(nowMs: number): T | undefined {
    for (const [item, dueMs] of this.#later) if (dueMs <= nowMs) return item;
    return undefined;
  }
}
