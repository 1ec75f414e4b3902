import type { Json, JsonObject } from "../../runtime/index.ts";
import { textToBytes } from "./bytes.ts";
import { ENTRY_BYTES, LONG_STRING_BYTES, LONG_STRING_SHIFT, type Meter, SLOT_BYTES, TABLE_BYTES } from "./meter.ts";
import type { LuaValue } from "./values.ts";

const EMPTY: LuaValue[] = [];
/** Up to here a walk over the keys beats hashing. */
const LINEAR_KEYS = 8;
/** gopher-lua keeps integer keys up to here in the array, filling holes with nil; `#` depends on it. */
const MAX_ARRAY_INDEX = 67_108_864;

/**
 * A table as gopher-lua builds it: an array for the keys 1, 2, 3..., and a list of the other keys in the order they were
 * first set. A key set to nil keeps its place, so a traversal survives assignments and `next` takes constant time.
 *
 * A table made from JSON stays a reference to it until it is first touched, then takes over one level: a script pays
 * for what it reads. The JSON itself is never changed.
 */
export class LuaTable {
  array: LuaValue[] = EMPTY;
  keys: LuaValue[] = EMPTY;
  values: LuaValue[] = EMPTY;
  /** The JSON this table still stands for, untouched. */
  source: JsonObject | Json[] | undefined;
  /** The last conversion to JSON that met this table. */
  visit = 0;
  private index: Map<LuaValue, number> | undefined;
  private sharesKeys = false;
  private readonly meter: Meter;

  constructor(meter: Meter, source?: JsonObject | Json[]) {
    this.meter = meter;
    this.source = source;
    meter.allocate(TABLE_BYTES);
  }

  /** A table of its own with the same entries; it shares the list of keys until it gets a new one. */
  copyFor(meter: Meter): LuaTable {
    const copy = new LuaTable(meter);
    copy.keys = this.keys;
    copy.values = this.values.slice();
    copy.index = this.index;
    copy.sharesKeys = true;
    return copy;
  }

  get(key: LuaValue): LuaValue {
    if (typeof key === "string") return this.getString(key);
    if (this.source !== undefined) this.takeOver();
    if (typeof key === "number" && isArrayKey(key)) return this.array[key - 1];
    const at = this.find(key);
    return at < 0 ? undefined : this.values[at];
  }

  getString(key: string): LuaValue {
    if (this.source !== undefined) this.takeOver();
    const at = this.find(key);
    return at < 0 ? undefined : this.values[at];
  }

  /** Looks into the array only, as ipairs and the table library do. */
  getInt(position: number): LuaValue {
    if (this.source !== undefined) this.takeOver();
    return this.array[position - 1];
  }

  set(key: LuaValue, value: LuaValue): void {
    if (this.source !== undefined) this.takeOver();
    if (typeof key === "number" && isArrayKey(key)) {
      this.setInt(key, value);
      return;
    }
    const at = this.find(key);
    if (at >= 0) this.values[at] = value;
    else if (value !== undefined) this.add(key, value);
  }

  /** Sets a position of the array, filling up to it with nil. The position must be an array key. */
  private setInt(position: number, value: LuaValue): void {
    const array = this.writableArray();
    if (position <= array.length) {
      array[position - 1] = value;
      return;
    }
    this.grow(position - array.length);
    while (array.length < position - 1) array.push(undefined);
    array.push(value);
  }

  private grow(slots: number): void {
    this.meter.allocate(slots * SLOT_BYTES);
    if (slots > 1) this.meter.burn(slots);
  }

  /** Puts a value after the last one that is not nil. */
  append(value: LuaValue): void {
    if (value === undefined) return;
    const length = this.length();
    const array = this.writableArray();
    if (length < array.length) array[length] = value;
    else {
      this.grow(1);
      array.push(value);
    }
  }

  insert(position: number, value: LuaValue): void {
    if (this.source !== undefined) this.takeOver();
    if (position > this.array.length || position <= 0) {
      this.set(position, value);
      return;
    }
    this.grow(1);
    this.meter.burn(this.array.length - position);
    this.writableArray().splice(position - 1, 0, value);
  }

  /** Takes out the value at a position; at the end when the position is not positive. */
  remove(position: number): LuaValue {
    if (this.source !== undefined) this.takeOver();
    const array = this.array;
    if (position > array.length || array.length === 0) return undefined;
    if (position <= 0 || position === array.length) return array.pop();
    this.meter.burn(array.length - position);
    return array.splice(position - 1, 1)[0];
  }

