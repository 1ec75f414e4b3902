/**
 * [J15] What a lost ledger knew and no dispatch object tells: attempts that were removed, all that was done, and the
 * end. The status is a view of the ledger, and only here it is read: it can keep work from running again, nothing more.
 */
import { MAX_DONE_CHARS, MAX_INDEXES_CHARS, type ParsedCrossClusterJob } from "../../api/index.ts";
import {
  type Attempt,
  doneIndexes,
  type IndexSet,
  indexesText,
  type JobEnd,
  type JobLedger,
  minus,
  parseIndexes,
  type Share,
  sizeOf,
  succeededOf,
  union,
} from "../../jobs/index.ts";
import { isJsonObject, type Json, type JsonObject, valueAt } from "../../runtime/index.ts";

/** An object that is not this one has another: what is found there is stopped, and never taken for the attempt. */
const UNKNOWN_UID = "unknown";
const OUTCOMES = { Succeeded: "succeeded", Failed: "failed", Moved: "moved", Lost: "lost", Unused: "unused" } as const;

export function recovered(
  ledger: JobLedger,
  status: Json | undefined,
  { spec }: ParsedCrossClusterJob,
  nowMs: number,
): JobLedger {
  if (!isJsonObject(status)) return ledger;
  const isSwitched = spec.failover.onClusterLoss.guarantee === "Exclusive";
  const rows = Array.isArray(status.attempts) ? status.attempts.filter(isJsonObject) : [];
  const listed = rows.flatMap((row) => attemptOf(row, isSwitched, spec.failover.onClusterLoss.windowSeconds, nowMs));
  const known = new Set(ledger.attempts.map(({ number }) => number));
  // One that had not started, and has no dispatch object, never will: only its number is used up.
  const missed = listed.filter(({ number, uid }) => !known.has(number) && uid !== null);
  const attempts = withUnlisted([...ledger.attempts.map((each) => withDone(each, listed)), ...missed], {
    listed,
    status,
    spec,
  });
  const nextAttempt = Math.max(0, ...[...attempts, ...listed].map(({ number }) => number)) + 1;
  const startedAtMs = timeOf(status.startTime);
  const retry = spec.retry ?? null;
  return {
    ...ledger,
    attempts: [...attempts].sort((a, b) => a.number - b.number),
    nextAttempt,
    startedAtMs: startedAtMs ?? ledger.startedAtMs,
    end: endOf(status),
    // Whether the retry was acted on is not known. A user can ask again; work that ran twice cannot be taken back.
    retryHeard: retry,
    failuresFrom: retry === null ? ledger.failuresFrom : nextAttempt,
  };
}

/** Its dispatch object knows what it had done when its grant last changed; the status may have seen more of it. */
function withDone(attempt: Attempt, listed: readonly Attempt[]): Attempt {
  const row = listed.find(({ number }) => number === attempt.number);
  if (!row) return attempt;
  const { done } = attempt;
  const indexes = indexesText(union(doneIndexes(attempt), doneIndexes(row)));
  return { ...attempt, done: { ...done, succeeded: Math.max(done.succeeded, succeededOf([row])), indexes } };
}

interface Told {
  readonly listed: readonly Attempt[];
  readonly status: JsonObject;
  readonly spec: ParsedCrossClusterJob["spec"];
}

/**
 * The status counts what all attempts have done, and lists the newest of them; long sets of indexes are cut there. The
 * rest was done by older ones, or is what was cut: an attempt that stands for all of these has it from now on.
 */
function withUnlisted(attempts: readonly Attempt[], { listed, status, spec }: Told): readonly Attempt[] {
  const { template, division } = spec;
  const isCounted =
    typeof valueAt(template, "spec", "completions") === "number" &&
    valueAt(template, "spec", "completionMode") !== "Indexed";
  // Of those that the status lists, its own numbers: what is still running may have done more since.
  const older = attempts.filter(({ number }) => !listed.some((row) => row.number === number));
  const counted =
    isCounted && typeof status.succeeded === "number" ? status.succeeded - succeededOf([...listed, ...older]) : 0;
  const all = division === "Indexes" ? (parseIndexes(wholeIndexes(status.completedIndexes, MAX_DONE_CHARS)) ?? []) : [];
  const indexes = attempts.reduce((left: IndexSet, attempt) => minus(left, doneIndexes(attempt)), all);
  if (counted <= 0 && sizeOf(indexes) === 0) return attempts;
  const heir = heirOf(attempts, listed);
  if (!heir) return attempts;
  const done = {
    ...heir.done,
    succeeded: succeededOf([heir]) + Math.max(0, counted),
    indexes: indexesText(union(doneIndexes(heir), indexes)),
  };
  return [{ ...heir, done }, ...attempts.filter(({ number }) => number !== heir.number)];
}

