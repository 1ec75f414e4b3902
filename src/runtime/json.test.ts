import { expect, test } from "vitest";
import { clone } from "./json.ts";

test("a copy shares nothing with what was copied", () => {
  const original = { a: { b: [{ c: 1 }] }, none: null };
  const copy = clone(original);
  expect(copy).toEqual(original);
  expect(copy.a).not.toBe(original.a);
  expect(copy.a.b[0]).not.toBe(original.a.b[0]);
});

test("a field named __proto__ is copied as data, and not taken for a prototype", () => {
  const copy = clone(JSON.parse('{"__proto__": {"admin": true}}'));
  expect(JSON.stringify(copy)).toBe('{"__proto__":{"admin":true}}');
  expect(copy.admin).toBeUndefined();
});
