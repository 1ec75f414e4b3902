import { isJsonObject, type Json, type JsonObject } from "../../runtime/index.ts";
import { bytesToText } from "./bytes.ts";
import { EmptyFields } from "./empty.ts";
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
  references: readonly Json[];
  emptyResult: "object" | "array";
}

/**
 * Converts by gopher-json's rules, and then as Karmada repairs the result: a table is an array if its first key is a
 * number, then its keys must be 1, 2, 3...; else an object whose keys must all be strings. No table may appear twice.
 */
export function luaToJson(vm: Vm, value: LuaValue, options: ToJsonOptions): Json {
  if (typeof value === "object" && !(value instanceof LuaFunction) && value.entryFrom(0) < 0) {
    return options.emptyResult === "object" ? {} : [];
  }
  vm.conversions++;
  const result = new Encoder(vm, new EmptyFields(options.references)).encode(value);
  return result === undefined ? [] : result;
}

class Encoder {
  private readonly vm: Vm;
  private readonly empties: EmptyFields;
  /** The fields above the value, without array positions. */
  private readonly path: string[] = [];
  private depth = 0;

  constructor(vm: Vm, empties: EmptyFields) {
    this.vm = vm;
    this.empties = empties;
  }

  /** undefined for an empty table that is to be left out. */
  encode(value: LuaValue): Json | undefined {
    switch (typeof value) {
      case "undefined":
        return null;
      case "string":
        return bytesToText(value);
      case "boolean":
        return value;
      case "number":
        if (!Number.isFinite(value)) throw this.failed(`cannot encode ${value} to JSON`);
        return value === 0 ? 0 : value;
      default:
        if (value instanceof LuaFunction) throw this.failed("cannot encode function to JSON");
        return this.table(value);
    }
  }

  private table(table: LuaTable): Json | undefined {
    if (table.visit === this.vm.conversions) throw this.failed("cannot encode recursively nested tables to JSON");
    table.visit = this.vm.conversions;
    if (table.source !== undefined) return this.untouched(table.source);
    const first = table.entryFrom(0);
    if (first < 0) return this.empties.formOf(this.path);
    this.deeper();
    const firstKey = table.keyAt(first);
    if (typeof firstKey !== "number" && typeof firstKey !== "string") throw this.invalidKeys();
    const result = typeof firstKey === "number" ? this.array(table) : this.object(table);
    this.depth--;
    return result;
  }

  private array(table: LuaTable): Json[] {
    const result: Json[] = [];
    let expected = 1;
    for (let at = table.entryFrom(0); at >= 0; at = table.entryFrom(at + 1)) {
      const key = table.keyAt(at);
      if (typeof key !== "number") throw this.invalidKeys();
      if (key !== expected++) throw this.failed("cannot encode sparse array");
      const item = this.encode(table.valueAt(at));
      if (item !== undefined) result.push(item);
    }
    this.vm.meter.burn(result.length);
    return result;
  }

  private object(table: LuaTable): JsonObject {
    const result: JsonObject = {};
    this.vm.meter.burn(table.keys.length);
    for (let at = table.entryFrom(0); at >= 0; at = table.entryFrom(at + 1)) {
      const key = table.keyAt(at);
      if (typeof key !== "string") throw this.invalidKeys();
      const name = bytesToText(key);
      this.path.push(name);
      const value = this.encode(table.valueAt(at));
      this.path.pop();
      if (value !== undefined) setField(result, name, value);
    }
    return result;
  }

  /** JSON that the script never looked into: copied, under the same rules. */
  private untouched(source: Json): Json | undefined {
    if (typeof source !== "object" || source === null) return source;
    this.deeper();
    let result: Json | undefined;
    if (isJsonObject(source)) result = this.untouchedObject(source);
    else {
      const items = source.filter((item) => item !== null);
      result = items.length === 0 ? this.empties.formOf(this.path) : this.untouchedArray(items);
    }
    this.depth--;
    return result;
  }

  private untouchedArray(items: Json[]): Json[] {
    const result: Json[] = [];
    for (const item of items) {
      const copy = this.untouched(item);
      if (copy !== undefined) result.push(copy);
    }
    this.vm.meter.burn(items.length);
    return result;
  }

  private untouchedObject(source: JsonObject): Json | undefined {
    const result: JsonObject = {};
    let entries = 0;
    for (const name of Object.keys(source)) {
      const value = source[name];
      if (value === null || value === undefined) continue;
      entries++;
      if (typeof value !== "object") {
        setField(result, name, value);
        continue;
      }
      this.path.push(name);
      const copy = this.untouched(value);
      this.path.pop();
      if (copy !== undefined) setField(result, name, copy);
    }
    this.vm.meter.burn(entries);
    return entries === 0 ? this.empties.formOf(this.path) : result;
  }

  private deeper(): void {
    if (++this.depth > this.vm.meter.jsonDepth) this.vm.meter.valueTooDeep();
  }

  private invalidKeys(): NotJson {
    return this.failed("cannot encode mixed or invalid key types");
  }

  private failed(reason: string): NotJson {
    return new NotJson(this.path.length === 0 ? reason : `${reason} (at ${this.path.join(".")})`);
  }
}

/** A key called __proto__ is a key like any other. */
function setField(object: JsonObject, name: string, value: Json): void {
  if (name !== "__proto__") object[name] = value;
  else Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
}
