import type { ArchiveFile } from "../archive/tar.ts";

const MAX_WARNINGS = 10;
const MAX_CHARACTERS = 300;

/** What helm says on stderr although it succeeds, such as a value of another type than the chart's. */
export function programWarnings(stderr: string): string[] {
  const lines = stderr.split("\n").filter((line) => /warning|deprecated/i.test(line));
  return [...new Set(lines.map((line) => line.replace(/^\S+\.go:\d+: /, "").slice(0, MAX_CHARACTERS)))].slice(
    0,
    MAX_WARNINGS,
  );
}

/** Two renders within a second do not show what depends on the date. */
export function wordWarnings(files: readonly ArchiveFile[]): string[] {
  const found = files.find(({ path, bytes }) => isTemplate(path) && usesNow(Buffer.from(bytes).toString("utf8")));
  return found ? [`${found.path} uses the current time: a later render may differ`] : [];
}

function isTemplate(path: string): boolean {
  return /(?:^|\/)templates\//.test(path) && !path.endsWith("NOTES.txt");
}

function usesNow(text: string): boolean {
  const withoutComments = text.replace(/\{\{-?\s*\/\*[\s\S]*?\*\/\s*-?\}\}/g, "");
  return /\{\{[^}"]*(?<![.$\w])now\b(?!\s*=)/.test(withoutComments);
}
