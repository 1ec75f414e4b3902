import {
  type CrossClusterJobStatus,
  type JobPhase,
  MAX_DONE_CHARS,
  MAX_INDEXES_CHARS,
  MAX_LISTED_ATTEMPTS,
  type ParsedCrossClusterJob,
} from "../../../api/index.ts";
import type { Attempt, JobLedger, JobPlan, JobWaiting } from "../../../jobs/index.ts";
import type { KubeObject } from "../../../kube/index.ts";
import { isJsonObject, type JsonObject, timestamp } from "../../../runtime/index.ts";
import { endOf } from "../../common/lifetimes.ts";
import { attemptRef } from "../attempt-marks.ts";

type Condition = NonNullable<CrossClusterJobStatus["conditions"]>[number];
type AttemptRow = NonNullable<CrossClusterJobStatus["attempts"]>[number];

const MAX_WAITING = 32;
const MAX_WORKLOAD_CHARS = 64 * 1024;
const UNSURE = new Set(["AttemptUnheard", "AttemptLost", "WaitingForDeadline", "EndUnknown"]);

export interface JobReport {
  readonly job: ParsedCrossClusterJob;
  readonly plan: JobPlan;
  readonly failures: readonly { readonly cluster: string; readonly message: string }[];
  readonly newest: KubeObject | undefined;
  readonly nowMs: number;
}

export function jobStatusOf(report: JobReport, before: CrossClusterJobStatus | undefined): CrossClusterJobStatus {
  const { job, plan, failures, newest } = report;
  const { ledger, figures } = plan;
  const waiting = plan.waiting.map((each) => ({
    ...each,
    remedy: each.remedy.replaceAll("ccj/NAME", `ccj/${job.metadata.name}`),
  }));
  const { end } = ledger;
  const endMs = endOf(job);
  const first = waiting[0];
  const failure = failures[0];
  const said = end?.kind === "Failed" ? end : undefined;
  const reason = said?.reason ?? (failure ? "DispatchFailed" : first?.code);
  const message =
    said?.message ??
    (failure ? `${failure.cluster}: ${failure.message}` : first && `${first.message}. ${first.remedy}`);
  const active = new Set(ledger.attempts.filter(({ outcome }) => outcome === null).map(({ cluster }) => cluster));
  return {
    observedGeneration: job.metadata.generation ?? 0,
    phase: phaseOf(job, ledger, waiting),
    ...(endMs !== undefined && { expiresAt: timestamp(endMs) }),
    ...(reason !== undefined && { reason }),
    ...(message && { message: message.slice(0, 4096) }),
    attempts: ledger.attempts.slice(-MAX_LISTED_ATTEMPTS).map((attempt) => rowOf(job, attempt, waiting)),
    active: figures.active,
    succeeded: figures.succeeded,
    failed: figures.failed,
    completions: figures.wanted,
    ...(figures.completedIndexes !== "" && { completedIndexes: figures.completedIndexes.slice(0, MAX_DONE_CHARS) }),
    ...(ledger.startedAtMs !== null && { startTime: timestamp(ledger.startedAtMs) }),
    ...(end?.kind === "Complete" && { completionTime: timestamp(end.atMs) }),
    ...(waiting.length > 0 && {
      waiting: waiting.slice(0, MAX_WAITING).map(({ code, cluster, message: text, remedy }) => ({
        reason: code,
        ...(cluster !== undefined && { cluster }),
        message: text,
        remedy,
      })),
    }),
    ...workloadOf(newest, before),
    display: {
      completions: `${figures.completed}/${figures.wanted}`,
      ...(end && ledger.startedAtMs !== null && { duration: durationText(end.atMs - ledger.startedAtMs) }),
      ...(active.size > 0 && { clusters: [...active].join(",") }),
    },
    conditions: conditionsOf(report, before?.conditions ?? []),
  };
}

function workloadOf(newest: KubeObject | undefined, before: CrossClusterJobStatus | undefined) {
  const status = newest?.status;
  if (isJsonObject(status)) return { workload: bounded(status) };
  return before?.workload ? { workload: before.workload } : {};
}

/** The smallest fields that fit: a Workflow lists each of its nodes, and a hub refuses an object that is too large. */
function bounded(status: JsonObject): JsonObject {
  const sizes = Object.entries(status).map(([key, value]) => ({
    key,
    size: key.length + JSON.stringify(value).length,
  }));
  if (sizes.reduce((sum, { size }) => sum + size, 0) <= MAX_WORKLOAD_CHARS) return status;
  const fitting = new Set<string>();
  let left = MAX_WORKLOAD_CHARS;
  for (const { key, size } of sizes.sort((a, b) => a.size - b.size)) {
    left -= size;
    if (left < 0) break;
    fitting.add(key);
  }
  return Object.fromEntries(Object.entries(status).filter(([key]) => fitting.has(key)));
}

