import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { runSuite } from "../cases/suite.ts";
import { Customizations } from "../customizations.ts";
import { bench } from "../testing/interpreter.ts";
import { BUNDLED } from "./generated.ts";

const folder = dirname(new URL(import.meta.url).pathname);
const files = readdirSync(folder, { recursive: true, encoding: "utf8" });
const read = (path: string) => ({ path, text: readFileSync(join(folder, path), "utf8") });

describe.each(files.filter((file) => file.endsWith("customizations.yaml")))("%s", (file) => {
  const tests = files.filter((each) => each.startsWith(`${dirname(file)}/testdata/`) && each.endsWith(".yaml"));
  const results = runSuite(() => bench().interpreter, read(file), tests.map(read));

  it.each(results.map((result) => [result.title, result] as const))("passes the test %s", (_, { failure = [] }) => {
    expect(failure.join("\n")).toBe("");
  });

  it("has a test for every operation", () => {
    const scripts = read(file).text.match(/^ +luaScript:/gm)?.length ?? 0;
    const operations = new Set(results.map(({ title }) => title.split("/").at(-1)?.split(":")[0]));
    expect(scripts).toBeGreaterThan(0);
    expect(operations.size).toBe(scripts);
  });
});

it("every bundled customization compiles, has a unique name, and shows progress or completion", () => {
  const customizations = new Customizations();
  customizations.set(BUNDLED);
  expect(customizations.reports().flatMap(({ problems }) => problems)).toEqual([]);
  expect(customizations.reports()).toHaveLength(BUNDLED.length);
  for (const object of BUNDLED)
    expect(JSON.stringify(object)).toMatch(/progressInterpretation|completionInterpretation/);
});
