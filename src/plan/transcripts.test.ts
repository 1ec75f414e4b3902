import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { REASONS } from "./reasons.ts";
import { replay, Transcript } from "./testing/transcript.ts";

/** Each file is documentation that is checked: UPDATE=1 writes what the planner says now; read the difference before you keep it. */
const folder = new URL("./transcripts/", import.meta.url);
const files = readdirSync(folder)
  .filter((file) => file.endsWith(".txt"))
  .sort();
const texts = new Map(files.map((file) => [file, readFileSync(new URL(file, folder), "utf8")]));

describe("a transcript says what the planner does", () => {
  test.each(files)("%s", (file) => {
    const text = texts.get(file) ?? "";
    const transcript = new Transcript();
    const played = replay(text, transcript);
    // [R1] Each with evidence and a remedy.
    const bare = transcript.bench.reasons.filter(({ evidence, remedy }) => evidence.length === 0 || remedy === "");
    expect(bare).toEqual([]);
    if (process.env.UPDATE) writeFileSync(new URL(file, folder), played);
    else expect(played).toBe(text);
  });
});

/** The blocks that print something, without the file's first line, which only announces. */
function shown(text: string): string[] {
  const [, ...rest] = text.split("\n");
  return rest
    .join("\n")
    .split(/\n\n+/)
    .filter((block) => /^----$/m.test(block));
}

const comments = (block: string) => block.split("\n").filter((line) => line.startsWith("#"));
const spec = readFileSync(new URL("../../SPEC.md", import.meta.url), "utf8");
const rules = [...spec.matchAll(/^- \*\*([A-Z]\d+)\*\*/gm)].map(([, rule = ""]) => rule);
const meetings = [...spec.slice(spec.indexOf("## Where rules meet")).matchAll(/^\| (.+) \| (.+) \| (.+) \|$/gm)]
  .map(([, when = "", , where = ""]) => ({
    when,
    where: [...where.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name),
  }))
  .filter(({ when }) => when !== "when");

describe("SPEC.md is shown by transcripts", () => {
  test.each(rules)("[%s] by one that is named after it, with the number where it is seen", (rule) => {
    const own = files.filter((file) => file.startsWith(`${rule}-`));
    const marked = own.filter((file) =>
      shown(texts.get(file) ?? "").some((block) => comments(block).some((line) => line.includes(`[${rule}]`))),
    );
    expect(
      marked,
      `no transcripts/${rule}-*.txt has a comment with [${rule}] above something that it prints`,
    ).not.toEqual([]);
  });

  test("there are rules and meetings to show", () => {
    expect(rules.length).toBeGreaterThan(100);
    expect(new Set(rules).size).toBe(rules.length);
    expect(meetings.length).toBeGreaterThan(30);
  });

  test.each(meetings)("where rules meet: $when", ({ when, where }) => {
    expect(where, "the row names no transcript in its last column").not.toEqual([]);
    for (const name of where) {
      const blocks = shown(texts.get(`${name}.txt`) ?? "");
      const said = blocks.some((block) => comments(block).includes(`# Where rules meet: ${when}`));
      expect(
        said,
        `transcripts/${name}.txt has no comment '# Where rules meet: ${when}' above something that it prints`,
      ).toBe(true);
    }
  });

  test("nothing in a transcript refers to what SPEC.md does not say", () => {
    const unknown = files.flatMap((file) => {
      const said = comments(texts.get(file) ?? "");
      const numbers = said.flatMap((line) => [...line.matchAll(/\[([A-Z]\d+)\]/g)].map(([, rule = ""]) => rule));
      const rows = said.flatMap((line) => /^# Where rules meet: (.*)$/.exec(line)?.[1] ?? []);
      const named = /^([A-Z]\d+|story-\d+)-/.exec(file)?.[1];
      return [
        ...numbers.filter((rule) => !rules.includes(rule)).map((rule) => `${file}: [${rule}]`),
        ...rows
          .filter(
            (row) => !meetings.some(({ when, where }) => when === row && where.includes(file.replace(".txt", ""))),
          )
          .map((row) => `${file}: ${row}`),
        ...(named === undefined || (!named.startsWith("story") && !rules.includes(named)) ? [`${file}: its name`] : []),
      ];
    });
    expect(unknown).toEqual([]);
  });

  test.each(Object.keys(REASONS))("the reason %s is given in one", (reason) => {
    const given = [...texts.values()].some((text) => new RegExp(`^\\S+ waits ${reason}: `, "m").test(text));
    expect(given, `no transcript prints 'waits ${reason}'`).toBe(true);
  });
});
