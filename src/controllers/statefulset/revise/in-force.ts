import type { InForce, Ledger, Override, RevisionId, RevisionIntent, TemplateMarks } from "../../../plan/index.ts";
import { changedBeside, type RevisionContent, templateMarks, withRestartMarks } from "../../../render/index.ts";

export interface InForceSources {
  readonly ledger: Pick<Ledger, "override" | "rollout">;
  readonly revision: RevisionIntent;
  /** Of the template's present revision. */
  readonly content: RevisionContent;
  /** The same with the restart marks that the template carries now. */
  readonly present: RevisionContent;
  /** Undefined: the revision is not kept any more. */
  readonly contentOf: (id: RevisionId) => Promise<RevisionContent | undefined>;
  /** Stores a revision, and says its name; undefined: it cannot be granted yet. */
  readonly make: (content: RevisionContent) => Promise<RevisionId | undefined>;
}

/**
 * [U10] The template's revision while an override holds: without restarts that came since, which are restarts of what
 * is in force. `undone` is what was overridden.
 */
export function underOverride(
  present: RevisionContent,
  { digest }: TemplateMarks,
  override: Override | null,
  undone: RevisionContent | undefined,
): RevisionContent {
  return undone && override?.digest === digest ? withRestartMarks(present, undone) : present;
}

/** [F6] [U10] What an undo or rejection has to consider in addition to the template; undefined: none is in force. */
export async function inForceOf(sources: InForceSources): Promise<InForce | undefined> {
  const { ledger, revision, content, present, contentOf, make } = sources;
  const { override, rollout } = ledger;
  if (!override || revision.kind === "missing" || revision.own === undefined) return undefined;
  const isSame = override.template === "" || override.template === revision.id;
  const undone = isSame ? undefined : await contentOf(override.template);
  const changed = undone === undefined ? [] : changedBeside(undone, content);
  const isAsked = override.restart !== null && override.restart !== revision.own.restart;
  const leavesRestartOut = templateMarks(content).restart !== revision.own.restart;
  // The rollback comes first; a revision with a restart would be useless until then.
  if (!isAsked || rollout?.kind === "rollback") return { changed, leavesRestartOut };
  const inForce = await contentOf(override.to);
  const id = inForce && (await make(withRestartMarks(inForce, present)));
  return { changed, leavesRestartOut, ...(id !== undefined && { restarted: { of: override.to, id } }) };
}
