import { isJsonObject, type Json, type JsonObject } from "../../runtime/index.ts";
import { decode } from "./bytes.ts";
import { EmptyFields } from "./empty.ts";
import { LONGEST_HASHED_BYTES } from "./key-index.ts";
import { MAX_RESULT_BYTES } from "./limits.ts";
import { ENTRY_BYTES, SLOT_BYTES, TABLE_BYTES } from "./meter.ts";
import type { LuaTable } from "./table.ts";
import { LuaFunction, type LuaValue } from "./values.ts";
import type { Vm } from "./vm.ts";

/** Thrown when a Lua value has no JSON form. Never leaves the engine. */
export class NotJson {
  readonly reason: string;

  constructor(reason: string) {
    this.reason = reason;
  }
}

export interface ToJsonOptions {
  readonly references: readonly Json[];
  readonly emptyResult: "object" | "array";
}

/** The cost of creating an object or list, and of adding one field to an object. */
const CONTAINER_FUEL = 10;
const ITEM_FUEL = 2;
const FIELD_FUEL = 5;
/** Above this size, V8 uses a hash table for an object's fields. */
const SMALL_OBJECT_FIELDS = 16;
const LARGE_FIELD_FUEL = 48;
/** The JSON text of each item and field, beyond its own text. */
const ITEM_BYTES = 2;
const FIELD_BYTES = 6;
/** Only the end of a path is shown in an error. */
const SHOWN_FIELDS = 8;
const SHOWN_FIELD_CHARACTERS = 40;

/**
 * Converts by gopher-json's rules, and then as Karmada corrects the result: a table is an array if its first key is a
 * number, then its keys must be 1, 2, 3...; otherwise it is an object whose keys must all be strings. No table may
 * appear twice. A string counts with its length each time it appears: the JSON text is never longer than what was
 * charged.
 */
export function luaToJson(vm: Vm, value: LuaValue, options: ToJsonOptions): Json {
  if (typeof value === "object" && !(value instanceof LuaFunction) && value.entryFrom(0) < 0) {
    return options.emptyResult === "object" ? {} : [];
  }
  vm.conversions++;
  const result = new Encoder(vm, new EmptyFields(vm.meter, options.references)).encode(value);
  return result === undefined ? [] : result;
}

class Encoder {
  readonly #vm: Vm;
  readonly #empties: EmptyFields;
  /** The fields above the value, without array positions. */
  readonly #path: string[] = [];
  #depth = 0;
  #bytesLeft = MAX_RESULT_BYTES;

  constructor(vm: Vm, empties: EmptyFields) {
    this.#vm = vm;
    this.#empties = empties;
  }

  /** undefined for an empty table that is left out. */
  encode(value: LuaValue): Json | undefined {
    switch (typeof value) {
      case "undefined":
        return null;
      case "string":
        this.#payForText(value.length);
        return decode(this.#vm.meter, value);
      case "boolean":
        return value;
      case "number":
        if (!Number.isFinite(value)) throw this.#failed(`cannot encode ${value} to JSON`);
        return value === 0 ? 0 : value;
      default:
        if (value instanceof LuaFunction) throw this.#failed("cannot encode function to JSON");
        return this.#table(value);
    }
  }

  #table(table: LuaTable): Json | undefined {
    if (table.visit === this.#vm.conversions) throw this.#failed("cannot encode recursively nested tables to JSON");
    table.visit = this.#vm.conversions;
    if (table.source !== undefined) return this.#untouched(table.source);
    const first = table.entryFrom(0);
    if (first < 0) return this.#empties.formOf(this.#path);
    this.#deeper();
    const firstKey = table.keyAt(first);
    if (typeof firstKey !== "number" && typeof firstKey !== "string") throw this.#invalidKeys();
    const result = typeof firstKey === "number" ? this.#array(table) : this.#object(table);
    this.#depth--;
    return result;
  }

  #array(table: LuaTable): Json[] {
    this.#payForList(table.array.length);
    const result: Json[] = [];
    let expected = 1;
    for (let at = table.entryFrom(0); at >= 0; at = table.entryFrom(at + 1)) {
      const key = table.keyAt(at);
      if (typeof key !== "number") throw this.#invalidKeys();
      if (key !== expected++) throw this.#failed("cannot encode sparse array");
      const item = this.encode(table.valueAt(at));
      if (item !== undefined) result.push(item);
    }
    return result;
  }

