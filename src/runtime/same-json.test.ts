import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { includesJson, sameJson } from "./same-json.ts";

const json = fc.jsonValue({ maxDepth: 4 });

function shuffled(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shuffled);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, inner]) => [key, shuffled(inner)]),
  );
}

/** With the keys in one order, as the comparison that is right by its looks. */
function text(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

describe("sameJson", () => {
  it("says the same as comparing sorted texts", () => {
    fc.assert(fc.property(json, json, (a, b) => sameJson(a, b) === (text(a) === text(b))));
  });

  it("does not care about the order of keys", () => {
    fc.assert(fc.property(json, (value) => sameJson(value, shuffled(value))));
  });

  it("tells a missing key from a null one, and takes one without a value for missing", () => {
    expect(sameJson({ a: null }, {})).toBe(false);
    expect(sameJson({ a: undefined, b: 1 }, { b: 1 })).toBe(true);
    expect(sameJson({ b: 1 }, { a: undefined, b: 1 })).toBe(true);
    expect(sameJson({ a: 1 }, { b: 1 })).toBe(false);
    expect(sameJson([], {})).toBe(false);
    expect(sameJson({}, [])).toBe(false);
    expect(sameJson(null, {})).toBe(false);
    expect(sameJson([1, 2], [1])).toBe(false);
  });

  it("takes inherited values for no data", () => {
    expect(sameJson(JSON.parse('{"__proto__": {}}'), { a: 1 })).toBe(false);
    expect(sameJson(JSON.parse('{"constructor": 1}'), {})).toBe(false);
    expect(sameJson(JSON.parse('{"__proto__": [1]}'), JSON.parse('{"__proto__": [1]}'))).toBe(true);
  });
});

describe("includesJson", () => {
  it("asks only for what is stated, with lists as a whole", () => {
    expect(includesJson({ a: { b: 1, c: 2 }, d: 3 }, { a: { b: 1 } })).toBe(true);
    expect(includesJson({ a: { b: 1 } }, { a: { b: 1, c: 2 } })).toBe(false);
    expect(includesJson({ a: [{ b: 1, c: 2 }] }, { a: [{ b: 1 }] })).toBe(true);
    expect(includesJson({ a: [1, 2] }, { a: [1] })).toBe(false);
    expect(includesJson(undefined, {})).toBe(false);
  });

  it("both ways is the same as sameJson", () => {
    fc.assert(fc.property(json, json, (a, b) => (includesJson(a, b) && includesJson(b, a)) === sameJson(a, b)));
  });
});
