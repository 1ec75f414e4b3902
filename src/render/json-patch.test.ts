import { describe, expect, it } from "vitest";
import { applyPatch, PatchError, valueAtPointer } from "./json-patch.ts";

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
  ])("refuses %j where nothing fits it", (operation) => {
    expect(() => applyPatch({ list: [1, 2], text: "t" }, [operation])).toThrow(PatchError);
  });
});
