import type { Evidence } from "../../rollout/index.ts";
import { takenDown } from "../evidence/restarts.ts";
import { viewIn } from "../evidence/view.ts";
import type { Draft } from "../ledger/draft.ts";
import type { ClusterName, Halt } from "../types/index.ts";
import { overrideOf } from "./override.ts";
import type { Target } from "./target.ts";

const SECOND_MS = 1000;
/** [U9] How long a superseded step may make no progress before its cluster is rolled back. */
export const SUPERSEDED_PATIENCE_MS = 60_000;

/**
 * [F1] Looks at every step under way. A failed update step halts the rollout, or rolls it back if the user asked for
 * it. A failed deployment or scaling step is only reported, because there is no revision to return to.
 */
export function detectFailures(draft: Draft, target: Target): void {
  for (const cluster of draft.order) {
    const { step, done, turn, grant } = draft.entry(cluster);
    if (!step || !grant || done || turn !== "held" || viewIn(draft, cluster).reach !== "ready") continue;
    const failure = failureOf(draft, cluster);
    if (!failure) continue;
    const rolling = (step.kind === "update" || step.kind === "rollback") && grant.revision === target.revision;
    if (!rolling) {
      draft.wait(
        failure.code,
        cluster,
        failure.message,
        "Look at the instances of this cluster, or scale it back.",
        failure.evidence,
      );
      continue;
    }
    fail(draft, cluster, failure, grant.revision);
  }
}

interface Failure {
  readonly code: Halt["code"];
  readonly message: string;
  readonly evidence: readonly Evidence[];
}

function failureOf(draft: Draft, cluster: ClusterName): Failure | undefined {
  const { intent, nowMs } = draft;
  const { step, grant } = draft.entry(cluster);
  const { present, down } = viewIn(draft, cluster);
  if (!step || !grant) return undefined;
  const report = present?.report;
  if (report?.phase === "Failed" && report.epoch === grant.epoch) {
    const message = `the operator of ${cluster} reported: ${report.message ?? "Failed"}`;
    return {
      code: "MemberFailed",
      message,
      evidence: [{ object: cluster, field: "status.crossCluster.phase", value: "Failed" }],
    };
  }
  const delivered = present?.live.epoch === grant.epoch;
  const taken = takenDown(draft, cluster);
  if (intent.memberConcurrency === "Serial" && delivered && taken.count > 1) {
    return {
      code: "MemberRestartsInParallel",
      message: `${cluster} took ${taken.count} instances down at once (${taken.names})`,
      evidence: [{ object: cluster, field: "unavailable", value: `${down}` }],
    };
  }
  if (intent.update.type !== "RollingUpdate") return undefined;
  const deadlineMs = step.progressMs + intent.update.progressDeadlineSeconds * SECOND_MS;
  if (nowMs < deadlineMs) {
    draft.wakeAt(deadlineMs);
    return undefined;
  }
  const message = `no progress in ${cluster} since ${new Date(step.progressMs).toISOString()}`;
  return {
    code: "ProgressDeadlineExceeded",
    message,
    evidence: [
      {
        object: cluster,
        field: "last progress",
        value: new Date(step.progressMs).toISOString(),
        sinceMs: step.progressMs,
      },
    ],
  };
}

function fail(draft: Draft, cluster: ClusterName, failure: Failure, revision: string): void {
  const { intent, ledger } = draft;
  const from = ledger.rollout?.from ?? null;
  const template = intent.revision.kind === "missing" ? null : intent.revision;
  const turnsAround =
    intent.update.type === "RollingUpdate" &&
    intent.update.onFailure === "Rollback" &&
    failure.code !== "MemberRestartsInParallel" &&
    ledger.rollout?.kind === "update" &&
    from !== null &&
    from !== revision &&
    template?.id === revision;
  if (turnsAround) {
    // [F5] The rejected revision is not tried again until the template's own content changes.
    draft.set("override", overrideOf(template, from, "failure"));
    draft.set("halt", null);
    return;
  }
  if (ledger.halt) return;
  const { code, message } = failure;
  draft.set("halt", { code, cluster, revision, message, sinceMs: draft.nowMs, resume: intent.requests.resume ?? null });
}

/** [U9] The step has made no progress for too long, or has clearly failed: it will not end by itself. */
export function isStuck(draft: Draft, cluster: ClusterName): boolean {
  const { step, grant } = draft.entry(cluster);
  const report = viewIn(draft, cluster).present?.report;
  if (report?.phase === "Failed" && report.epoch === grant?.epoch) return true;
  if (!step) return true;
  const patientUntilMs = step.progressMs + SUPERSEDED_PATIENCE_MS;
  draft.wakeAt(patientUntilMs);
  return draft.nowMs >= patientUntilMs;
}

/** The step has made no progress for progressDeadlineSeconds. */
export function hasMissedDeadline(draft: Draft, cluster: ClusterName): boolean {
  const { step } = draft.entry(cluster);
  const { update } = draft.intent;
  if (!step || update.type !== "RollingUpdate") return false;
  const deadlineMs = step.progressMs + update.progressDeadlineSeconds * SECOND_MS;
  draft.wakeAt(deadlineMs);
  return draft.nowMs >= deadlineMs;
}
