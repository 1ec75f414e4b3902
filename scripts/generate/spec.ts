import { readFileSync } from "node:fs";
import { meetingsOf, meetingsTable, readTranscripts } from "../spec/meetings.ts";
import { anchorOf, chaptersOf, rangesOf, replaceSection } from "../spec/rules.ts";
import type { GeneratedFile } from "./types.ts";

/** SPEC.md with its table of chapters and its table of meetings; the rest is written by hand. */
export function spec(): GeneratedFile[] {
  const written = readFileSync(new URL("../../SPEC.md", import.meta.url), "utf8");
  const chapters = chaptersOf(written).map(
    ({ title, rules }) => `| [${title}](#${anchorOf(title)}) | ${rangesOf(rules) || "from the transcripts"} |`,
  );
  const withChapters = replaceSection(written, "chapters", ["| chapter | rules |", "|---|---|", ...chapters]);
  const text = replaceSection(withChapters, "meetings", meetingsTable(meetingsOf(readTranscripts())));
  return [{ path: "SPEC.md", text }];
}