function phaseOf(job: ParsedCrossClusterJob, { end, attempts }: JobLedger, waiting: readonly JobWaiting[]): JobPhase {
  if (job.metadata.deletionTimestamp !== undefined) return "Deleting";
  if (end) return end.kind;
  if (job.spec.suspend) return "Suspended";
  const alive = attempts.filter(({ outcome }) => outcome === null);
  if (alive.some(({ grant, unheardSinceMs }) => grant.parallelism > 0 && unheardSinceMs === null)) return "Running";
  return waiting.length > 0 && alive.some(({ unheardSinceMs }) => unheardSinceMs !== null) ? "Waiting" : "Pending";
}

function rowOf(job: ParsedCrossClusterJob, attempt: Attempt, waiting: readonly JobWaiting[]): AttemptRow {
  const { number, cluster, share, done, outcome, stop, startedAtMs } = attempt;
  const { isSwitched, isHeld, readAtMs, latestDeadlineSeconds } = attempt;
  const waits = waiting.find((each) => each.cluster === cluster && !outcome);
  const reason = outcome?.reason ?? stop?.reason ?? waits?.code;
  const message = outcome?.message ?? stop?.message ?? waits?.message;
  return {
    number,
    cluster,
    object: attemptRef(job, number).name,
    // Of one that may run, nothing may be cut: if its ledger is lost, no other attempt gets any of it.
    ...(share.kind === "indexes" && { indexes: share.indexes.slice(0, outcome ? MAX_INDEXES_CHARS : MAX_DONE_CHARS) }),
    ...(share.kind === "count" && { completions: share.count }),
    ...(done.succeeded > 0 && { succeeded: done.succeeded }),
    ...(done.indexes !== "" &&
      outcome?.kind !== "succeeded" && { completedIndexes: done.indexes.slice(0, MAX_INDEXES_CHARS) }),
    state: stateOf(attempt),
    startedAt: timestamp(startedAtMs),
    ...(outcome && { finishedAt: timestamp(outcome.atMs) }),
    ...(isSwitched &&
      readAtMs !== null &&
      !isHeld &&
      !outcome && { deadline: timestamp(readAtMs + latestDeadlineSeconds * 1000) }),
    ...(attempt.mayRunTwice && { mayRunTwice: `${cluster} did not report when its work was started again` }),
    ...(reason && { reason }),
    ...(message && { message }),
  };
}

/** If the ledger is lost, one that is Starting counts as never having run. */
function stateOf({ outcome, stop, ending, grant }: Attempt): string {
  if (outcome) return outcome.kind.charAt(0).toUpperCase() + outcome.kind.slice(1);
  if (stop || ending) return "Stopping";
  if (grant.parallelism > 0) return "Running";
  return grant.epoch > 1 ? "Suspended" : "Starting";
}

function conditionsOf({ job, plan, nowMs }: JobReport, before: readonly Condition[]): Condition[] {
  const { end } = plan.ledger;
  const unsure = plan.waiting.find(({ code }) => UNSURE.has(code));
  const conditions: [type: string, is: boolean, reason: string, message: string][] = [
    ["Complete", end?.kind === "Complete", end?.reason ?? "NotEnded", end?.message ?? "the work has not ended"],
    ["Failed", end?.kind === "Failed", end?.reason ?? "NotEnded", end?.message ?? "the work has not ended"],
    [
      "Suspended",
      job.spec.suspend && !end,
      job.spec.suspend ? "Suspended" : "NotSuspended",
      job.spec.suspend ? "spec.suspend is set" : "spec.suspend is not set",
    ],
    ["Unknown", unsure !== undefined, unsure?.code ?? "Reported", unsure?.message ?? "every attempt reports"],
  ];
  return conditions.map(([type, is, reason, message]) => {
    const status = is ? "True" : "False";
    const known = before.find((each) => each.type === type && each.status === status);
    return {
      type,
      status,
      reason,
      message,
      lastTransitionTime: known?.lastTransitionTime ?? timestamp(nowMs),
      observedGeneration: job.metadata.generation ?? 0,
    };
  });
}

/** As batch/v1 shows it: 45s, 3m20s, 5h2m. */
export function durationText(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  if (hours > 0) return `${hours}h${minutes}m`;
  return minutes > 0 ? `${minutes}m${seconds % 60}s` : `${seconds}s`;
}
