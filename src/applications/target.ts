import type { RevisionId } from "../rollout/index.ts";
import { type Draft, isRemoving } from "./draft.ts";
import { eventAround } from "./stages.ts";

/** [A1] The revision that all clusters are to run; null: there is none yet. */
export function resolveTarget(draft: Draft): RevisionId | null {
  const { revision } = draft.intent;
  hearRequests(draft);
  const wanted = revision.kind === "known" ? revision.id : null;
  const { override } = draft.ledger;
  // [A2] An undo or a rejection holds until the source itself is another one.
  if (override && wanted !== null && wanted !== override.instead && override.instead !== "")
    draft.set({ override: null });
  sayRevision(draft);
  const held = draft.ledger.override;
  if (held) return held.to;
  return wanted ?? draft.ledger.rollout?.to ?? draft.ledger.currentRevision;
}

/** [A2] The planner acts on each request once. */
function hearRequests(draft: Draft): void {
  const { undo, resumed } = draft.intent.requests;
  const { revision } = draft.intent;
  if (undo && undo.id !== draft.ledger.undoHeard) {
    const instead = revision.kind === "known" ? revision.id : "";
    const override = undo.to === instead ? null : { to: undo.to, instead, cause: "undo" as const };
    draft.set({ undoHeard: undo.id, override });
    clearFailures(draft);
  }
  if (resumed !== undefined && resumed !== draft.ledger.resumeHeard) {
    draft.set({ resumeHeard: resumed });
    clearFailures(draft);
  }
}

/** A person wants the failed steps to be tried again: their deadlines start over, and a failed hook runs again. */
function clearFailures(draft: Draft): void {
  for (const [cluster, entry] of Object.entries(draft.ledger.clusters)) {
    const { grant, failed, hookFailure } = entry;
    const hasFailed = isRemoving(entry) ? hookFailure?.step === grant?.step : failed !== null;
    if (!grant || !hasFailed) continue;
    const { revision, mode, replicas } = grant;
    // All hooks of the event again: those that succeeded may have been deleted, and the failed one may need them.
    const [stage] = eventAround(draft.stages(entry, cluster) ?? [], grant.stage);
    draft.change(cluster, { failed: null, progress: null });
    draft.grant(cluster, { revision, mode, replicas, stage });
  }
}

function sayRevision(draft: Draft): void {
  const { revision } = draft.intent;
  const { override } = draft.ledger;
  const value = draft.ledger.rollout?.to ?? draft.ledger.currentRevision ?? "none";
  const evidence = [{ object: "DistributedApplication", field: "revision in force", value }];
  if (revision.kind === "pending") {
    draft.wait("RevisionPending", undefined, revision.message, "No action needed.", evidence);
  }
  if (revision.kind === "refused") {
    draft.wait("RevisionRefused", undefined, revision.message, revision.remedy, evidence);
  }
  if (override) {
    const what = override.instead === "" ? "the source's revision" : `revision ${override.instead}`;
    const why = override.why === undefined ? "" : ` (${override.why})`;
    const back =
      override.instead === ""
        ? "undo to the revision that you want"
        : `run 'lockstep undo dapp/NAME --to-revision ${override.instead}'`;
    draft.wait(
      "RevisionRejected",
      undefined,
      `${what} ${override.cause === "undo" ? "was undone" : "failed"}${why}; the clusters stay on ${override.to}`,
      `Change the source, or ${back} to take that back.`,
      evidence,
    );
  }
}
