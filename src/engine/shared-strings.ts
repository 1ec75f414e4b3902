/** JSON.parse itself keeps strings up to this length once. */
const ALREADY_SHARED_CHARS = 10;
/** Longer ones are rarely the same twice, and expensive to compare. */
const MAX_CHARS = 128;
/** About what one cluster's dispatch objects of a few thousand applications contain. */
const MAX_STRINGS = 50_000;

/**
 * Keeps one copy of strings that many objects repeat: names of namespaces, marks, times. Everything that is read from a
 * server is a copy of its own, and with sixty thousand Works these copies are tens of megabytes. It forgets strings that
 * have not been met for long; that costs only copies.
 */
export class SharedStrings {
  #recent = new Map<string, string>();
  #earlier = new Map<string, string>();

  readonly of = (text: string): string => {
    if (text.length <= ALREADY_SHARED_CHARS || text.length > MAX_CHARS) return text;
    const known = this.#recent.get(text);
    if (known !== undefined) return known;
    const kept = this.#earlier.get(text) ?? text;
    if (this.#recent.size >= MAX_STRINGS) {
      this.#earlier = this.#recent;
      this.#recent = new Map();
    }
    this.#recent.set(kept, kept);
    return kept;
  };

  get size(): number {
    return this.#recent.size + this.#earlier.size;
  }
}
