import { downBefore } from "../evidence/restarts.ts";
import type { Draft } from "../ledger/draft.ts";
import type { Halt, RevisionId } from "../types/index.ts";
import { resolveOverride, settledRevision, waitForRevision } from "./override.ts";

/** Which revision the clusters should run, and whether new steps towards it may start. */
export interface Target {
  /** Null: no target is known. */
  readonly revision: RevisionId | null;
  /** The template is settled; otherwise only steps in progress continue. */
  readonly settled: boolean;
  /** The template is missing: nothing moves at all. */
  readonly frozen: boolean;
  readonly rejected: RevisionId | null;
}

/**
 * [U1] [F6] The template's revision, unless an undo or a failure overrides it for as long as the template's content
 * stays.
 */
export function resolveTarget(draft: Draft): Target {
  const { revision } = draft.intent;
  if (revision.kind === "missing") {
    draft.wait(
      "TemplateMissing",
      undefined,
      revision.message,
      "Create the template again, or delete the CrossClusterStatefulset.",
      [{ object: "template", field: "exists", value: "no" }],
    );
    return { revision: settledRevision(draft), settled: false, frozen: true, rejected: null };
  }
  const { name } = draft.identity.app;
  if (draft.intent.app.name !== name) {
    draft.wait(
      "TemplateMissing",
      undefined,
      `the selector matches ${draft.intent.app.name}; this application is ${name}, and stays it`,
      "Have the selector match the same object again; create another CrossClusterStatefulset for another one.",
      [{ object: "template", field: "metadata.name", value: draft.intent.app.name }],
    );
    return { revision: settledRevision(draft), settled: false, frozen: true, rejected: null };
  }
  if (revision.kind === "pending") draft.wakeAt(revision.retryAtMs);
  const override = resolveOverride(draft, revision);
  if (override) return { revision: override.to, settled: true, frozen: false, rejected: override.template || null };
  if (draft.intent.inForce?.leavesRestartOut) {
    // The override has just ended: without it, the template's revision differs.
    draft.wakeAt(draft.nowMs + 1);
    waitForRevision(draft, "the template's revision is being made with its restart mark", "No action needed.");
    return { revision: settledRevision(draft), settled: false, frozen: false, rejected: null };
  }
  if (revision.kind === "ready") return { revision: revision.id, settled: true, frozen: false, rejected: null };
  draft.wait(
    revision.kind === "pending" ? "RevisionPending" : "RevisionRefused",
    undefined,
    revision.message,
    revision.remedy ??
      (revision.kind === "pending"
        ? "Wait for the snapshot and the dry run."
        : "Correct the template; the old revision stays meanwhile."),
    [{ object: "template", field: "revision", value: revision.id === "" ? "not made yet" : revision.id }],
  );
  return { revision: settledRevision(draft), settled: false, frozen: false, rejected: null };
}

/** [F4] A halt ends when its revision is no longer the target, when its cause is gone, or when a person resumes. */
export function reviewHalt(draft: Draft, target: Target): Halt | null {
  const { halt } = draft.ledger;
  if (!halt) return null;
  const { requests, memberConcurrency } = draft.intent;
  const resumed = (requests.resume ?? null) !== halt.resume;
  const entry = draft.ledger.clusters[halt.cluster];
  const recovered =
    halt.code === "ProgressDeadlineExceeded" || halt.code === "MemberFailed" ? entry?.done === true : false;
  const moot =
    halt.code !== "AdoptedWithDifferences" &&
    (!entry?.grant ||
      target.revision !== halt.revision ||
      (halt.code === "MemberRestartsInParallel" && memberConcurrency === "Parallel"));
  if (resumed || recovered || moot) {
    draft.set("halt", null);
    // A resumed step gets a new deadline; otherwise the old one would halt it again at once.
    if (resumed && entry?.step) {
      const unavailableBefore = draft.views.get(halt.cluster)?.down ?? 0;
      const down = downBefore(draft, halt.cluster);
      draft.patch(halt.cluster, { step: { ...entry.step, progressMs: draft.nowMs, unavailableBefore, down } });
    }
    return null;
  }
  draft.wait(halt.code, halt.cluster, halt.message, haltRemedy(halt), [
    { object: halt.cluster, field: "revision", value: halt.revision, sinceMs: halt.sinceMs },
  ]);
  return halt;
}

function haltRemedy(halt: Halt): string {
  switch (halt.code) {
    case "AdoptedWithDifferences":
      return "Compare with 'lockstep plan', then run 'lockstep resume' to let the differences be rolled out.";
    case "MemberRestartsInParallel":
      return "Set memberConcurrency: Parallel if the operator should do so, or correct it and run 'lockstep resume'.";
    default:
      return "Correct the template, run 'lockstep undo', or run 'lockstep resume' to try for another deadline.";
  }
}
