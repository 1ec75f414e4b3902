/**
 * A value under construction. In hot code, optional fields are set one by one: on Node 20, a literal that spreads each
 * of them is expensive.
 */
export type Writable<T> = { -readonly [Field in keyof T]: T[Field] };