  #object(table: LuaTable): JsonObject {
    this.#payForObject(table.keys.length);
    const result: JsonObject = {};
    for (let at = table.entryFrom(0); at >= 0; at = table.entryFrom(at + 1)) {
      const key = table.keyAt(at);
      if (typeof key !== "string") throw this.#invalidKeys();
      // V8 stores the names of all fields in one table, and cannot distinguish long ones by their hash.
      if (key.length > LONGEST_HASHED_BYTES) throw this.#failed(`a key is longer than ${LONGEST_HASHED_BYTES} bytes`);
      this.#payForText(key.length);
      const name = decode(this.#vm.meter, key);
      this.#path.push(name);
      const value = this.encode(table.valueAt(at));
      this.#path.pop();
      if (value !== undefined) setField(result, name, value);
    }
    return result;
  }

  /** JSON that the script never read: copied, under the same rules. */
  #untouched(source: Json): Json | undefined {
    if (typeof source === "string") {
      this.#payForText(source.length);
      return source;
    }
    if (typeof source !== "object" || source === null) return source;
    this.#deeper();
    const result = isJsonObject(source) ? this.#untouchedObject(source) : this.#untouchedArray(source);
    this.#depth--;
    return result;
  }

  #untouchedArray(source: Json[]): Json | undefined {
    this.#payForList(source.length);
    const result: Json[] = [];
    let items = 0;
    for (const item of source) {
      if (item === null) continue;
      items++;
      const copy = this.#untouched(item);
      if (copy !== undefined) result.push(copy);
    }
    return items === 0 ? this.#empties.formOf(this.#path) : result;
  }

  #untouchedObject(source: JsonObject): Json | undefined {
    const names = Object.keys(source);
    this.#payForObject(names.length);
    const result: JsonObject = {};
    let entries = 0;
    for (const name of names) {
      const value = source[name];
      if (value === null || value === undefined) continue;
      entries++;
      this.#payForText(name.length);
      if (typeof value === "object") {
        this.#path.push(name);
        const copy = this.#untouched(value);
        this.#path.pop();
        if (copy !== undefined) setField(result, name, copy);
      } else {
        if (typeof value === "string") this.#payForText(value.length);
        setField(result, name, value);
      }
    }
    return entries === 0 ? this.#empties.formOf(this.#path) : result;
  }

  /** Every name and text counts for the total length, even if it is not copied. */
  #payForText(length: number): void {
    this.#vm.meter.reserve(length);
    this.#bytesLeft -= length;
    if (this.#bytesLeft < 0) this.#vm.meter.valueTooLarge(MAX_RESULT_BYTES);
  }

  #payForList(items: number): void {
    const { meter } = this.#vm;
    this.#bytesLeft -= items * ITEM_BYTES;
    meter.burn(CONTAINER_FUEL + items * ITEM_FUEL);
    meter.reserve(TABLE_BYTES + items * SLOT_BYTES);
  }

  #payForObject(fields: number): void {
    const { meter } = this.#vm;
    this.#bytesLeft -= fields * FIELD_BYTES;
    const isLarge = fields > SMALL_OBJECT_FIELDS;
    meter.burn(CONTAINER_FUEL + fields * (isLarge ? LARGE_FIELD_FUEL : FIELD_FUEL));
    meter.reserve(TABLE_BYTES + fields * (isLarge ? ENTRY_BYTES : SLOT_BYTES));
  }

  #deeper(): void {
    if (++this.#depth > this.#vm.meter.jsonDepth) this.#vm.meter.valueTooDeep();
  }

  #invalidKeys(): NotJson {
    return this.#failed("cannot encode mixed or invalid key types");
  }

  #failed(reason: string): NotJson {
    if (this.#path.length === 0) return new NotJson(reason);
    const shown = this.#path.slice(-SHOWN_FIELDS).map((field) => field.slice(0, SHOWN_FIELD_CHARACTERS));
    const start = this.#path.length > SHOWN_FIELDS ? "..." : "";
    return new NotJson(`${reason} (at ${start}${shown.join(".")})`);
  }
}

/** A key called __proto__ is an ordinary key. */
function setField(object: JsonObject, name: string, value: Json): void {
  if (name !== "__proto__") object[name] = value;
  else Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
}
