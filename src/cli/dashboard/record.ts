/** The account of a rollout, which the controller keeps in the status, as a timeline. Pure. */
import type { RolloutRecord } from "../../rollout/index.ts";
import type { NoteView, RecordView, TimelineView } from "../../web/index.ts";
import { given, isWarningReason } from "./words.ts";

/** `notes`: what Events add; they go after an hour. */
export function timelineFrom(
  { sinceMs, entries, dropped }: RolloutRecord,
  notes: readonly NoteView[] = [],
): TimelineView {
  const spans = entries
    .filter(({ kind }) => kind === "step")
    .map(({ cluster, code, why, fromMs, toMs }) => ({ cluster, what: code, why, fromMs, ...given("toMs", toMs) }));
  const holds = entries
    .filter(({ kind }) => kind === "hold")
    .map(({ cluster, code, why, fromMs, toMs }) => ({ cluster, reason: code, why, fromMs, ...given("toMs", toMs) }));
  const kept = entries
    .filter(({ kind }) => kind === "note")
    .map(({ code, why, fromMs }) => ({ atMs: fromMs, isWarning: isWarningReason(code), reason: code, message: why }));
  const isKept = ({ reason, atMs }: NoteView) =>
    kept.some((one) => one.reason === reason && Math.abs(one.atMs - atMs) < SAME_MS);
  const all = [...kept, ...notes.filter((note) => note.atMs >= sinceMs - SAME_MS && !isKept(note))];
  return {
    fromMs: sinceMs,
    spans,
    holds,
    notes: all.sort((a, b) => a.atMs - b.atMs),
    ...given("dropped", dropped === 0 ? undefined : dropped),
  };
}

/** Events have whole seconds, and are written a moment later. */
const SAME_MS = 3_000;

export function recordView(record: RolloutRecord): RecordView {
  const { revision, type, from } = record;
  return { revision, type, ...given("from", from), timeline: timelineFrom(record) };
}
