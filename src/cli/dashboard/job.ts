/** One CrossClusterJob as the page shows it, from one moment. Pure. */
import { type CrossClusterJobStatus, parseCrossClusterJob } from "../../api/index.ts";
import { parseIndexes } from "../../jobs/index.ts";
import type { KubeObject } from "../../kube/index.ts";
import { isJsonObject } from "../../runtime/index.ts";
import type { AttemptView, JobView, PlanView, SpanView, TimelineView, WhyView } from "../../web/index.ts";
import { workOf } from "../hub/pod-places.ts";
import { seenOf } from "../hub/seen.ts";
import { type Offer, offered } from "./actions.ts";
import type { DistributionFacts } from "./distribution.ts";
import { given, happenedView, meaningOf, needsPerson, timeOf } from "./words.ts";

type Status = CrossClusterJobStatus;

export interface JobFacts extends DistributionFacts {
  readonly plan: PlanView;
}

export function jobView(facts: JobFacts): JobView {
  const { object, events, eventsProblem, rights, program, nowMs, plan } = facts;
  const { name, namespace = "default", resourceVersion = "", generation } = object.metadata;
  const parsed = parseCrossClusterJob(object);
  const spec = parsed.ok ? parsed.value.spec : undefined;
  const status = jobStatus(object);
  const at = { type: "ccj", namespace, name } as const;
  return {
    ...at,
    atMs: nowMs,
    resourceVersion,
    seen: seenOf(object),
    ...workOf(object),
    guarantee: spec?.failover.onClusterLoss.guarantee ?? "Wait",
    isCurrent: status.observedGeneration === generation,
    phase: status.phase ?? "Pending",
    ...given("completions", status.completions),
    succeeded: status.succeeded ?? 0,
    active: status.active ?? 0,
    failed: status.failed ?? 0,
    done: parseIndexes(status.completedIndexes ?? "") ?? [],
    ...given("startTime", status.startTime),
    ...given("completionTime", status.completionTime),
    why: whyView(object, status, program),
    attempts: (status.attempts ?? []).map(attemptView),
    plan,
    timeline: attemptsTimeline(status, nowMs),
    happened: happenedView(events, eventsProblem),
    actions: offered(at, offers(status), rights, { program, seen: seenOf(object) }),
  };
}

export function jobStatus({ status }: KubeObject): Status {
  // The CRD's schema has checked its form.
  return isJsonObject(status) ? (status as Status) : {};
}

const FAILED_STATES: ReadonlySet<string> = new Set(["Failed", "Lost"]);

/** The attempts, which the status keeps, are the account of a job. */
function attemptsTimeline({ attempts = [], startTime }: Status, nowMs: number): TimelineView {
  const spans = attempts.flatMap(({ number, cluster, state, startedAt, finishedAt, reason, message }): SpanView[] => {
    const fromMs = timeOf(startedAt);
    if (fromMs === undefined) return [];
    const why = [reason, message].filter((one) => one !== undefined).join(": ");
    const isBad = FAILED_STATES.has(state);
    const toMs = timeOf(finishedAt);
    return [{ cluster, what: `Attempt ${number} ${state}`, why, fromMs, ...given("toMs", toMs), isBad }];
  });
  const fromMs = Math.min(timeOf(startTime) ?? nowMs, ...spans.map((span) => span.fromMs));
  return { fromMs, spans, holds: [], notes: [] };
}

function attemptView(row: NonNullable<Status["attempts"]>[number]): AttemptView {
  return {
    number: row.number,
    cluster: row.cluster,
    ...given("object", row.object),
    work:
      row.indexes !== undefined
        ? `indexes ${row.indexes}`
        : row.completions !== undefined
          ? `${row.completions} completions`
          : "all of it",
    state: row.state,
    ...given("fromMs", timeOf(row.startedAt)),
    ...given("toMs", timeOf(row.finishedAt)),
    ...given("deadlineMs", timeOf(row.deadline)),
    ...given("mayRunTwice", row.mayRunTwice),
    ...given("reason", row.reason),
    ...given("message", row.message),
  };
}

function whyView({ metadata }: KubeObject, status: Status, program: string): WhyView {
  const { phase, reason, message, waiting = [] } = status;
  const main = waiting.find((one) => needsPerson(one.reason)) ?? waiting[0];
  const code = main?.reason ?? reason;
  const where = `ccj/${metadata.name} -n ${metadata.namespace ?? "default"}`;
  // What the pods have written says why it failed, which a retry alone does not change.
  const retry = phase === "Failed" ? [`${program} logs ${where}`, `${program} retry ${where}`] : [];
  if (code === undefined) {
    return {
      sentence:
        phase === "Complete"
          ? `The work is complete: ${status.display?.completions ?? "all"} done. It never runs again.`
          : phase === undefined
            ? "The controller has not reported yet. If this persists, check that it runs."
            : `${metadata.name} waits for nothing: it is ${phase}.`,
      evidence: [],
      remedy: phase === undefined ? [`${program} doctor`] : retry,
      needsPerson: phase === "Failed",
      others: [],
    };
  }
  return {
    reason: code,
    ...given("meaning", meaningOf(code)),
    ...given("cluster", main?.cluster),
    sentence: main?.message ?? message ?? code,
    evidence: evidenceOf(status, main?.cluster),
    remedy: [...retry, ...(main?.remedy === undefined ? [] : [main.remedy])],
    needsPerson: needsPerson(code) || phase === "Failed" || phase === "Invalid",
    others: waiting.filter((one) => one !== main).map((one) => `${one.cluster ?? "all clusters"}: ${one.reason}`),
  };
}

/** The first ones; the page lists all of them below. */
const MAX_EVIDENCE = 5;

/** The attempts that the reason is about: of its cluster, or those that have not succeeded; the newest first. */
function evidenceOf({ attempts = [] }: Status, cluster: string | undefined): WhyView["evidence"] {
  return attempts
    .filter((one) => (cluster === undefined ? one.state !== "Succeeded" : one.cluster === cluster))
    .toReversed()
    .slice(0, MAX_EVIDENCE)
    .map(({ number, cluster: at, state, reason, deadline }) => ({
      object: `attempt ${number} in ${at}`,
      field: "status.attempts.state",
      value: [
        state,
        ...(reason === undefined ? [] : [reason]),
        ...(deadline === undefined || FAILED_STATES.has(state) ? [] : [`its cluster ends it at ${deadline}`]),
      ].join(", "),
    }));
}

function offers({ phase }: Status): Offer[] {
  if (phase !== "Failed") return [];
  return [
    {
      action: "retry",
      consequence: "The work is tried again, with what is left of it. What is complete does not run again.",
    },
  ];
}
