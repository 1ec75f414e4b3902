import { isJsonObject, type Json } from "../../runtime/index.ts";
import { LONGEST_HASHED_BYTES } from "./key-index.ts";
import { type Meter, SLOT_BYTES } from "./meter.ts";

/** The cost of visiting one value of a reference, and one field of a path. */
const VALUE_FUEL = 4;
const FIELD_FUEL = 12;
const FIELD_BYTES = 512;

/** The fields below a path, in all references together. */
interface Field {
  form?: "object" | "array";
  fields?: Map<string, Field>;
}

/**
 * Lua has one empty table where JSON has {} and []. The references show which one a field is: if any of them has {}, it
 * is an object; if one has [], it is an array; otherwise the field is left out. Fields are compared by their path
 * without array positions. The references are read only when the first empty table occurs.
 */
export class EmptyFields {
  readonly #meter: Meter;
  readonly #references: readonly Json[];
  #root: Field | undefined;

  constructor(meter: Meter, references: readonly Json[]) {
    this.#meter = meter;
    this.#references = references;
  }

  formOf(path: readonly string[]): Json | undefined {
    if (this.#references.length === 0) return undefined;
    this.#root ??= this.#read();
    this.#meter.burn(path.length * FIELD_FUEL);
    let field: Field | undefined = this.#root;
    for (const name of path) field = name.length > LONGEST_HASHED_BYTES ? undefined : field?.fields?.get(keyOf(name));
    if (field?.form === undefined) return undefined;
    return field.form === "object" ? {} : [];
  }

  #read(): Field {
    const root: Field = {};
    const pending: { value: Json; field: Field }[] = this.#references.map((value) => ({ value, field: root }));
    for (let item = pending.pop(); item !== undefined; item = pending.pop()) {
      const { value, field } = item;
      if (Array.isArray(value)) {
        this.#pay(value.length);
        if (value.length === 0) field.form ??= "array";
        for (const each of value) if (typeof each === "object" && each !== null) pending.push({ value: each, field });
      } else if (isJsonObject(value)) {
        const names = Object.keys(value);
        this.#pay(names.length);
        if (names.length === 0) field.form = "object";
        for (const name of names) {
          const child = value[name];
          if (typeof child !== "object" || child === null || name.length > LONGEST_HASHED_BYTES) continue;
          pending.push({ value: child, field: this.#below(field, name) });
        }
      }
    }
    return root;
  }

  #below(field: Field, name: string): Field {
    this.#meter.burn(FIELD_FUEL);
    this.#meter.reserve(FIELD_BYTES);
    const key = keyOf(name);
    field.fields ??= new Map();
    const known = field.fields.get(key);
    if (known !== undefined) return known;
    const made: Field = {};
    field.fields.set(key, made);
    return made;
  }

  #pay(values: number): void {
    this.#meter.burn(VALUE_FUEL + values);
    this.#meter.reserve(values * SLOT_BYTES);
  }
}

/**
 * Some versions of V8 hash text that looks like a number by a known formula, but not text that starts with a letter.
 */
function keyOf(name: string): string {
  return `f${name}`;
}
