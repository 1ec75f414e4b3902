interface Entry<K> {
  readonly dueMs: number;
  readonly order: number;
  readonly key: K;
}

/** This many outdated entries are too few to clean up. */
const FEW = 16;

/** Keys that become due later. One time per key. A binary heap; outdated entries are skipped. */
export class Delays<K> {
  readonly #due = new Map<K, number>();
  #heap: Entry<K>[] = [];
  #order = 0;

  get size(): number {
    return this.#due.size;
  }

  /** The number of entries, including outdated ones. */
  get entryCount(): number {
    return this.#heap.length;
  }

  /** Of several times for a key the earliest counts. */
  add(key: K, dueMs: number): void {
    const known = this.#due.get(key);
    if (known === undefined || known > dueMs) this.set(key, dueMs);
  }

  /** Regardless of the key's previous time; undefined: never. */
  set(key: K, dueMs: number | undefined): void {
    if (dueMs === undefined) {
      this.remove(key);
      return;
    }
    if (this.#due.get(key) === dueMs) return;
    this.#due.set(key, dueMs);
    this.#push({ dueMs, order: this.#order++, key });
    // A far-away time that is set again and again would add an entry each time.
    if (this.#heap.length > 2 * this.#due.size + FEW) this.#dropOutdated();
  }

  remove(key: K): void {
    this.#due.delete(key);
    if (this.#due.size === 0) this.#heap = [];
  }

  clear(): void {
    this.#due.clear();
    this.#heap = [];
  }

  /** When the next key is due. */
  get nextMs(): number | undefined {
    this.#skipOutdated();
    return this.#heap[0]?.dueMs;
  }

  /** Takes the next key that is due by now. */
  take(nowMs: number): K | undefined {
    this.#skipOutdated();
    const first = this.#heap[0];
    if (!first || first.dueMs > nowMs) return undefined;
    this.#due.delete(first.key);
    this.#pop();
    return first.key;
  }

  #dropOutdated(): void {
    const current = new Map<K, Entry<K>>();
    for (const entry of this.#heap) if (this.#due.get(entry.key) === entry.dueMs) current.set(entry.key, entry);
    // In order, so it is a heap.
    this.#heap = [...current.values()].sort((a, b) => a.dueMs - b.dueMs || a.order - b.order);
  }

  #skipOutdated(): void {
    for (let first = this.#heap[0]; first && this.#due.get(first.key) !== first.dueMs; first = this.#heap[0])
      this.#pop();
  }

  #push(entry: Entry<K>): void {
    const heap = this.#heap;
    let index = heap.length;
    heap.push(entry);
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = heap[parent];
      if (!above || !isBefore(entry, above)) break;
      heap[index] = above;
      index = parent;
    }
    heap[index] = entry;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (!last || heap.length === 0) return;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      const right = heap[child + 1];
      let below = heap[child];
      if (!below) break;
      if (right && isBefore(right, below)) {
        child++;
        below = right;
      }
      if (!isBefore(below, last)) break;
      heap[index] = below;
      index = child;
    }
    heap[index] = last;
  }
}

function isBefore<K>(a: Entry<K>, b: Entry<K>): boolean {
  return a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.order < b.order);
}
