import type { ClusterName, RevisionHistory, RevisionId } from "./types.ts";

/** The part of a kind's ledger that records revisions. */
interface RevisionsOfLedger {
  readonly currentRevision: RevisionId | null;
  readonly override: { readonly to: RevisionId } | null;
  readonly history: RevisionHistory;
  readonly clusters: Readonly<Record<ClusterName, { readonly grant: { readonly revision: RevisionId } | null }>>;
}

/** As many as a status lists. */
const REMEMBERED_MAX = 102;

/** The history after a plan, from the ledger that it was made on and the one that it made. */
export function historyAfter(
  before: Pick<RevisionsOfLedger, "currentRevision" | "history">,
  after: Omit<RevisionsOfLedger, "history">,
): RevisionHistory {
  const { history, currentRevision: completedBefore } = before;
  let { reached, completed } = history;
  for (const { grant } of Object.values(after.clusters)) {
    if (grant && !reached.includes(grant.revision)) reached = [grant.revision, ...reached].slice(0, REMEMBERED_MAX);
  }
  const { override, currentRevision } = after;
  // Revisions after the override's target were undone or failed: drop them, so that the next undo goes further back.
  const at = override ? completed.indexOf(override.to) : 0;
  if (at > 0) completed = completed.slice(at);
  const isNew = currentRevision !== completedBefore || completed.length === 0;
  if (currentRevision !== null && isNew && completed[0] !== currentRevision) {
    completed = [currentRevision, ...completed.filter((id) => id !== currentRevision)].slice(0, REMEMBERED_MAX);
  }
  return reached === history.reached && completed === history.completed ? history : { reached, completed };
}

/**
 * The last revision that completed before the one wanted now. While an update is in progress, or a changed template
 * waits to become one, that is the current revision. Undefined: there is none, or a rollback to it has already begun.
 */
export function previousRevision(
  { override, currentRevision, history: { completed } }: Omit<RevisionsOfLedger, "clusters">,
  target: RevisionId | null,
  isTemplateWaiting: boolean,
): RevisionId | undefined {
  if (currentRevision === null) return undefined;
  if (override) return target === currentRevision ? completed[completed.indexOf(currentRevision) + 1] : undefined;
  if (target !== currentRevision || isTemplateWaiting) return currentRevision;
  return completed[completed.indexOf(currentRevision) + 1];
}
