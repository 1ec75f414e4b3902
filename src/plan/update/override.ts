import type { Draft } from "../ledger/draft.ts";
import type { Override, RevisionId, TemplateMarks, TemplateRevision } from "../types/index.ts";

/** [F6] [F7] [U10] Reads users' requests, reports and returns the override in force; null: the template counts. */
export function resolveOverride(draft: Draft, revision: TemplateRevision): Override | null {
  takeUndo(draft, revision);
  reviewOverride(draft, revision);
  restartInForce(draft, revision);
  const { override } = draft.ledger;
  if (override) reportOverride(draft, override, revision);
  return override;
}

/** A revision in force instead of the template's, until the template's own content changes. */
export function overrideOf(revision: TemplateRevision, to: RevisionId, cause: Override["cause"]): Override {
  const { digest = null, restart = null } = marksOf(revision) ?? {};
  return { to, template: revision.id, digest, restart, cause };
}

/** The revision that the clusters are being updated to, or run. */
export function settledRevision(draft: Draft): RevisionId | null {
  return draft.ledger.rollout?.to ?? draft.ledger.currentRevision;
}

/** Undefined: the template has no revision yet, so its content is not known. */
function marksOf({ id, own }: TemplateRevision): TemplateMarks | undefined {
  return own ?? (id === "" ? undefined : { digest: id, restart: "" });
}

/** [F7] Each undo is carried out once. An undo to the template's own revision ends an earlier undo or rejection. */
function takeUndo(draft: Draft, revision: TemplateRevision): void {
  const { undo } = draft.intent.requests;
  if (!undo || undo.id === draft.ledger.undoHeard) return;
  draft.set("undoHeard", undo.id);
  draft.set("override", undo.to === revision.id ? null : overrideOf(revision, undo.to, "undo"));
  if (draft.ledger.halt?.code !== "AdoptedWithDifferences") draft.set("halt", null);
}

/** [F6] An override ends when the template's own content differs from the content that it overrode. */
function reviewOverride(draft: Draft, revision: TemplateRevision): void {
  const { override } = draft.ledger;
  const own = marksOf(revision);
  if (!override || !own || revision.id === "") return;
  if (override.digest !== null) {
    if (override.digest !== own.digest) draft.set("override", null);
    return;
  }
  // The override was made before the template could be read, or by a version that recorded only its revision.
  const isOutdated = override.template !== "" && override.template !== revision.id;
  const isTakenBack = override.to === revision.id;
  const known: Override = {
    ...override,
    template: revision.id,
    digest: own.digest,
    restart: override.restart ?? own.restart,
  };
  draft.set("override", isOutdated || isTakenBack ? null : known);
}

/** [U10] A restart during an override restarts the revision in force, not the one that was undone. */
function restartInForce(draft: Draft, revision: TemplateRevision): void {
  const { override, rollout } = draft.ledger;
  const own = marksOf(revision);
  if (!override || !own || override.restart === null || override.restart === own.restart) return;
  if (rollout?.kind === "rollback") {
    waitForRevision(draft, `the restart follows when all clusters are back on ${override.to}`, "No action needed.");
    return;
  }
  const restarted = draft.intent.inForce?.restarted;
  if (restarted?.of === override.to) draft.set("override", { ...override, to: restarted.id, restart: own.restart });
  else waitForRevision(draft, `the revision that restarts ${override.to} is being made`, "No action needed.");
}

export function waitForRevision(draft: Draft, message: string, remedy: string): void {
  const value = settledRevision(draft) ?? "none";
  draft.wait("RevisionPending", undefined, message, remedy, [
    { object: "CrossClusterStatefulset", field: "revision in force", value },
  ]);
}

/** [F10] Reports which changes the override holds back, and how a user ends it. */
function reportOverride(draft: Draft, { to, template, cause }: Override, { id }: TemplateRevision): void {
  const changed = draft.intent.inForce?.changed ?? [];
  const ended = cause === "undo" ? "was undone" : "failed";
  const what = `${template === "" ? "the template's revision" : `revision ${template}`} ${ended}`;
  const takeBack = id === "" ? "undo to the revision that you want" : `run 'lockstep undo NAME --to-revision ${id}'`;
  if (changed.length > 0 && id !== "") {
    draft.wait(
      "OverrideHolds",
      undefined,
      `${changed.join(", ")} changed, and waits as part of ${id}: ${what}, and the clusters stay on ${to}`,
      `Edit the template itself, or ${takeBack} to take that back and roll the change out.`,
      changed.map((object) => ({ object, field: "content", value: `changed since ${template}` })),
    );
  }
  draft.wait(
    "RevisionRejected",
    undefined,
    `${what}; the clusters stay on ${to}`,
    `Edit the template, or ${takeBack} to take that back.`,
    [{ object: "template", field: "revision", value: id === "" ? "not made yet" : id }],
  );
}
