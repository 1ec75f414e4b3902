import type { Draft } from "./draft.ts";
import { downBefore } from "./restarts.ts";
import type { Halt, RevisionId } from "./types.ts";

/** Which revision the clusters should run, and whether new steps towards it may start. */
export interface Target {
  /** Null: nothing is known to go to. */
  readonly revision: RevisionId | null;
  /** The template is settled; otherwise only what is under way goes on. */
  readonly settled: boolean;
  /** The template is missing: nothing moves at all. */
  readonly frozen: boolean;
  readonly rejected: RevisionId | null;
}

/** [U1] [F6] The template's revision, unless an undo or a failure overrides it for as long as the template stays the same. */
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
  hearUndo(draft, revision.id);
  const { override } = draft.ledger;
  if (override && override.template !== revision.id) draft.set("override", null);
  if (draft.ledger.override) {
    const { to, template, cause } = draft.ledger.override;
    draft.wait(
      "RevisionRejected",
      undefined,
      `revision ${template} ${cause === "undo" ? "was undone" : "failed"}; the clusters stay on ${to}`,
      "Change the template, or undo to the revision that you want.",
      [{ object: "template", field: "revision", value: template }],
    );
    return { revision: to, settled: true, frozen: false, rejected: template };
  }
  if (revision.kind === "ready") return { revision: revision.id, settled: true, frozen: false, rejected: null };
  draft.wait(
    revision.kind === "pending" ? "RevisionPending" : "RevisionRefused",
    undefined,
    revision.message,
    revision.kind === "pending"
      ? "Wait for the snapshot and the dry run."
      : "Correct the template; the old revision stays meanwhile.",
    [{ object: "template", field: "revision", value: revision.id }],
  );
  return { revision: settledRevision(draft), settled: false, frozen: false, rejected: null };
}

/** What the clusters were going to, or are on. */
function settledRevision(draft: Draft): RevisionId | null {
  return draft.ledger.rollout?.to ?? draft.ledger.currentRevision;
}

/** [F7] Each undo is heard once. Undoing to the template's own revision takes an earlier undo or rejection back. */
function hearUndo(draft: Draft, template: RevisionId): void {
  const { undo } = draft.intent.requests;
  if (!undo || undo.id === draft.ledger.undoHeard) return;
  draft.set("undoHeard", undo.id);
  draft.set("override", undo.to === template ? null : { to: undo.to, template, cause: "undo" });
  if (draft.ledger.halt?.code !== "AdoptedWithDifferences") draft.set("halt", null);
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
    // The clock of a step that is resumed starts over; otherwise the same deadline would halt it at once.
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
      return "Set memberConcurrency: Parallel if the operator is meant to do so, or correct it and run 'lockstep resume'.";
    default:
      return "Correct the template, run 'lockstep undo', or run 'lockstep resume' to try for another deadline.";
  }
}
