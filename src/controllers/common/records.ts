/**
 * [R10] The account of each revision's rollout, in `status.history[].record`: what ran, what held it, from when to when.
 * Events say the same, but the hub drops them after an hour. It is written with the status, never by itself; only people
 * read it, and no decision rests on it.
 */
import { RECORD_CHARS } from "../../api/index.ts";
import {
  type RecordEntry,
  type RolloutMoment,
  type RolloutRecord,
  recordAfter,
  shortened,
} from "../../rollout/index.ts";
import { compressed, decompressed, isJsonObject, type Json } from "../../runtime/index.ts";

/** Of as many revisions a record is kept: with RECORD_CHARS each, 80 KB at most. */
export const RECORDED_REVISIONS = 10;
/** What inflates to more than this is no record. */
const RECORD_MAX_BYTES = 1024 * 1024;
const KINDS: Readonly<Record<RecordEntry["kind"], string>> = { step: "s", hold: "h", note: "n" };

interface Row {
  readonly revision: string;
  readonly record?: string;
}

interface Known {
  readonly record: RolloutRecord;
  text: string | undefined;
  /** Of the revisions before it, until a status has them. */
  readonly left: Map<string, string>;
}

/** Another revision follows: nothing of this rollout continues. */
function ended(record: RolloutRecord, nowMs: number): RolloutRecord {
  return recordAfter(record, { revision: record.revision, rollout: null, happening: [], notes: [] }, nowMs);
}

/** The rollouts in progress, and the last one of each other application; the others' are in the status alone. */
export class Records {
  readonly #known = new Map<string, Known>();

  /** `status`: of the object as it is, from which a new process continues. */
  note(key: string, status: unknown, moment: RolloutMoment, nowMs: number): void {
    const known = this.#known.get(key);
    const kept = rowsOf(status).find(({ revision }) => revision === moment.revision)?.record;
    const isSame = known?.record.revision === moment.revision;
    const before = isSame ? known.record : kept === undefined ? undefined : readRecord(moment.revision, kept);
    const record = recordAfter(before, moment, nowMs);
    if (record === known?.record) return;
    // An account of nothing is no reason for a write: the rollout was over before this process began.
    if (!before && record.entries.length === 0) return;
    const left = known?.left ?? new Map<string, string>();
    if (known && !isSame) left.set(known.record.revision, recordText(ended(known.record, nowMs)));
    left.delete(record.revision);
    this.#known.set(key, { record, text: undefined, left });
  }

  /** The rows of a status' history, newest first, with their records. */
  into<R extends Row>(key: string, rows: readonly R[], before: readonly Row[] | undefined): R[] {
    const known = this.#known.get(key);
    const kept = new Map((before ?? []).map(({ revision, record }) => [revision, record]));
    for (const [revision, text] of known?.left ?? []) {
      const isGone = !rows.some((row) => row.revision === revision);
      if (isGone || kept.get(revision) === text) known?.left.delete(revision);
      else kept.set(revision, text);
    }
    return rows.map((row, index) => {
      const isCurrent = row.revision === known?.record.revision;
      if (index >= RECORDED_REVISIONS && !isCurrent) return row;
      const record = isCurrent ? textOf(known) : kept.get(row.revision);
      return record === undefined ? row : { ...row, record };
    });
  }

  forget(key: string): void {
    this.#known.delete(key);
  }
}

/** Only what has the form of a row: another client may have written the status. */
function rowsOf(status: unknown): Row[] {
  const history = isJsonObject(status) ? status.history : undefined;
  if (!Array.isArray(history)) return [];
  return history.flatMap((row) => {
    if (!isJsonObject(row) || typeof row.revision !== "string") return [];
    const { revision, record } = row;
    return [{ revision, ...(typeof record === "string" && { record }) }];
  });
}

function textOf(known: Known): string {
  known.text ??= recordText(known.record);
  return known.text;
}

/** At most RECORD_CHARS: a longer one loses entries. */
export function recordText(record: RolloutRecord): string {
  for (let kept = record; ; kept = shortened(kept, Math.floor(kept.entries.length * 0.7))) {
    const { from, type, sinceMs, entries, dropped } = kept;
    const rows = entries.map(({ kind, cluster, code, why, fromMs, toMs }) => [
      KINDS[kind],
      cluster,
      code,
      why,
      fromMs - sinceMs,
      toMs === undefined ? null : toMs - fromMs,
    ]);
    const text = compressed(JSON.stringify({ from, type, sinceMs, dropped, entries: rows })).toString("base64");
    if (text.length <= RECORD_CHARS || entries.length === 0) return text;
  }
}

/** Undefined: this is no record that this version can read. Another client may have written the status. */
export function readRecord(revision: string, text: string): RolloutRecord | undefined {
  let value: unknown;
  try {
    value = JSON.parse(decompressed(Buffer.from(text, "base64"), RECORD_MAX_BYTES));
  } catch {
    return undefined;
  }
  if (!isJsonObject(value)) return undefined;
  const { from, type, sinceMs, dropped, entries } = value;
  if (typeof sinceMs !== "number" || typeof dropped !== "number" || !Array.isArray(entries)) return undefined;
  if (type !== "Deploy" && type !== "Update" && type !== "RollBack") return undefined;
  const read = entries.map((row) => entryOf(row, sinceMs));
  if (!read.every((entry) => entry !== undefined)) return undefined;
  return { revision, ...(typeof from === "string" && { from }), type, sinceMs, entries: read, dropped };
}

function entryOf(row: Json, sinceMs: number): RecordEntry | undefined {
  if (!Array.isArray(row)) return undefined;
  const [letter, cluster, code, why, afterMs, tookMs] = row;
  const kind = (["step", "hold", "note"] as const).find((one) => KINDS[one] === letter);
  if (kind === undefined || typeof cluster !== "string" || typeof code !== "string" || typeof why !== "string")
    return undefined;
  if (typeof afterMs !== "number" || (tookMs !== null && typeof tookMs !== "number")) return undefined;
  const fromMs = sinceMs + afterMs;
  return { kind, cluster, code, why, fromMs, ...(typeof tookMs === "number" && { toMs: fromMs + tookMs }) };
}
