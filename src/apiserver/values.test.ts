import { describe, expect, it } from "vitest";
import { clone, equal, own, setAt, timestamp, valueAt } from "./values.ts";

describe("values", () => {
  it("are equal by content; an undefined field is an absent one, an inherited one is none", () => {
    expect(equal({ a: [1, { b: null }], c: undefined }, { a: [1, { b: null }] })).toBe(true);
    expect(equal({ a: 1 }, { a: 1, b: 2 })).toBe(false);
    expect(equal([1, 2], [1])).toBe(false);
    expect(equal({}, [])).toBe(false);
    expect(equal(null, {})).toBe(false);
    expect(own({}, "constructor")).toBeUndefined();
    expect(valueAt({ a: {} }, "a", "toString")).toBeUndefined();
  });

  it("are copied whole and set in depth", () => {
    const original = { a: { b: [{ c: 1 }] } };
    const copy = clone(original);
    setAt(copy, ["a", "x", "y"], 2);
    expect(original).toEqual({ a: { b: [{ c: 1 }] } });
    expect(copy).toEqual({ a: { b: [{ c: 1 }], x: { y: 2 } } });
    setAt(copy, ["a", "b"], undefined);
    expect(copy).toEqual({ a: { x: { y: 2 } } });
  });

  it("times are whole seconds in UTC", () => {
    expect(timestamp(Date.UTC(2030, 0, 2, 3, 4, 5, 678))).toBe("2030-01-02T03:04:05Z");
  });
});
