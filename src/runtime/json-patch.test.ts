import { describe, expect, it } from "vitest";
import { applyPatch, jsonSize, PatchBudget, PatchError, type PatchOperation, valueAtPointer } from "./json-patch.ts";

describe("the patch operations of override policies", () => {
  it("adds, replaces and removes, in order", () => {
    const document = { a: 1, list: ["x", "y"] };
    const result = applyPatch(document, [
      { op: "add", path: "/b", value: { c: 1 } },
      { op: "replace", path: "/b/c", value: 2 },
      { op: "remove", path: "/a" },
      { op: "add", path: "/list/-", value: "z" },
      { op: "add", path: "/list/0", value: "w" },
    ]);
    expect(result).toEqual({ b: { c: 2 }, list: ["w", "x", "y", "z"] });
    expect(document).toEqual({ a: 1, list: ["x", "y"] });
  });

  it("counts a negative index from the end, as Karmada's patch library does", () => {
    expect(applyPatch(["a", "b"], [{ op: "replace", path: "/-1", value: "c" }])).toEqual(["a", "c"]);
    expect(applyPatch(["a", "b"], [{ op: "remove", path: "/-2" }])).toEqual(["b"]);
    expect(applyPatch(["a", "b"], [{ op: "add", path: "/-1", value: "c" }])).toEqual(["a", "b", "c"]);
  });

  it("reads ~1 as a slash and ~0 as a tilde", () => {
    expect(applyPatch({}, [{ op: "add", path: "/a~1b~0c", value: 1 }])).toEqual({ "a/b~c": 1 });
    expect(valueAtPointer({ "a/b": [{ c: 5 }] }, "/a~1b/0/c")).toBe(5);
  });

  it.each([
    [{ op: "remove", path: "/missing" } as const],
    [{ op: "replace", path: "/missing", value: 1 } as const],
    [{ op: "add", path: "/missing/child", value: 1 } as const],
    [{ op: "add", path: "/list/3", value: 1 } as const],
    [{ op: "replace", path: "/list/-", value: 1 } as const],
    [{ op: "remove", path: "/list/-3" } as const],
    [{ op: "add", path: "no-slash", value: 1 } as const],
    [{ op: "add", path: "/text/0", value: 1 } as const],
    [{ op: "add", path: "/__proto__", value: { polluted: 1 } } as const],
    [{ op: "replace", path: "/toString", value: 1 } as const],
  ])("refuses %j if the document does not match", (operation) => {
    expect(() => applyPatch({ list: [1, 2], text: "t" }, [operation])).toThrow(PatchError);
  });
});

describe("the other operations of RFC 6902", () => {
  it("copies, moves and tests", () => {
    const result = applyPatch({ a: { b: 1 }, list: [1, 2, 3] }, [
      { op: "test", path: "/a", value: { b: 1 } },
      { op: "copy", from: "/a", path: "/c" },
      { op: "replace", path: "/a/b", value: 2 },
      { op: "move", from: "/list/0", path: "/list/-" },
      { op: "move", from: "/a", path: "/d" },
      { op: "test", path: "/nothing", value: null },
    ]);
    expect(result).toEqual({ c: { b: 1 }, d: { b: 2 }, list: [2, 3, 1] });
  });

  it.each([
    [{ op: "copy", from: "/missing", path: "/x" } as const],
    [{ op: "move", from: "/missing", path: "/x" } as const],
    [{ op: "move", from: "/a", path: "/a/b/c" } as const],
    [{ op: "move", from: "", path: "/a" } as const],
  ])("refuses %j", (operation) => {
    expect(() => applyPatch({ a: { b: {} } }, [operation])).toThrow(PatchError);
  });

  it("reports a failed test", () => {
    const failing = () => applyPatch({ a: 1 }, [{ op: "test", path: "/a", value: 2 }]);
    expect(failing).toThrow(expect.objectContaining({ code: "TestFailed" }));
  });
});

describe("the budget of a patch", () => {
  function codeOf(operations: readonly PatchOperation[], document: Parameters<typeof applyPatch>[0] = {}): string {
    try {
      applyPatch(document, operations);
      return "applied";
    } catch (error) {
      return error instanceof PatchError ? `${error.code}: ${error.reason}` : String(error);
    }
  }

  it("stops copies of copies before they fill all memory", () => {
    const doubling = Array.from({ length: 30 }, (_, step) => ({ op: "copy", from: "", path: `/x${step}` }) as const);
    expect(JSON.stringify(doubling).length).toBeLessThan(1_500);
    expect(codeOf(doubling, { a: "x" })).toBe("TooLarge: what is added to one object has more than 3145728 bytes");
  });

  it("stops a value that is added again and again", () => {
    const value = "x".repeat(100_000);
    const adding = Array.from({ length: 40 }, (_, step) => ({ op: "add", path: `/x${step}`, value }) as const);
    expect(codeOf(adding.slice(0, 31))).toBe("applied");
    expect(codeOf(adding)).toContain("TooLarge");
  });

  it("stops a patch of too many operations", () => {
    const many = Array<PatchOperation>(10_001).fill({ op: "test", path: "/a", value: 1 });
    expect(codeOf(many.slice(1), { a: 1 })).toBe("applied");
    expect(codeOf(many, { a: 1 })).toBe("TooLarge: more than 10000 operations are applied to one object");
  });

  it("stops insertions at the front of a long list", () => {
    const inserting = Array<PatchOperation>(100).fill({ op: "add", path: "/0", value: 1 });
    expect(codeOf(inserting, Array<number>(10_000).fill(0))).toBe("applied");
    expect(codeOf(inserting, Array<number>(100_000).fill(0))).toContain("TooLarge: more than 2000000 elements");
  });

  it("counts over all patches that share it", () => {
    const budget = new PatchBudget(3, 1_000);
    const two: PatchOperation[] = Array(2).fill({ op: "add", path: "/a", value: 1 });
    applyPatch({}, two, budget);
    expect(() => applyPatch({}, two, budget)).toThrow("more than 3 operations");
  });

  it("measures a value by the length of its JSON, and counts a shared part each time it appears", () => {
    const shared = ["x".repeat(1_000)];
    expect(jsonSize([shared, shared, shared], 10_000)).toBeGreaterThan(3_000);
    expect(jsonSize([shared, shared, shared], 2_000)).toBeUndefined();
    for (const value of [null, 1, "text", [], [1, 2], { a: { b: [true, "x"] } }]) {
      expect(jsonSize(value, 1_000)).toBeLessThanOrEqual(JSON.stringify(value).length + 1);
    }
  });
});
