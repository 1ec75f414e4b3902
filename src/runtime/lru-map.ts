interface Entry<V> {
  readonly value: V;
  readonly weight: number;
}

/**
 * A map that drops the least recently used entries when it is full: by the number of its entries, or by their weight.
 */
export class LruMap<K, V> {
  readonly #capacity: number;
  readonly #maxWeight: number;
  readonly #entries = new Map<K, Entry<V>>();
  #weight = 0;

  constructor(capacity: number, maxWeight = Number.POSITIVE_INFINITY) {
    this.#capacity = capacity;
    this.#maxWeight = maxWeight;
  }

  get(key: K): V | undefined {
    const entry = this.#entries.get(key);
    if (entry !== undefined) {
      this.#entries.delete(key);
      this.#entries.set(key, entry);
    }
    return entry?.value;
  }

  /** Does not count as a use. */
  peek(key: K): V | undefined {
    return this.#entries.get(key)?.value;
  }

  /** An entry that is heavier than the limit for all is not kept. */
  set(key: K, value: V, weight = 0): void {
    this.delete(key);
    if (weight > this.#maxWeight) return;
    this.#entries.set(key, { value, weight });
    this.#weight += weight;
    for (const [oldest] of this.#entries) {
      if (this.#entries.size <= this.#capacity && this.#weight <= this.#maxWeight) return;
      this.delete(oldest);
    }
  }

  /** The entry, created if it is missing. */
  getOrMake(key: K, make: () => V): V {
    const entry = this.#entries.get(key);
    const value = entry ? entry.value : make();
    this.set(key, value, entry?.weight);
    return value;
  }

  get size(): number {
    return this.#entries.size;
  }

  delete(key: K): void {
    this.#weight -= this.#entries.get(key)?.weight ?? 0;
    this.#entries.delete(key);
  }
}
