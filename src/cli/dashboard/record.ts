/** The account of a rollout, which the controller keeps in the status, as a timeline. Pure. */
import type { RecordEntry, RolloutRecord } from "../../rollout/index.ts";
import type { NoteView, RecordView, TimelineView } from "../../web/index.ts";
import { given, isWarningReason } from "./words.ts";

/** `notes`: what Events add; they go after an hour. */
export function timelineFrom(
  { sinceMs, entries, dropped }: RolloutRecord,
  notes: readonly NoteView[] = [],
): TimelineView {
  const failures = entries.filter(isFailure);
  const spans = entries
    .filter(({ kind }) => kind === "step")
    .map(({ cluster, code, why, fromMs, toMs }) => ({
      cluster,
      what: code,
      why,
      fromMs,
      ...given("toMs", toMs),
      ...(failures.some((failure) => ended({ cluster, fromMs, toMs }, failure)) && { isBad: true }),
    }));
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

const FAILURES: ReadonlySet<string> = new Set(["ProgressDeadlineExceeded", "MemberFailed"]);

function isFailure({ kind, code }: RecordEntry): boolean {
  return kind === "hold" ? FAILURES.has(code) : kind === "note" && code === "StepFailed";
}

/** Whether a failure is that of this step: it began during the step, in its cluster. A note begins with its cluster. */
function ended(
  step: { readonly cluster: string; readonly fromMs: number; readonly toMs: number | undefined },
  { kind, cluster, why, fromMs }: RecordEntry,
): boolean {
  const isThere = kind === "hold" ? cluster === step.cluster : why.startsWith(`${step.cluster}: `);
  return isThere && fromMs >= step.fromMs && fromMs <= (step.toMs ?? fromMs) + SAME_MS;
}

/** Events have whole seconds, and are written a moment later. */
const SAME_MS = 3_000;

export function recordView(record: RolloutRecord): RecordView {
  const { revision, type, from } = record;
  return { revision, type, ...given("from", from), timeline: timelineFrom(record) };
}
