import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { sameJson } from "./same-json.ts";

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
  });
});
