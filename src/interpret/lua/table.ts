import type { Json, JsonObject } from "../../runtime/index.ts";
import { encode } from "./bytes.ts";
import { KeyIndex, LONGEST_HASHED_BYTES } from "./key-index.ts";
import {
  ENTRY_BYTES,
  LIST_BYTES,
  LONG_STRING_BYTES,
  LONG_STRING_SHIFT,
  type Meter,
  SLOT_BYTES,
  TABLE_BYTES,
  WALK_STEPS,
} from "./meter.ts";
import type { LuaValue } from "./values.ts";

const EMPTY: LuaValue[] = [];
/** Up to this size, a linear search is faster than hashing. */
const LINEAR_KEYS = 8;
/** gopher-lua keeps integer keys up to here in the array, filling holes with nil; `#` depends on it. */
const MAX_ARRAY_INDEX = 67_108_864;
/** A number that is not an array key is looked up by its text. */
const NUMBER_KEY_FUEL = 30;
/** The cost of adding a new key to a table. */
const ADD_FUEL = 8;
/** The cost of reading one level of JSON, one item of a list, one field of a small object. */
const TAKE_FUEL = 8;
const ITEM_FUEL = 3;
const FIELD_FUEL = 5;

/**
 * A table as gopher-lua builds it: an array for the keys 1, 2, 3..., and a list of the other keys in the order in which
 * they were first set. A key set to nil keeps its position, so a traversal survives assignments and `next` takes
 * constant time.
 *
 * A table created from JSON stays a reference to it until it is first accessed, then reads one level: a script pays for
 * what it reads. The JSON itself is never changed.
 */
export class LuaTable {
  array: LuaValue[] = EMPTY;
  keys: LuaValue[] = EMPTY;
  values: LuaValue[] = EMPTY;
  /** The JSON that this table still refers to, not read yet. */
  source: JsonObject | Json[] | undefined;
  /** The last conversion to JSON that visited this table. */
  visit = 0;
  #index: KeyIndex | undefined;
  #sharesKeys = false;
  readonly #meter: Meter;

  constructor(meter: Meter, source?: JsonObject | Json[]) {
    this.#meter = meter;
    this.source = source;
    meter.allocate(TABLE_BYTES);
  }

  /** A new table with the same entries; it shares the list of keys until it gets a new one. */
  copyFor(meter: Meter): LuaTable {
    const copy = new LuaTable(meter);
    meter.reserve(this.values.length * 8);
    meter.burn(this.values.length >>> LONG_STRING_SHIFT);
    copy.keys = this.keys;
    copy.values = this.values.slice();
    copy.#index = this.#index;
    copy.#sharesKeys = true;
    return copy;
  }

  get(key: LuaValue): LuaValue {
    if (typeof key === "string") return this.getString(key);
    if (this.source !== undefined) this.#takeOver();
    if (typeof key === "number" && isArrayKey(key)) return this.array[key - 1];
    const at = this.#find(key);
    return at < 0 ? undefined : this.values[at];
  }

  getString(key: string): LuaValue {
    if (this.source !== undefined) this.#takeOver();
    const at = this.#find(key);
    return at < 0 ? undefined : this.values[at];
  }

  /** Reads only the array, as ipairs and the table library do. */
  getInt(position: number): LuaValue {
    if (this.source !== undefined) this.#takeOver();
    return this.array[position - 1];
  }

  set(key: LuaValue, value: LuaValue): void {
    if (this.source !== undefined) this.#takeOver();
    if (typeof key === "number" && isArrayKey(key)) {
      this.#setInt(key, value);
      return;
    }
    const at = this.#find(key);
    if (at >= 0) this.values[at] = value;
    else if (value !== undefined) this.#add(key, value);
  }

