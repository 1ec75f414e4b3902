import { describe, expect, it } from "vitest";
import { violations } from "./check-rooms.mjs";

describe("the house rules", () => {
  it("lets imports point upwards only", () => {
    expect(violations("src/plan/a.ts", 'import { x } from "../kube/index.ts";')).toEqual([
      "src/plan/a.ts:1: plan may not import kube",
    ]);
    expect(violations("src/render/a.ts", 'import { x } from "../plan/index.ts";')).toEqual([]);
  });

  it("lets one room enter another by its door only", () => {
    expect(violations("src/render/a.ts", 'import { x } from "../plan/steps.ts";')).toEqual([
      "src/render/a.ts:1: reaches behind the door of plan; import src/plan/index.ts",
    ]);
  });

  it("bans ambient time and randomness outside the seams", () => {
    expect(violations("src/plan/a.ts", "\nconst now = Date.now();")).toEqual([
      "src/plan/a.ts:2: Date.now: take a Clock",
    ]);
    expect(violations("src/plan/a.ts", "const at = new Date(now);")).toEqual([]);
    expect(violations("src/plan/a.ts", "await setTimeout(1);")).toHaveLength(1);
    expect(violations("src/plan/a.ts", "clock.setTimeout(1);")).toEqual([]);
    expect(violations("src/plan/a.ts", "const n = Math.random();")).toHaveLength(1);
    expect(violations("src/runtime/a.ts", "const now = Date.now();")).toEqual([]);
  });

  it("bans I/O and mutable module state outside the seams", () => {
    expect(violations("src/kube/a.ts", 'import { readFile } from "node:fs/promises";')).toHaveLength(1);
    expect(violations("src/kube/a.ts", "let counter = 0;")).toHaveLength(1);
    expect(violations("src/kube/a.ts", "function f() {\n  let counter = 0;\n}")).toEqual([]);
  });

  it("does not read comments and strings", () => {
    expect(violations("src/plan/a.ts", '// Date.now()\nconst text = "Date.now()";')).toEqual([]);
  });
});
