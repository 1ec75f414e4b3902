import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const page = readFileSync(join(ROOT, "docs/engines.md"), "utf8");
const table = /## What is proven on which\n([\s\S]*?)\n\n/.exec(page)?.[1] ?? "";
/** The cells of each row, without the two lines of the table's head. */
const rows = table
  .split("\n")
  .slice(2)
  .map((line) => line.split("|").slice(1, -1));
const namesIn = (cell: string | undefined) =>
  [...(cell ?? "").matchAll(/`([\w-]+\/[\w./-]+)`/g)].map(([, name = ""]) => name);

function fileOf(name: string): string | undefined {
  const files = [`src/${name}.test.ts`, `test/${name}.test.ts`, `src/${name}`];
  return files.find((file) => existsSync(join(ROOT, file)));
}

describe("docs/engines.md, what is proven on which", () => {
  it("names only tests that exist", () => {
    expect(rows.length).toBeGreaterThan(20);
    const named = rows.flatMap((cells) => cells.flatMap(namesIn));
    expect(named.filter((name) => fileOf(name) === undefined)).toEqual([]);
  });

  it("says in every cell what proves it, that nothing does, or that it does not apply", () => {
    const empty = rows.filter((cells) =>
      cells.slice(1).some((cell) => namesIn(cell).length === 0 && !/^ (no|not applicable) $/.test(cell)),
    );
    expect(empty).toEqual([]);
    expect(rows.filter((cells) => cells.length !== 5)).toEqual([]);
  });

  it.each([
    ["karmada", 3],
    ["ocm", 4],
  ])("has every test of the suite on a real %s, in that engine's column", (engine, column) => {
    const files = readdirSync(join(ROOT, "test", engine)).filter((file) => file.endsWith(".test.ts"));
    const tests = files
      .map((file) => `${engine}/${file.replace(".test.ts", "")}`)
      .filter((name) => !name.includes("stack"));
    const named = new Set(rows.flatMap((cells) => namesIn(cells[column])));
    expect(tests.filter((name) => !named.has(name))).toEqual([]);
  });
});
