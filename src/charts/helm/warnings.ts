import type { ArchiveFile } from "../archive/tar.ts";

const MAX_WARNINGS = 10;
const MAX_CHARACTERS = 300;
/** What is cut off before it is cleaned may be half a secret. */
const LOOKED_AT_CHARACTERS = 3 * MAX_CHARACTERS;

/** What helm says on stderr although it succeeds, such as a value of another type than the chart's. */
export function programWarnings(stderr: string, cleaned: (text: string) => string = (text) => text): string[] {
  const lines = stderr.split("\n").filter((line) => /warning|deprecated/i.test(line));
  const told = [...new Set(lines.map((line) => line.replace(/^\S+\.go:\d+: /, "")))].slice(0, MAX_WARNINGS);
  return told.map((line) => cleaned(line.slice(0, LOOKED_AT_CHARACTERS)).slice(0, MAX_CHARACTERS));
}

/** Two renders within a second do not show what depends on the date. */
export function wordWarnings(files: readonly ArchiveFile[]): string[] {
  const found = files.find(({ path, bytes }) => isTemplate(path) && usesNow(Buffer.from(bytes).toString("utf8")));
  return found ? [`${found.path} uses the current time: a later render may differ`] : [];
}

function isTemplate(path: string): boolean {
  return /(?:^|\/)templates\//.test(path) && !path.endsWith("NOTES.txt");
}

const COMMENT = /-?\s*\/\*/y;

/** Walks from one action to the next, so that it looks at each character of what a stranger wrote once. */
function usesNow(text: string): boolean {
  for (let at = text.indexOf("{{"); at >= 0; at = text.indexOf("{{", at)) {
    COMMENT.lastIndex = at + 2;
    const end = text.indexOf(COMMENT.test(text) ? "*/" : "}}", at + 2);
    if (end < 0) return false;
    const action = text.slice(at + 2, end);
    at = end + 2;
    const isComment = text.startsWith("*/", end);
    // What is quoted is text.
    if (!isComment && /(?<![.$\w])now\b(?! *=)/.test(action.split('"', 1)[0] ?? "")) return true;
  }
  return false;
}
