import { describe, expect, it } from "vitest";
import { pageViolations, violations } from "./check-rooms.mjs";

describe("the project's rules", () => {
  it("allows only imports that point upwards", () => {
    expect(violations("src/plan/a.ts", 'import { x } from "../kube/index.ts";')).toEqual([
      "src/plan/a.ts:1: plan may not import kube",
    ]);
    expect(violations("src/render/a.ts", 'import { x } from "../plan/index.ts";')).toEqual([]);
  });

  it("allows a room to import another only through its door", () => {
    expect(violations("src/render/a.ts", 'import { x } from "../plan/steps.ts";')).toEqual([
      "src/render/a.ts:1: reaches behind the door of plan; import src/plan/index.ts",
    ]);
  });

  it("keeps folders of a room apart", () => {
    expect(violations("src/controllers/common/a.ts", 'import { x } from "../statefulset/session.ts";')).toEqual([
      "src/controllers/common/a.ts:1: imports src/controllers/statefulset/session.ts: what every kind uses knows no kind",
    ]);
    expect(violations("src/controllers/statefulset/a.ts", 'import { x } from "../common/owner.ts";')).toEqual([]);
    expect(violations("src/plan/update/a.ts", 'import { x } from "../check/testing/bench.ts";')).toHaveLength(1);
    expect(violations("src/plan/update/a.test.ts", 'import { x } from "../check/testing/bench.ts";')).toEqual([]);
    expect(violations("src/cli/terminal/a.ts", 'import { x } from "../hub/hub.ts";')).toHaveLength(1);
  });

  it("bans files that are too long, and private members that are private to the compiler only", () => {
    expect(violations("src/kube/a.ts", "\n".repeat(600))).toEqual([]);
    expect(violations("src/kube/a.ts", "\n".repeat(601))).toHaveLength(1);
    expect(violations("src/kube/a.ts", "class A {\n  private name = 1;\n}")).toEqual([
      "src/kube/a.ts:2: private: name it with #, which the engine keeps",
    ]);
    expect(violations("src/kube/a.ts", "class A {\n  private constructor() {}\n}")).toEqual([]);
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

describe("the page in web/", () => {
  it("imports only Preact, its own files, and the types that it shares with the server", () => {
    expect(pageViolations("web/parts/a.tsx", 'import type { Act } from "../../src/web/types.ts";')).toEqual([]);
    expect(pageViolations("web/parts/a.tsx", 'import { signal } from "@preact/signals";')).toEqual([]);
    expect(pageViolations("web/parts/a.tsx", 'import { plan } from "../../src/plan/index.ts";')).toEqual([
      "web/parts/a.tsx:1: the page shares only src/web/types.ts with the server",
    ]);
    expect(pageViolations("web/parts/a.tsx", 'import { parse } from "yaml";')).toHaveLength(1);
    expect(pageViolations("web/parts/a.tsx", 'import "../main.tsx";')).toHaveLength(1);
    expect(violations("src/cli/a.ts", 'import { count } from "../../web/format.ts";')).toEqual([
      "src/cli/a.ts:1: imports web/format.ts: the page runs only in a browser",
    ]);
  });

  it("sends requests in one place, and makes no markup from text", () => {
    expect(pageViolations("web/parts/a.tsx", 'await fetch("/api/act");')).toHaveLength(1);
    expect(pageViolations("web/api.ts", 'await fetch("/api/act");')).toEqual([]);
    expect(pageViolations("web/api.ts", "element.innerHTML = text;")).toHaveLength(1);
  });
});