  /** The position of the last value that is not nil, whatever holes come before it. */
  length(): number {
    if (this.source !== undefined) this.takeOver();
    const array = this.array;
    let length = array.length;
    while (length > 0 && array[length - 1] === undefined) length--;
    if (length < array.length) this.meter.burn(array.length - length);
    return length;
  }

  /**
   * The position of the first entry at or after `position` that is not nil, or -1. Positions count the array, then the
   * other keys; `keyAt` and `valueAt` read them.
   */
  entryFrom(position: number): number {
    if (this.source !== undefined) this.takeOver();
    const end = this.array.length + this.keys.length;
    let at = position;
    while (at < end && this.valueAt(at) === undefined) at++;
    if (at > position) this.meter.burn(at - position);
    return at < end ? at : -1;
  }

  /** The position after the entry with this key; a key that the table never had counts as the first of the others. */
  positionAfter(key: LuaValue): number {
    if (this.source !== undefined) this.takeOver();
    if (key === undefined) return 0;
    if (typeof key === "number" && isArrayKey(key) && key <= this.array.length) return key;
    return this.array.length + Math.max(this.find(key), 0) + 1;
  }

  keyAt(position: number): LuaValue {
    return position < this.array.length ? position + 1 : this.keys[position - this.array.length];
  }

  valueAt(position: number): LuaValue {
    return position < this.array.length ? this.array[position] : this.values[position - this.array.length];
  }

  /** The place of a key in `keys` and `values`, for code that asks for the same key again and again. */
  placeOf(key: string): number {
    const at = this.find(key);
    if (at >= 0) return at;
    this.add(key, undefined);
    return this.keys.length - 1;
  }

  private find(key: LuaValue): number {
    if (typeof key === "string" && key.length > LONG_STRING_BYTES) this.meter.burn(key.length >>> LONG_STRING_SHIFT);
    if (this.index !== undefined) return this.index.get(key) ?? -1;
    const keys = this.keys;
    for (let i = 0; i < keys.length; i++) if (keys[i] === key) return i;
    return -1;
  }

  private add(key: LuaValue, value: LuaValue): void {
    this.meter.allocate(ENTRY_BYTES);
    if (this.keys === EMPTY) {
      this.keys = [];
      this.values = [];
    } else if (this.sharesKeys) {
      this.keys = this.keys.slice();
      this.index = undefined;
      this.sharesKeys = false;
    }
    this.keys.push(key);
    this.values.push(value);
    if (this.index !== undefined) this.index.set(key, this.keys.length - 1);
    else if (this.keys.length > LINEAR_KEYS) this.index = new Map(this.keys.map((each, at) => [each, at]));
  }

  private writableArray(): LuaValue[] {
    if (this.array === EMPTY) this.array = [];
    return this.array;
  }

  private takeOver(): void {
    const source = this.source;
    this.source = undefined;
    if (source === undefined) return;
    if (Array.isArray(source)) this.takeOverArray(source);
    else this.takeOverObject(source);
  }

  private takeOverArray(source: Json[]): void {
    this.meter.allocate(source.length * SLOT_BYTES);
    const array: LuaValue[] = [];
    for (const item of source) {
      const value = jsonToLua(this.meter, item);
      if (value !== undefined) array.push(value);
    }
    this.array = array;
    this.meter.burn(source.length);
  }

  private takeOverObject(source: JsonObject): void {
    const names = Object.keys(source);
    this.meter.allocate(names.length * ENTRY_BYTES);
    this.meter.burn(names.length);
    const keys: LuaValue[] = [];
    const values: LuaValue[] = [];
    for (const name of names) {
      const value = jsonToLua(this.meter, source[name]);
      if (value === undefined) continue;
      keys.push(textToBytes(name));
      values.push(value);
    }
    this.keys = keys;
    this.values = values;
    if (keys.length > LINEAR_KEYS) this.index = new Map(keys.map((each, at) => [each, at]));
  }
}

/** null is nil: it leaves no trace in a table. */
export function jsonToLua(meter: Meter, value: Json | undefined): LuaValue {
  if (typeof value === "string") return textToBytes(value);
  if (typeof value === "object") return value === null ? undefined : new LuaTable(meter, value);
  return value;
}

function isArrayKey(key: number): boolean {
  return key > 0 && key < MAX_ARRAY_INDEX && Math.floor(key) === key;
}
