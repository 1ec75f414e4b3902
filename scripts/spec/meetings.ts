// What the planner's transcripts declare for SPEC.md: which rules they show, and which events meet in them.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** Relative to the repository's root, as in SPEC.md's links. */
export const TRANSCRIPTS = "src/plan/check/transcripts";
const TRANSCRIPTS_OF_OTHER_KINDS = ["src/applications/check/transcripts", "src/jobs/check/transcripts"];

/** All events that can meet, in the order of SPEC.md's chapters. A closed list, so that each event has one name. */
export const EVENTS = [
  "adoption",
  "new cluster",
  "growth",
  "removal",
  "membership change",
  "update",
  "template edit",
  "unfinished revision",
  "dependency edit",
  "settings edit",
  "restart",
  "step under way",
  "stuck step",
  "joining instance",
  "repair",
  "broken pod",
  "indivisible cluster",
  "unordered StatefulSet",
  "partition",
  "waves",
  "soak",
  "approval",
  "promotion",
  "batches",
  "budget",
  "quorum",
  "few voters",
  "limits",
  "leader",
  "leader move",
  "leader request",
  "pause",
  "window",
  "halt",
  "rollback",
  "undo",
  "override",
  "unknown schedule",
  "drain",
  "away cluster",
  "lost cluster",
  "returned cluster",
  "maintenance",
  "rebuilt ledger",
  "deletion",
  "everything",
] as const;
export type Event = (typeof EVENTS)[number];

export interface Transcript {
  /** The file's name without ".txt". */
  readonly name: string;
  readonly text: string;
}

export interface Meeting {
  readonly left: readonly Event[];
  readonly right: readonly Event[];
  readonly outcome: string;
  /** The transcripts that show it. */
  readonly transcripts: readonly string[];
}

export function readTranscripts(): Transcript[] {
  return [TRANSCRIPTS, ...TRANSCRIPTS_OF_OTHER_KINDS].flatMap((path) => {
    const folder = fileURLToPath(new URL(`../../${path}`, import.meta.url));
    return readdirSync(folder)
      .filter((file) => file.endsWith(".txt"))
      .sort()
      .map((file) => ({ name: file.replace(/\.txt$/, ""), text: readFileSync(join(folder, file), "utf8") }));
  });
}

/** The comments above each block that prints something; the file's first line only announces. */
export function shownComments({ text }: Transcript): string[][] {
  const [, ...rest] = text.split("\n");
  return rest
    .join("\n")
    .split(/\n\n+/)
    .filter((block) => /^----$/m.test(block))
    .map((block) => block.split("\n").filter((line) => line.startsWith("#")));
}

/**
 * Above a block: `# Meets: EVENT, EVENT + EVENT`, and in one of the transcripts that show the meeting `# Wins: OUTCOME`
 * below it, which may continue in lines that start with three spaces. Throws if a declaration cannot be read.
 */
export function meetingsOf(transcripts: readonly Transcript[]): Meeting[] {
  const found = new Map<string, { outcomes: string[]; transcripts: string[] }>();
  for (const transcript of transcripts) {
    for (const comments of shownComments(transcript)) {
      for (const { events, outcome } of declarations(comments)) {
        const meeting = found.get(events) ?? { outcomes: [], transcripts: [] };
        found.set(events, meeting);
        meeting.transcripts.push(transcript.name);
        if (outcome !== undefined) meeting.outcomes.push(outcome);
      }
    }
  }
  return [...found].map(([events, meeting]) => toMeeting(events, meeting)).sort(byEvents);
}

function declarations(comments: readonly string[]): { events: string; outcome?: string }[] {
  const found: { events: string; outcome?: string }[] = [];
  for (const line of comments) {
    const events = /^# Meets: (.+)$/.exec(line)?.[1];
    const outcome = /^# Wins: (.+)$/.exec(line)?.[1];
    const more = /^# {3}(\S.*)$/.exec(line)?.[1];
    const last = found.at(-1);
    if (events !== undefined) found.push({ events });
    else if (outcome !== undefined && last) last.outcome = outcome;
    else if (more !== undefined && last?.outcome !== undefined) last.outcome += ` ${more}`;
  }
  return found;
}

function toMeeting(events: string, { outcomes, transcripts }: { outcomes: string[]; transcripts: string[] }): Meeting {
  const [left, right, ...others] = events.split(" + ").map((side) => side.split(", ").map(toEvent));
  const where = transcripts.join(", ");
  if (!left || !right || others.length > 0) throw new Error(`${where}: '# Meets: ${events}' is not 'EVENT + EVENT'`);
  const [outcome] = outcomes;
  if (outcome === undefined) throw new Error(`${where}: no '# Wins: ...' says what comes of '${events}'`);
  if (outcomes.length > 1) throw new Error(`${where}: '# Wins: ...' is said twice for '${events}'`);
  return { left, right, outcome, transcripts };
}

function toEvent(name: string): Event {
  const event = EVENTS.find((each) => each === name);
  if (!event) throw new Error(`'${name}' is not an event of scripts/spec/meetings.ts: ${EVENTS.join(", ")}`);
  return event;
}

function byEvents(a: Meeting, b: Meeting): number {
  const rank = (events: readonly Event[]) => Math.min(...events.map((event) => EVENTS.indexOf(event)));
  return rank(a.left) - rank(b.left) || rank(a.right) - rank(b.right);
}

/** As Markdown, with links relative to the repository's root. */
export function meetingsTable(meetings: readonly Meeting[]): string[] {
  const link = (name: string) => `[${name}](${TRANSCRIPTS}/${name}.txt)`;
  const rows = meetings.map(
    ({ left, right, outcome, transcripts }) =>
      `| ${left.join(", ")} | ${right.join(", ")} | ${outcome} | ${transcripts.map(link).join(" ")} |`,
  );
  return ["| when | meets | what happens | shown by |", "|---|---|---|---|", ...rows];
}
