/**
 * A value while it is put together. Where that happens all the time, optional fields are set one by one: on Node 20 a
 * literal that spreads each of them costs more than reading what they say.
 */
export type Writable<T> = { -readonly [Field in keyof T]: T[Field] };
