/** The account of a rollout, which the controller keeps in the status. */
import { readRecord } from "../../controllers/index.ts";
import type { RolloutRecord } from "../../rollout/index.ts";
import { table } from "../terminal/output.ts";

interface Row {
  readonly revision: string;
  readonly record?: string;
}

/** Undefined: none is kept of this revision, or another version of Lockstep wrote it. */
export function recordIn(history: readonly Row[] | undefined, revision: string | undefined): RolloutRecord | undefined {
  const record = history?.find((row) => row.revision === revision)?.record;
  return record === undefined || revision === undefined ? undefined : readRecord(revision, record);
}

/** For a terminal: what ran and what held it, one line for each. Empty: there is no account. */
export function recordLines(record: RolloutRecord | undefined): string[] {
  if (!record || record.entries.length === 0) return [];
  const rows = record.entries.map(({ kind, cluster, code, why, fromMs, toMs }) => [
    `+${seconds(fromMs - record.sinceMs)}`,
    cluster === "" ? "all" : cluster,
    kind === "hold" ? `held by ${code}` : code,
    kind === "note" ? "" : toMs === undefined ? "not over" : seconds(toMs - fromMs),
    why,
  ]);
  const began = new Date(record.sinceMs).toISOString().replace(/\.\d+Z$/, "Z");
  return [
    `its last rollout began at ${began}:`,
    ...table(["AFTER", "CLUSTER", "WHAT", "TOOK", "WHY"], rows),
    ...(record.dropped > 0 ? [`${record.dropped} more were too many to keep`] : []),
  ];
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1000)}s`;
}
