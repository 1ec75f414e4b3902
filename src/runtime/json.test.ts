import { expect, it } from "vitest";
import { canonicalText, clone, ownField, valueAt } from "./json.ts";

it("a copy shares nothing with the original", () => {
  const original = { a: { b: [{ c: 1 }] }, none: null };
  const copy = clone(original);
  expect(copy).toEqual(original);
  expect(copy.a).not.toBe(original.a);
  expect(copy.a.b[0]).not.toBe(original.a.b[0]);
});

it("a field named __proto__ is copied as data, and does not become a prototype", () => {
  const copy = clone(JSON.parse('{"__proto__": {"admin": true}}'));
  expect(JSON.stringify(copy)).toBe('{"__proto__":{"admin":true}}');
  expect(copy.admin).toBeUndefined();
});

it("a value is found at a path of fields, and is undefined where the path ends early or is inherited", () => {
  expect(valueAt({ a: { b: [1] } }, "a", "b")).toEqual([1]);
  expect(valueAt({ a: { b: null } }, "a", "b")).toBeNull();
  expect(valueAt({ a: { b: 1 } }, "a", "b", "c")).toBeUndefined();
  expect(valueAt({ a: [1] }, "a", "0")).toBeUndefined();
  expect(valueAt(undefined, "a")).toBeUndefined();
  expect(valueAt({ a: {} }, "a", "toString")).toBeUndefined();
  expect(ownField({}, "constructor")).toBeUndefined();
});

it("the canonical text does not depend on the order of keys, and leaves out keys without a value", () => {
  expect(canonicalText({ b: [1, { d: null, c: "x" }], a: true, none: undefined })).toBe(
    '{"a":true,"b":[1,{"c":"x","d":null}]}',
  );
  expect(canonicalText(undefined)).toBe("null");
});
