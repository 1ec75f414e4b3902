/** A map that forgets what was used longest ago when it is full. */
export class LruMap<T> {
  readonly #capacity: number;
  readonly #entries = new Map<string, T>();

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get(key: string): T | undefined {
    const entry = this.#entries.get(key);
    if (entry !== undefined) {
      this.#entries.delete(key);
      this.#entries.set(key, entry);
    }
    return entry;
  }

  /** Without counting as a use. */
  peek(key: string): T | undefined {
    return this.#entries.get(key);
  }

  set(key: string, entry: T): void {
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    if (this.#entries.size <= this.#capacity) return;
    const [oldest] = this.#entries.keys();
    if (oldest !== undefined) this.#entries.delete(oldest);
  }

  get size(): number {
    return this.#entries.size;
  }
}
