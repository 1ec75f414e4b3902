import type { LuaValue } from "./values.ts";

/** V8 hashes a longer string by its length alone: all long keys of one length share a bucket, and are compared. */
export const LONGEST_HASHED_BYTES = 4_096;

/** V8 treats strings of digits up to this length as numbers, and hashes them as numbers. */
const LONGEST_INDEX_BYTES = 16;

/**
 * The position of each key of a table. V8 hashes text with a secret seed, but numbers, and in some versions text that
 * looks like a number, by a public formula: a script could choose thousands that share a bucket. Those are stored under
 * text that is hashed with the seed.
 */
export class KeyIndex {
  readonly #places = new Map<LuaValue, number>();
  #numeric: Map<string, number> | undefined;
  /** How many of the keys V8 cannot distinguish by their hash. */
  longKeys = 0;

  constructor(keys: readonly LuaValue[]) {
    for (let at = 0; at < keys.length; at++) this.set(keys[at], at);
  }

  /** -1 if the table never had the key. */
  get(key: LuaValue): number {
    const numeric = numericName(key);
    return (numeric === undefined ? this.#places.get(key) : this.#numeric?.get(numeric)) ?? -1;
  }

  set(key: LuaValue, at: number): void {
    if (typeof key === "string" && key.length > LONGEST_HASHED_BYTES) this.longKeys++;
    const numeric = numericName(key);
    if (numeric === undefined) this.#places.set(key, at);
    else {
      this.#numeric ??= new Map();
      this.#numeric.set(numeric, at);
    }
  }
}

/** The text under which a number, or a string that looks like one, is stored. */
function numericName(key: LuaValue): string | undefined {
  if (typeof key === "string") {
    const first = key.charCodeAt(0);
    return first >= 0x30 && first <= 0x39 && key.length <= LONGEST_INDEX_BYTES ? `s${key}` : undefined;
  }
  return typeof key === "number" ? `n${key}` : undefined;
}
