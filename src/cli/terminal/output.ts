import { stringify } from "yaml";
import { isKubeObject, withoutManagedFields } from "../../kube/index.ts";
import { CommandError } from "../errors.ts";
import { type Face, type Io, wantsColour } from "./io.ts";
import { nearest } from "./nearest.ts";

export type Format = "text" | "json" | "yaml" | "wide" | "name";

/** Parses `-o`; throws for a format that the command does not have. */
export function formatOf<F extends Format>(given: string | undefined, allowed: readonly F[]): F | "text" {
  if (given === undefined) return "text";
  const found = allowed.find((format) => format === given);
  if (found !== undefined) return found;
  const like = nearest(given, allowed);
  throw new CommandError(
    `--output '${given}' is not known here; ${like ? `did you mean '${like}'?` : `use ${allowed.join(", ")}`}`,
  );
}

export function print(io: Io, text: string): void {
  io.stdout.write(text.endsWith("\n") ? text : `${text}\n`);
}

/** For programs: stable, complete, without managed fields. */
export function printData(io: Io, format: "json" | "yaml", data: unknown): void {
  const shown = isKubeObject(data) ? withoutManagedFields(data) : data;
  print(
    io,
    format === "json"
      ? JSON.stringify(shown, null, 2)
      : stringify(shown, { lineWidth: 0, aliasDuplicateObjects: false }),
  );
}

/** Columns as kubectl prints them: upper-case headings, three blanks between. */
export function table(heads: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const all = [heads, ...rows];
  const widths = heads.map((_, column) => Math.max(...all.map((row) => (row[column] ?? "").length)));
  return all.map((row) =>
    row
      .map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)))
      .join("   ")
      .trimEnd(),
  );
}

export interface Style {
  readonly bold: (text: string) => string;
  readonly dim: (text: string) => string;
  readonly good: (text: string) => string;
  readonly bad: (text: string) => string;
  readonly busy: (text: string) => string;
}

/** Colours on a terminal; plain text everywhere else. */
export function styleOf(io: Face): Style {
  const paint = (open: number, close: number) =>
    wantsColour(io) ? (text: string) => `\u001b[${open}m${text}\u001b[${close}m` : (text: string) => text;
  return { bold: paint(1, 22), dim: paint(2, 22), good: paint(32, 39), bad: paint(31, 39), busy: paint(33, 39) };
}

/** Such as 45s, 12m, 3h20m, 5d4h. */
export function duration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 120) return seconds % 60 === 0 || minutes >= 10 ? `${minutes}m` : `${minutes}m${seconds % 60}s`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return minutes % 60 === 0 ? `${hours}h` : `${hours}h${minutes % 60}m`;
  const days = Math.floor(hours / 24);
  return hours % 24 === 0 ? `${days}d` : `${days}d${hours % 24}h`;
}

export function age(since: string | undefined, nowMs: number): string {
  const ms = Date.parse(since ?? "");
  return Number.isFinite(ms) ? duration(nowMs - ms) : "<unknown>";
}
