import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { meetingsOf, readTranscripts, shownComments } from "./meetings.ts";
import { mentions, ROOT, testedRules } from "./mentions.ts";
import { byNumber, chaptersOf, rangesOf, replaceSection, rulesOf } from "./rules.ts";

const spec = readFileSync(join(ROOT, "SPEC.md"), "utf8");
const chapters = chaptersOf(spec);
const rules = rulesOf(spec);
const transcripts = readTranscripts();

/** Rules about what the planner or its transcripts do not see, such as dispatch objects: tests name them. */
const OUTSIDE_THE_PLANNER = [
  "A23",
  "A24",
  "A25",
  "A26",
  "A27",
  "A29",
  "A30",
  "A31",
  "A32",
  "A33",
  "F12",
  "I15",
  "I16",
  "I17",
  "I18",
  "I19",
  "I22",
  "J18",
  "R10",
  "R8",
  "R9",
  "S15",
  "S16",
  "S17",
  "T7",
  "U16",
  "U17",
  "U18",
  "W8",
];
const RULE_MAX_LINES = 5;
const LINE_MAX_COLUMNS = 120;
const SENTENCE_MAX_WORDS = 25;

/** Paragraphs, list items and table cells, each without line breaks and without the number of a rule. */
function paragraphsOf(text: string): string[] {
  const found: string[] = [];
  let open = false;
  for (const line of text.split("\n")) {
    const starts = /^(?:- |\d+\. )/.test(line);
    const isText = line !== "" && !/^(?:#|\||<!--)/.test(line);
    if (isText && open && !starts) found.push(`${found.pop()} ${line.trim()}`);
    else if (isText) found.push(line.replace(/^(?:- |\d+\. )(?:\*\*\w+\*\* )?/, ""));
    else if (line.startsWith("|")) found.push(...line.split("|").map((cell) => cell.trim()));
    open = isText;
  }
  return found;
}

describe("SPEC.md", () => {
  it("defines each rule in one chapter, and there are many", () => {
    expect(rules.filter((rule, at) => rules.indexOf(rule) !== at)).toEqual([]);
    expect(rules.length).toBeGreaterThan(100);
  });

  it("defines a rule as a list item or as table rows, not as both", () => {
    const rows = spec.split("\n").filter((line) => line.startsWith("|"));
    const both = chapters
      .flatMap(({ listed }) => listed.map(({ rule }) => rule))
      .filter((rule) => rows.some((row) => row.includes(`**${rule}**`)));
    expect(both).toEqual([]);
  });

  it("lists the rules of a chapter in the order of their numbers", () => {
    for (const { title, listed } of chapters) {
      const numbers = listed.map(({ rule }) => rule);
      expect(numbers, title).toEqual([...numbers].sort((a, b) => (a[0] === b[0] ? byNumber(a, b) : 0)));
    }
  });

  it("takes at most five lines for a rule", () => {
    const long = chapters.flatMap(({ listed }) => listed.filter(({ lines }) => lines.length > RULE_MAX_LINES));
    expect(long.map(({ rule }) => rule)).toEqual([]);
  });

  it("is wrapped at 120 columns, outside of tables", () => {
    const lines = spec.split("\n").filter((line) => !line.startsWith("|"));
    expect(lines.filter((line) => line.length > LINE_MAX_COLUMNS)).toEqual([]);
  });

  it("has sentences of at most 25 words; the items of a list and the cells of a table count as sentences", () => {
    const long = paragraphsOf(spec)
      .flatMap((text) => text.split(/(?<=[.:;?!])\s+/))
      .filter((sentence) => sentence.split(" ").length > SENTENCE_MAX_WORDS);
    expect(long).toEqual([]);
  });

  it("refers to no rule that it does not define", () => {
    const known = new Set(rules);
    const named = [...spec.matchAll(/\b([CDFGIJLQRSTUW]\d{1,2})\b/g)].map(([, rule = ""]) => rule);
    expect(named.filter((rule) => !known.has(rule))).toEqual([]);
  });
});

describe("rules are tested by their number", () => {
  const shown = new Set(
    transcripts.flatMap((transcript) =>
      shownComments(transcript)
        .flat()
        .flatMap((line) => [...line.matchAll(/\[([A-Z]\d+)\]/g)].map(([, rule = ""]) => rule)),
    ),
  );
  const tested = testedRules();

  it.each(rules.filter((rule) => !OUTSIDE_THE_PLANNER.includes(rule)))("[%s] a transcript shows it", (rule) => {
    expect(shown.has(rule), `no transcript has a comment with [${rule}] above something that it prints`).toBe(true);
  });

  it.each(OUTSIDE_THE_PLANNER)("[%s] a test names it", (rule) => {
    expect(rules).toContain(rule);
    expect(tested.has(rule), `no test has [${rule}] in its title`).toBe(true);
  });

  it("no file mentions a rule that SPEC.md does not define", () => {
    const known = new Set(rules);
    // Rules of the member contract are in docs/member-contract.md.
    const unknown = mentions().filter(({ rule }) => !known.has(rule) && !rule.startsWith("M"));
    expect(unknown.map(({ file, rule }) => `${file}: ${rule}`)).toEqual([]);
  });

  it("a transcript is named after a rule or a story", () => {
    const misnamed = transcripts.filter(({ name }) => {
      const [, rule, story] = /^(?:([A-Z]\d+)|(story-\d+))-/.exec(name) ?? [];
      return story === undefined && (rule === undefined || !rules.includes(rule));
    });
    expect(misnamed.map(({ name }) => name)).toEqual([]);
  });

  it("a transcript that is named after a rule shows it", () => {
    const strays = transcripts.filter((transcript) => {
      const rule = /^([A-Z]\d+)-/.exec(transcript.name)?.[1];
      const comments = shownComments(transcript).flat();
      return rule !== undefined && !comments.some((line) => line.includes(`[${rule}]`));
    });
    expect(strays.map(({ name }) => name)).toEqual([]);
  });
});

describe("meetings", () => {
  it("are many, and each names the rules that decide it", () => {
    const meetings = meetingsOf(transcripts);
    expect(meetings.length).toBeGreaterThan(50);
    const silent = meetings.filter(({ outcome }) => !/\([A-Z]\d+(?:, [A-Z]\d+)*\)/.test(outcome));
    expect(silent.map(({ outcome }) => outcome)).toEqual([]);
  });

  const played = (comments: string) => [{ name: "W2-x", text: `# First.\n${comments}\nplan\n----\nat rest\n` }];

  it("join the transcripts that show them, and are read over several lines", () => {
    const [first] = played("# Meets: waves + budget\n# Wins: The\n#   budget (Q11).");
    const second = { name: "Q11-y", text: first!.text.replace(/^# Wins.*\n^# {3}.*\n/m, "") };
    expect(meetingsOf([first!, second])).toEqual([
      { left: ["waves"], right: ["budget"], outcome: "The budget (Q11).", transcripts: ["W2-x", "Q11-y"] },
    ]);
  });

  it.each([
    ["# Meets: waves + budgets\n# Wins: The budget.", "'budgets' is not an event"],
    ["# Meets: waves\n# Wins: They.", "is not 'EVENT + EVENT'"],
    ["# Meets: waves + budget", "no '# Wins: ...' says what comes of 'waves + budget'"],
    ["# Meets: waves + budget\n# Wins: A.\n# Meets: waves + budget\n# Wins: B.", "is said twice"],
  ])("%j is refused", (comments, message) => {
    expect(() => meetingsOf(played(comments))).toThrow(message);
  });
});

describe("what is generated into SPEC.md", () => {
  it("writes neighbouring rules as a range", () => {
    expect(rangesOf(["D7", "D8", "D9", "I10", "I16"])).toBe("D7-D9, I10, I16");
  });

  it("replaces a section between its marks, the same way every time", () => {
    const once = replaceSection("a\n<!-- x: how -->\nold\n<!-- end of x -->\nb\n", "x", ["new"]);
    expect(once).toBe("a\n<!-- x: how -->\n\nnew\n\n<!-- end of x -->\nb\n");
    expect(replaceSection(once, "x", ["new"])).toBe(once);
    expect(() => replaceSection(once, "y", [])).toThrow("SPEC.md has no section");
  });
});
