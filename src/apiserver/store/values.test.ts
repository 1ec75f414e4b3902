import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { clone, type Json, sameJson, valueAt } from "../../runtime/index.ts";
import { listAt, setAt, sharing } from "./values.ts";

describe("values", () => {
  it("are copied completely and set at any depth", () => {
    const original = { a: { b: [{ c: 1 }] } };
    const copy = clone(original);
    setAt(copy, ["a", "x", "y"], 2);
    expect(original).toEqual({ a: { b: [{ c: 1 }] } });
    expect(copy).toEqual({ a: { b: [{ c: 1 }], x: { y: 2 } } });
    setAt(copy, ["a", "b"], undefined);
    expect(copy).toEqual({ a: { x: { y: 2 } } });
  });
});

describe("sharing", () => {
  const json = fc.jsonValue({ maxDepth: 4 }) as fc.Arbitrary<Json>;

  it("returns an equal value and does not change the old one", () => {
    fc.assert(
      fc.property(json, json, (value, old) => {
        const [expected, before] = [JSON.stringify(value), JSON.stringify(old)];
        expect(sameJson(sharing(clone(value), old), value)).toBe(true);
        expect([JSON.stringify(value), JSON.stringify(old)]).toEqual([expected, before]);
      }),
    );
  });

  it("shares equal parts with the old value", () => {
    const old = { same: { a: [1, { b: 2 }] }, other: { kept: { c: 3 }, changed: 1 }, list: [{ x: 1 }, { y: 2 }] };
    const shared = sharing({ ...clone(old), other: { kept: { c: 3 }, changed: 2 }, list: [{ x: 1 }, { y: 3 }] }, old);
    expect(shared).toMatchObject({ other: { changed: 2 }, list: [{ x: 1 }, { y: 3 }] });
    expect(valueAt(shared, "same")).toBe(old.same);
    expect(valueAt(shared, "other", "kept")).toBe(old.other.kept);
    expect(listAt(shared, "list")[0]).toBe(old.list[0]);
    expect(sharing(clone(old), old)).toBe(old);
  });
});
