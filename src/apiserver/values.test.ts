import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { clone, type Json } from "../runtime/index.ts";
import { equal, listAt, own, setAt, sharing, timestamp, valueAt } from "./values.ts";

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

describe("sharing", () => {
  const json = fc.jsonValue({ maxDepth: 4 }) as fc.Arbitrary<Json>;

  it("gives an equal value and leaves the old one as it was", () => {
    fc.assert(
      fc.property(json, json, (value, old) => {
        const [expected, before] = [JSON.stringify(value), JSON.stringify(old)];
        expect(equal(sharing(clone(value), old), value)).toBe(true);
        expect([JSON.stringify(value), JSON.stringify(old)]).toEqual([expected, before]);
      }),
    );
  });

  it("takes what is equal from the old value", () => {
    const old = { same: { a: [1, { b: 2 }] }, other: { kept: { c: 3 }, changed: 1 }, list: [{ x: 1 }, { y: 2 }] };
    const shared = sharing({ ...clone(old), other: { kept: { c: 3 }, changed: 2 }, list: [{ x: 1 }, { y: 3 }] }, old);
    expect(shared).toMatchObject({ other: { changed: 2 }, list: [{ x: 1 }, { y: 3 }] });
    expect(valueAt(shared, "same")).toBe(old.same);
    expect(valueAt(shared, "other", "kept")).toBe(old.other.kept);
    expect(listAt(shared, "list")[0]).toBe(old.list[0]);
    expect(sharing(clone(old), old)).toBe(old);
  });
});
