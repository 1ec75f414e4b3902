// Reads SPEC.md: its chapters and the rules that each defines.

export interface Chapter {
  /** As in the heading: "4 Quorum and budget". */
  readonly title: string;
  /** Rules in the order of their numbers, regardless of their form. */
  readonly rules: readonly string[];
  /** Rules that are list items, in the order of the text. */
  readonly listed: readonly ListedRule[];
}

export interface ListedRule {
  readonly rule: string;
  readonly lines: readonly string[];
}

const HEADING = /^## (\d+ .+)$/;
const LIST_ITEM = /^- \*\*([A-Z]\d+)\*\* /;
const ROW_RULE = /\*\*([A-Z]\d+)\*\*/g;

/** A rule is defined by a list item that starts with its number in bold, or by table rows with the number in bold. */
export function chaptersOf(spec: string): Chapter[] {
  const chapters: { title: string; rules: Set<string>; listed: { rule: string; lines: string[] }[] }[] = [];
  for (const line of spec.split("\n")) {
    const title = HEADING.exec(line)?.[1];
    if (title !== undefined) chapters.push({ title, rules: new Set(), listed: [] });
    const chapter = chapters.at(-1);
    if (!chapter) continue;
    const rule = LIST_ITEM.exec(line)?.[1];
    if (rule !== undefined) {
      chapter.rules.add(rule);
      chapter.listed.push({ rule, lines: [line] });
    } else if (line.startsWith("  ")) chapter.listed.at(-1)?.lines.push(line);
    else if (line.startsWith("|")) for (const [, row = ""] of line.matchAll(ROW_RULE)) chapter.rules.add(row);
  }
  return chapters.map(({ title, rules, listed }) => ({ title, rules: [...rules].sort(byNumber), listed }));
}

export function rulesOf(spec: string): string[] {
  return chaptersOf(spec).flatMap(({ rules }) => rules);
}

/** The letter, then the number: "Q2" comes before "Q10". */
export function byNumber(left: string, right: string): number {
  const [a = "", b = ""] = [left[0], right[0]];
  return a === b ? Number(left.slice(1)) - Number(right.slice(1)) : a < b ? -1 : 1;
}

/** "Q1-Q3, Q7": neighbours of one letter as a range. */
export function rangesOf(rules: readonly string[]): string {
  const ranges: { first: string; last: string }[] = [];
  for (const rule of rules) {
    const range = ranges.at(-1);
    const isNext = range?.last[0] === rule[0] && Number(range?.last.slice(1)) + 1 === Number(rule.slice(1));
    if (range && isNext) range.last = rule;
    else ranges.push({ first: rule, last: rule });
  }
  return ranges.map(({ first, last }) => (first === last ? first : `${first}-${last}`)).join(", ");
}

/** GitHub's anchor of a heading. */
export function anchorOf(title: string): string {
  return title
    .toLowerCase()
    .replaceAll(/[^a-z0-9 -]/g, "")
    .replaceAll(" ", "-");
}

/** Replaces the text between `<!-- name: ... -->` and `<!-- end of name -->`. */
export function replaceSection(text: string, name: string, lines: readonly string[]): string {
  const start = text.indexOf(`<!-- ${name}: `);
  const end = text.indexOf(`<!-- end of ${name} -->`);
  if (start < 0 || end < start)
    throw new Error(`SPEC.md has no section '<!-- ${name}: ... --> <!-- end of ${name} -->'`);
  const body = text.indexOf("\n", start) + 1;
  return [text.slice(0, body), ...lines, `\n${text.slice(end)}`].join("\n");
}
