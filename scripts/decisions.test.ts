import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const FOLDER = join(ROOT, "docs/decisions");
const records = readdirSync(FOLDER)
  .filter((file) => /^\d{4}-.*\.md$/.test(file))
  .sort()
  .map((file) => ({ file, text: readFileSync(join(FOLDER, file), "utf8") }));
const titleOf = (text: string) => /^# \d{4}\. (.+)$/m.exec(text)?.[1];

describe("docs/decisions", () => {
  it("numbers its records from 0001 without a gap, and each title carries its number", () => {
    expect(records.map(({ file }) => Number(file.slice(0, 4)))).toEqual(records.map((_, index) => index + 1));
    for (const { file, text } of records) expect(text).toMatch(new RegExp(`^# ${file.slice(0, 4)}\\. `));
  });

  it("gives each record a status, a context, a decision and consequences, in this order", () => {
    const form = /^Status: (?:proposed|accepted|replaced by \d{4})\n\n## Context\n.+\n\n## Decision\n.+\n\n## Cons.+/ms;
    expect(records.filter(({ text }) => !form.test(text)).map(({ file }) => file)).toEqual([]);
  });

  it("lists every record by its title in the index", () => {
    const index = readFileSync(join(FOLDER, "README.md"), "utf8");
    const rows = records.map(({ file, text }) => `| [${file.slice(0, 4)}](${file}) | ${titleOf(text)} |`);
    expect(index.split("\n").filter((line) => line.startsWith("| ["))).toEqual(rows);
  });

  it("names only source files that exist, and refers only to records that exist", () => {
    const sources = ["src", "scripts"].flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" }).map((path) => basename(path)),
    );
    const numbers = records.map(({ file }) => file.slice(0, 4));
    for (const { file, text } of records) {
      const named = [...text.matchAll(/`(?:[\w-]+\/)*([\w-]+\.m?ts)`/g)].map(([, name]) => name);
      expect(named.filter((name) => name !== undefined && !sources.includes(name)).map((name) => [file, name])).toEqual(
        [],
      );
      const cited = [...text.matchAll(/\((\d{4})\)|replaced by (\d{4})/g)].map(([, at, by]) => at ?? by);
      expect(cited.filter((number) => number !== undefined && !numbers.includes(number))).toEqual([]);
    }
  });
});
