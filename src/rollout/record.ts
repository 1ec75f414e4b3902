/**
 * What ran in one rollout and what held it, with the times: a bounded account for people who look later. No rule reads
 * it. Each plan adds what holds at that moment; what no longer holds has ended. Pure.
 */
import type { ClusterName, RevisionId, TimeMs } from "./types.ts";

/** `hold`: a gate, with its reason. `note`: something at one moment, such as a promotion. */
export type RecordKind = "step" | "hold" | "note";

export interface RecordEntry {
  readonly kind: RecordKind;
  /** Empty: the whole application. */
  readonly cluster: ClusterName | "";
  /** Of a step its name, of a hold its reason. */
  readonly code: string;
  readonly why: string;
  readonly fromMs: TimeMs;
  /** Absent: it continues. */
  readonly toMs?: TimeMs;
}

export interface RolloutRecord {
  readonly revision: RevisionId;
  readonly from?: RevisionId;
  readonly type: "Deploy" | "Update" | "RollBack";
  readonly sinceMs: TimeMs;
  /** By the time at which they began. */
  readonly entries: readonly RecordEntry[];
  /** How many were left out because there were too many. */
  readonly dropped: number;
}

/** What holds at one moment. */
export interface Happening {
  readonly kind: Exclude<RecordKind, "note">;
  readonly cluster: ClusterName | "";
  readonly code: string;
  readonly why: string;
  /** If it is known when it began. */
  readonly sinceMs?: TimeMs;
}

export interface RolloutMoment {
  readonly revision: RevisionId;
  readonly rollout: {
    readonly from: RevisionId | null;
    readonly kind: "update" | "rollback";
    readonly sinceMs: TimeMs;
  } | null;
  readonly happening: readonly Happening[];
  readonly notes: readonly Pick<RecordEntry, "code" | "why">[];
}

/** Of 100 clusters, one step and one hold each fit, or five of thirty. */
export const RECORD_ENTRIES_MAX = 200;
/** A longer reason is in the Event of that time, and in the runbook. */
const WHY_CHARS = 160;
/** A hold that is over sooner than this held nothing that a person would look for. */
const HOLD_MIN_MS = 1_000;
/** A hold that returns within this time has not ended. */
const HOLD_GAP_MS = 2_000;

/** The same record if nothing has changed. */
export function recordAfter(before: RolloutRecord | undefined, moment: RolloutMoment, nowMs: TimeMs): RolloutRecord {
  const record = begun(before, moment, nowMs);
  const open = new Map(moment.happening.map((one) => [keyOf(one), one]));
  let changed = record !== before;
  const entries: RecordEntry[] = [];
  for (const entry of record.entries) {
    const key = keyOf(entry);
    const continues = open.has(key);
    const { toMs, ...rest } = entry;
    if (entry.kind === "note") entries.push(entry);
    else if (toMs === undefined && continues) {
      open.delete(key);
      entries.push(entry);
    } else if (toMs === undefined) {
      changed = true;
      const isShort = entry.kind === "hold" && nowMs - entry.fromMs < HOLD_MIN_MS;
      if (!isShort) entries.push({ ...entry, toMs: Math.max(entry.fromMs, nowMs) });
    } else if (continues && entry.kind === "hold" && nowMs - toMs <= HOLD_GAP_MS) {
      changed = true;
      open.delete(key);
      entries.push(rest);
    } else entries.push(entry);
  }
  for (const { kind, cluster, code, why, sinceMs = nowMs } of open.values()) {
    changed = true;
    const fromMs = Math.min(nowMs, Math.max(sinceMs, record.sinceMs));
    entries.push({ kind, cluster, code, why: why.slice(0, WHY_CHARS), fromMs });
  }
  for (const { code, why } of moment.notes) {
    changed = true;
    entries.push({ kind: "note", cluster: "", code, why: why.slice(0, WHY_CHARS), fromMs: nowMs, toMs: nowMs });
  }
  return changed ? bounded({ ...record, entries: entries.sort((a, b) => a.fromMs - b.fromMs) }) : record;
}

/** The record that continues, or the one of a rollout that has just begun: an undo may return to a revision. */
function begun(before: RolloutRecord | undefined, { revision, rollout }: RolloutMoment, nowMs: TimeMs): RolloutRecord {
  const isSame = before?.revision === revision && (!rollout || rollout.sinceMs === before.sinceMs);
  if (before && isSame) return before;
  const type = !rollout || rollout.from === null ? "Deploy" : rollout.kind === "rollback" ? "RollBack" : "Update";
  return {
    revision,
    ...(rollout?.from != null && { from: rollout.from }),
    type,
    sinceMs: rollout?.sinceMs ?? nowMs,
    entries: [],
    dropped: 0,
  };
}

function keyOf({ kind, cluster, code }: Pick<RecordEntry, "kind" | "cluster" | "code">): string {
  return `${kind} ${cluster} ${code}`;
}

/** Holds go before steps: without them the rollout can still be followed. What continues stays. */
function bounded(record: RolloutRecord): RolloutRecord {
  return record.entries.length <= RECORD_ENTRIES_MAX ? record : shortened(record, RECORD_ENTRIES_MAX);
}

export function shortened(record: RolloutRecord, max: number): RolloutRecord {
  const surplus = record.entries.length - max;
  if (surplus <= 0) return record;
  const ended = record.entries.filter(({ toMs }) => toMs !== undefined);
  const byWorth = [...ended.filter(({ kind }) => kind === "hold"), ...ended.filter(({ kind }) => kind !== "hold")];
  const running = record.entries.filter(({ toMs }) => toMs === undefined);
  const gone = new Set([...byWorth, ...running].slice(0, surplus));
  return { ...record, entries: record.entries.filter((one) => !gone.has(one)), dropped: record.dropped + gone.size };
}
