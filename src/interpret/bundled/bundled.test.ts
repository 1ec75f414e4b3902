import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
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

  test.each(results)("$title", ({ failure = [] }) => {
    expect(failure.join("\n")).toBe("");
  });

  test("is tested for every operation it has", () => {
    const scripts = read(file).text.match(/^ {8}\w+:$/gm)?.length ?? 0;
    const operations = new Set(results.map(({ title }) => title.split("/").at(-1)?.split(":")[0]));
    expect(scripts).toBeGreaterThan(0);
    expect(operations.size).toBe(scripts);
  });
});

test("every bundled customization compiles, under a name of its own, and shows progress", () => {
  const customizations = new Customizations();
  customizations.set(BUNDLED);
  expect(customizations.reports().flatMap(({ problems }) => problems)).toEqual([]);
  expect(customizations.reports()).toHaveLength(BUNDLED.length);
  for (const object of BUNDLED) expect(JSON.stringify(object)).toContain("progressInterpretation");
});
