/** One object for each text: whatever reads the same is the same object, and has a number. */
export class Pool<T extends object> {
  readonly #byText = new Map<string, T>();
  readonly #ids = new WeakMap<T, number>();
  readonly #text: (part: T) => string;

  /** `text` must tell apart all that the explored world can tell apart. */
  constructor(text: (part: T) => string) {
    this.#text = text;
  }

  has(part: T): boolean {
    return this.#ids.has(part);
  }

  keep(part: T): T {
    if (this.#ids.has(part)) return part;
    const text = this.#text(part);
    const known = this.#byText.get(text);
    if (known) return known;
    this.#byText.set(text, part);
    this.#ids.set(part, this.#byText.size);
    return part;
  }

  /** Of a part that is kept here; from 1 up. */
  id(part: T): number {
    const found = this.#ids.get(part);
    if (found === undefined) throw new Error("the part is not kept here");
    return found;
  }

  get size(): number {
    return this.#byText.size;
  }
}

/** The first of two code units of a large number; smaller numbers take one. */
const LARGE = 0x8000;

/** Numbers as a short text that no other list of numbers has. */
export function textOf(numbers: readonly number[]): string {
  const units: number[] = [];
  for (const each of numbers) {
    if (each < LARGE) units.push(each);
    else units.push(LARGE + Math.floor(each / 0x10000), each % 0x10000);
  }
  return String.fromCharCode(...units);
}