/** One that is not listed any more, if there are any; or else one that is over; or else any: its indexes were cut. */
function heirOf(attempts: readonly Attempt[], listed: readonly Attempt[]): Attempt | undefined {
  const [first] = listed;
  const number = (first?.number ?? 0) - 1;
  if (first && number >= 1 && !attempts.some((each) => each.number === number)) return unlisted(first);
  return attempts.find(({ outcome }) => outcome !== null) ?? attempts[0];
}

function unlisted(next: Attempt): Attempt {
  const { startedAtMs } = next;
  return {
    ...next,
    number: next.number - 1,
    cluster: "unknown",
    share: { kind: "whole" },
    done: { succeeded: 0, failed: 0, indexes: "" },
    outcome: {
      kind: "lost",
      reason: "NotListed",
      message: "the status did not list it any more when the ledger was lost",
      atMs: startedAtMs,
    },
    isCleaned: true,
    mayRunTwice: false,
  };
}

function endOf({ conditions }: JsonObject): JobEnd | null {
  const found = (Array.isArray(conditions) ? conditions.filter(isJsonObject) : []).find(
    ({ type, status }) => (type === "Complete" || type === "Failed") && status === "True",
  );
  const atMs = timeOf(found?.lastTransitionTime);
  if (!found || atMs === undefined) return null;
  const kind = found.type === "Complete" ? "Complete" : "Failed";
  return { kind, reason: textOf(found.reason), message: textOf(found.message), atMs };
}

function attemptOf(row: JsonObject, isSwitched: boolean, windowSeconds: number, nowMs: number): Attempt[] {
  const { number, cluster, state } = row;
  const startedAtMs = timeOf(row.startedAt);
  if (typeof number !== "number" || typeof cluster !== "string" || startedAtMs === undefined) return [];
  const kind = Object.entries(OUTCOMES).find(([word]) => word === state)?.[1];
  const deadlineMs = timeOf(row.deadline);
  // From the decision on it, which is earlier than its start: longer than any deadline that was sent.
  const deadlineSeconds = deadlineMs === undefined ? windowSeconds : Math.ceil((deadlineMs - startedAtMs) / 1000);
  const mayHaveRun = state !== "Starting" || row.succeeded !== undefined || row.completedIndexes !== undefined;
  const share = shareOf(row, kind ? MAX_INDEXES_CHARS : MAX_DONE_CHARS);
  const attempt: Attempt = {
    number,
    cluster,
    share,
    startedAtMs,
    isSwitched,
    uid: mayHaveRun ? UNKNOWN_UID : null,
    readAtMs: mayHaveRun ? nowMs : null,
    // The status shows the deadline of each attempt whose deadline counts.
    ...(isSwitched && mayHaveRun && deadlineMs === undefined && { isHeld: true }),
    grant: { epoch: 1, parallelism: 0, deadlineSeconds: isSwitched ? windowSeconds : null },
    latestDeadlineSeconds: isSwitched ? Math.max(deadlineSeconds, windowSeconds) : 0,
    unheardSinceMs: null,
    pendingSinceMs: null,
    goneSinceMs: null,
    endSeenAtMs: null,
    stop: null,
    done: {
      succeeded: typeof row.succeeded === "number" ? row.succeeded : 0,
      failed: 0,
      indexes: wholeIndexes(row.completedIndexes, MAX_INDEXES_CHARS),
    },
    outcome: kind
      ? { kind, reason: textOf(row.reason), message: textOf(row.message), atMs: timeOf(row.finishedAt) ?? startedAtMs }
      : null,
    isCleaned: false,
    mayRunTwice: row.mayRunTwice !== undefined,
  };
  return [attempt];
}

function shareOf({ indexes, completions }: JsonObject, mostChars: number): Share {
  if (typeof indexes === "string") return { kind: "indexes", indexes: wholeIndexes(indexes, mostChars) };
  return typeof completions === "number" ? { kind: "count", count: completions } : { kind: "whole" };
}

/** A text that was cut may end in the middle of a number. */
function wholeIndexes(value: Json | undefined, mostChars: number): string {
  const text = textOf(value);
  const whole = text.length >= mostChars ? text.slice(0, text.lastIndexOf(",")) : text;
  return indexesText(parseIndexes(whole) ?? []);
}

function timeOf(value: Json | undefined): number | undefined {
  const ms = typeof value === "string" ? Date.parse(value) : Number.NaN;
  return Number.isFinite(ms) ? ms : undefined;
}

function textOf(value: Json | undefined): string {
  return typeof value === "string" ? value : "";
}
