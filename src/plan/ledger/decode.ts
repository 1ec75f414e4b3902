/** Small decoders for what was stored as JSON: each either returns its type or says which field is wrong. */

/** Thrown when a stored ledger is not one; nothing may be planned on it. */
export class LedgerUnreadable extends Error {
  override name = "LedgerUnreadable";
  readonly field: string;
  constructor(field: string, expected: string) {
    super(
      `ledger field '${field}': expected ${expected}; restore the ledger, or delete it to have it ` +
        "rebuilt from the grants",
    );
    this.field = field;
  }
}

export type Decoder<T> = (value: unknown, field: string) => T;

export const text: Decoder<string> = (value, field) => {
  if (typeof value !== "string") throw new LedgerUnreadable(field, "a string");
  return value;
};

export const flag: Decoder<boolean> = (value, field) => {
  if (typeof value !== "boolean") throw new LedgerUnreadable(field, "true or false");
  return value;
};

/** Counters, ordinals, epochs: whole and not negative. */
export const count: Decoder<number> = (value, field) => {
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0) {
    throw new LedgerUnreadable(field, "a whole number, 0 or more");
  }
  return value;
};

/** Times and scores. */
export const number: Decoder<number> = (value, field) => {
  if (typeof value !== "number" || !Number.isFinite(value)) throw new LedgerUnreadable(field, "a number");
  return value;
};

export function oneOf<const T extends string | number>(...allowed: readonly T[]): Decoder<T> {
  return (value, field) => {
    const found = allowed.find((each) => each === value);
    if (found === undefined) throw new LedgerUnreadable(field, allowed.join(" | "));
    return found;
  };
}

export function nullable<T>(decode: Decoder<T>): Decoder<T | null> {
  return (value, field) => (value === null ? null : decode(value, field));
}

export function list<T>(decode: Decoder<T>): Decoder<T[]> {
  return (value, field) => {
    if (!Array.isArray(value)) throw new LedgerUnreadable(field, "a list");
    return value.map((each: unknown, index) => decode(each, `${field}[${index}]`));
  };
}

export function record<T>(decode: Decoder<T>): Decoder<Record<string, T>> {
  return (value, field) => {
    const found: Record<string, T> = {};
    for (const [key, each] of Object.entries(object(value, field))) {
      // A cluster named "__proto__" must stay a plain key.
      Object.defineProperty(found, key, {
        value: decode(each, `${field}.${key}`),
        enumerable: true,
        writable: true,
        configurable: true,
      });
    }
    return found;
  };
}

export function object(value: unknown, field: string): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new LedgerUnreadable(field, "an object");
  return Object.fromEntries(Object.entries(value));
}

/** Decodes every field of `shape`; fields that it does not name are dropped. */
export function fields<T extends object>(shape: { readonly [K in keyof T]-?: Decoder<T[K]> }): Decoder<T> {
  const entries = Object.entries(shape) as Array<[string, Decoder<unknown>]>;
  return (value, field) => {
    const given = object(value, field);
    const found: Record<string, unknown> = {};
    for (const [key, decode] of entries) {
      const each = decode(given[key], field === "" ? key : `${field}.${key}`);
      if (each !== undefined) found[key] = each;
    }
    return found as T;
  };
}

/** A field that ledgers written by earlier versions lack. */
export function absentAs<T>(decode: Decoder<T>, otherwise: T): Decoder<T> {
  return (value, field) => (value === undefined ? otherwise : decode(value, field));
}

export function optional<T>(decode: Decoder<T>): Decoder<T | undefined> {
  return (value, field) => (value === undefined ? undefined : decode(value, field));
}
