/** An event at a moment of virtual time. */
export interface Entry {
  readonly atMs: number;
  /** Drawn from the seed: which of two events at the same moment comes first. */
  readonly tieBreak: number;
  readonly order: number;
  readonly label: string;
  run: (() => void) | undefined;
}

/** The pending events, the next one first: a binary heap by (time, seeded tie-break, order). */
export class Agenda {
  readonly #heap: Entry[] = [];
  #live = 0;

  get size(): number {
    return this.#live;
  }

  add(entry: Entry): void {
    this.#live++;
    const heap = this.#heap;
    heap.push(entry);
    let at = heap.length - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = heap[parent];
      if (above === undefined || !isBefore(entry, above)) break;
      heap[at] = above;
      at = parent;
    }
    heap[at] = entry;
  }

  cancel(entry: Entry): void {
    if (entry.run === undefined) return;
    entry.run = undefined;
    this.#live--;
  }

  /** The next entry that was not cancelled; undefined if nothing is left. */
  take(): (Entry & { run: () => void }) | undefined {
    for (let next = this.#pop(); next; next = this.#pop()) {
      if (next.run === undefined) continue;
      this.#live--;
      return next as Entry & { run: () => void };
    }
    return undefined;
  }

  #pop(): Entry | undefined {
    const heap = this.#heap;
    const top = heap[0];
    const last = heap.pop();
    if (top === undefined || last === undefined || heap.length === 0) return top;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      const [left, right] = [heap[child], heap[child + 1]];
      if (left === undefined) break;
      let smaller = left;
      if (right !== undefined && isBefore(right, left)) {
        child++;
        smaller = right;
      }
      if (!isBefore(smaller, last)) break;
      heap[at] = smaller;
      at = child;
    }
    heap[at] = last;
    return top;
  }
}

function isBefore(a: Entry, b: Entry): boolean {
  if (a.atMs !== b.atMs) return a.atMs < b.atMs;
  if (a.tieBreak !== b.tieBreak) return a.tieBreak < b.tieBreak;
  return a.order < b.order;
}