  /** Sets a position of the array, filling up to it with nil. The position must be an array key. */
  #setInt(position: number, value: LuaValue): void {
    const array = this.#writableArray();
    if (position <= array.length) {
      array[position - 1] = value;
      return;
    }
    this.#grow(position - array.length);
    while (array.length < position - 1) array.push(undefined);
    array.push(value);
  }

  #grow(slots: number): void {
    this.#meter.allocate(slots * SLOT_BYTES);
    if (slots > 1) this.#meter.burn(slots);
  }

  /** Puts a value after the last one that is not nil. */
  append(value: LuaValue): void {
    if (value === undefined) return;
    const length = this.length();
    const array = this.#writableArray();
    if (length < array.length) array[length] = value;
    else {
      this.#grow(1);
      array.push(value);
    }
  }

  insert(position: number, value: LuaValue): void {
    if (this.source !== undefined) this.#takeOver();
    if (position > this.array.length || position <= 0) {
      this.set(position, value);
      return;
    }
    this.#grow(1);
    this.#meter.burn(this.array.length - position);
    this.#writableArray().splice(position - 1, 0, value);
  }

  /** Removes the value at a position; at the end if the position is not positive. */
  remove(position: number): LuaValue {
    if (this.source !== undefined) this.#takeOver();
    const array = this.array;
    if (position > array.length || array.length === 0) return undefined;
    if (position <= 0 || position === array.length) return array.pop();
    this.#meter.burn(array.length - position);
    return array.splice(position - 1, 1)[0];
  }

  /** The position of the last value that is not nil, regardless of holes before it. */
  length(): number {
    if (this.source !== undefined) this.#takeOver();
    const array = this.array;
    let length = array.length;
    for (let steps = 0; length > 0 && array[length - 1] === undefined; length--, steps++) {
      if (steps % WALK_STEPS === 0) this.#meter.burn(WALK_STEPS);
    }
    return length;
  }

  /**
   * The position of the first entry at or after `position` that is not nil, or -1. Positions count the array, then the
   * other keys; `keyAt` and `valueAt` read them.
   */
  entryFrom(position: number): number {
    if (this.source !== undefined) this.#takeOver();
    const { array, values } = this;
    if (position < array.length) {
      const inArray = this.#firstFrom(array, position);
      if (inArray >= 0) return inArray;
    }
    const inOthers = this.#firstFrom(values, Math.max(position - array.length, 0));
    return inOthers < 0 ? -1 : array.length + inOthers;
  }

  #firstFrom(values: LuaValue[], start: number): number {
    for (let at = start; at < values.length; at++) {
      if (values[at] !== undefined) return at;
      if ((at - start) % WALK_STEPS === 0) this.#meter.burn(WALK_STEPS);
    }
    return -1;
  }

  /** The position after the entry with this key; an unknown key counts as the first of the others. */
  positionAfter(key: LuaValue): number {
    if (this.source !== undefined) this.#takeOver();
    if (key === undefined) return 0;
    if (typeof key === "number" && isArrayKey(key) && key <= this.array.length) return key;
    return this.array.length + Math.max(this.#find(key), 0) + 1;
  }

  keyAt(position: number): LuaValue {
    return position < this.array.length ? position + 1 : this.keys[position - this.array.length];
  }

  valueAt(position: number): LuaValue {
    return position < this.array.length ? this.array[position] : this.values[position - this.array.length];
  }

  /** The position of a key in `keys` and `values`, for code that reads the same key repeatedly. */
  placeOf(key: string): number {
    const at = this.#find(key);
    if (at >= 0) return at;
    this.#add(key, undefined);
    return this.keys.length - 1;
  }

  #find(key: LuaValue): number {
    if (typeof key === "string") {
      if (key.length > LONG_STRING_BYTES) this.#payForLongKey(key.length);
    } else if (typeof key === "number") this.#meter.burn(NUMBER_KEY_FUEL);
    if (this.#index !== undefined) return this.#index.get(key);
    const keys = this.keys;
    for (let i = 0; i < keys.length; i++) if (keys[i] === key) return i;
    return -1;
  }

  /** Keys with the same hash are compared, byte by byte. */
  #payForLongKey(length: number): void {
    const index = this.#index;
    const compared = index === undefined ? this.keys.length : length > LONGEST_HASHED_BYTES ? index.longKeys : 0;
    this.#meter.burn((length >>> LONG_STRING_SHIFT) * (1 + compared));
  }

  #add(key: LuaValue, value: LuaValue): void {
    this.#meter.allocate(ENTRY_BYTES);
    this.#meter.burn(this.#index === undefined ? ADD_FUEL : 2 * ADD_FUEL);
    if (this.keys === EMPTY) {
      this.#meter.allocate(2 * LIST_BYTES);
      this.keys = [];
      this.values = [];
    } else if (this.#sharesKeys) {
      this.#meter.allocate(this.keys.length * ENTRY_BYTES);
      this.#meter.burn(this.keys.length * ADD_FUEL);
      this.keys = this.keys.slice();
      this.#index = undefined;
      this.#sharesKeys = false;
    }
    this.keys.push(key);
    this.values.push(value);
    if (this.#index !== undefined) this.#index.set(key, this.keys.length - 1);
    else if (this.keys.length > LINEAR_KEYS) this.#index = new KeyIndex(this.keys);
  }

  #writableArray(): LuaValue[] {
    if (this.array === EMPTY) {
      this.#meter.allocate(LIST_BYTES);
      this.array = [];
    }
    return this.array;
  }

  #takeOver(): void {
    const source = this.source;
    this.source = undefined;
    if (source === undefined) return;
    if (Array.isArray(source)) this.#takeOverArray(source);
    else this.#takeOverObject(source);
  }

  #takeOverArray(source: Json[]): void {
    this.#payForTaking(source.length, source.length * ITEM_FUEL, SLOT_BYTES);
    const array = new Array<LuaValue>(source.length);
    let taken = 0;
    for (const item of source) {
      const value = jsonToLua(this.#meter, item);
      if (value !== undefined) array[taken++] = value;
    }
    array.length = taken;
    this.array = array;
  }

  #takeOverObject(source: JsonObject): void {
    const names = Object.keys(source);
    const isSmall = names.length <= LINEAR_KEYS;
    this.#payForTaking(
      names.length,
      names.length * (isSmall ? FIELD_FUEL : 2 * ADD_FUEL),
      isSmall ? SLOT_BYTES : ENTRY_BYTES,
    );
    // Of the right size at once: V8 would reserve room for 17.
    const keys = new Array<LuaValue>(names.length);
    const values = new Array<LuaValue>(names.length);
    let taken = 0;
    for (const name of names) {
      const value = jsonToLua(this.#meter, source[name]);
      if (value === undefined) continue;
      if (name.length > LONGEST_HASHED_BYTES) this.#meter.burn((name.length >>> LONG_STRING_SHIFT) * taken);
      keys[taken] = encode(this.#meter, name);
      values[taken++] = value;
    }
    keys.length = taken;
    values.length = taken;
    this.keys = keys;
    this.values = values;
    if (!isSmall) this.#index = new KeyIndex(keys);
  }

  #payForTaking(entries: number, fuel: number, entryBytes: number): void {
    this.#meter.burn(TAKE_FUEL + fuel);
    this.#meter.reserve(LIST_BYTES + entries * entryBytes);
  }
}

/** null is nil: it is absent in a table. */
export function jsonToLua(meter: Meter, value: Json | undefined): LuaValue {
  if (typeof value === "string") return encode(meter, value);
  if (typeof value === "object") return value === null ? undefined : new LuaTable(meter, value);
  return value;
}

function isArrayKey(key: number): boolean {
  return key > 0 && key < MAX_ARRAY_INDEX && Math.floor(key) === key;
}
