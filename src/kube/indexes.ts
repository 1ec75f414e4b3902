/** The values under which an object is found; none: not in this index. */
export type IndexFunction<T> = (object: T) => readonly string[];

class Index<T> {
  readonly #valuesOf: IndexFunction<T>;
  readonly #entries = new Map<string, Map<string, T>>();

  constructor(valuesOf: IndexFunction<T>) {
    this.#valuesOf = valuesOf;
  }

  find(value: string): T[] {
    return [...(this.#entries.get(value)?.values() ?? [])];
  }

  values(): string[] {
    return [...this.#entries.keys()];
  }

  add(key: string, object: T): void {
    for (const value of this.#valuesOf(object)) {
      const entry = this.#entries.get(value);
      if (entry) entry.set(key, object);
      else this.#entries.set(value, new Map([[key, object]]));
    }
  }

  remove(key: string, object: T): void {
    for (const value of this.#valuesOf(object)) {
      const entry = this.#entries.get(value);
      entry?.delete(key);
      if (entry?.size === 0) this.#entries.delete(value);
    }
  }
}

/** Several indexes over the same objects. An update costs only as much as the changed object's own values. */
export class Indexes<T> {
  readonly #indexes = new Map<string, Index<T>>();

  define(name: string, valuesOf: IndexFunction<T>, objects: Iterable<[string, T]>): void {
    if (this.#indexes.has(name)) throw new Error(`the index '${name}' is already defined`);
    const index = new Index(valuesOf);
    for (const [key, object] of objects) index.add(key, object);
    this.#indexes.set(name, index);
  }

  find(name: string, value: string): T[] {
    return this.#named(name).find(value);
  }

  values(name: string): string[] {
    return this.#named(name).values();
  }

  /** Index functions are pure, so the values of the previous object can be computed again. */
  change(key: string, previous: T | undefined, next: T | undefined): void {
    for (const index of this.#indexes.values()) {
      if (previous !== undefined) index.remove(key, previous);
      if (next !== undefined) index.add(key, next);
    }
  }

  #named(name: string): Index<T> {
    const index = this.#indexes.get(name);
    if (!index) throw new Error(`there is no index '${name}'; defined are: ${[...this.#indexes.keys()].join(", ")}`);
    return index;
  }
}
