import type { TimeMs } from "../rollout/index.ts";
import { clean } from "./clean.ts";
import { decideEnd, decideStops, hearRetry, startNext } from "./decide.ts";
import { Draft } from "./draft.ts";
import { readAttempts } from "./evidence.ts";
import { decideGrants } from "./grants.ts";
import type { JobIntent, JobLedger, JobObservations, JobPlan } from "./types.ts";
import { figuresOf } from "./work.ts";

/** The parts of a plan, in their order. Each is replaced by a faulty one where the exploration is checked. */
export const JOB_RULES = { readAttempts, hearRetry, decideEnd, decideStops, startNext, decideGrants, clean };
export type JobRules = typeof JOB_RULES;

/**
 * Decides everything that may happen to one CrossClusterJob now. Pure: the same arguments give the same result, and no
 * argument is changed.
 */
export function planJob(
  intent: JobIntent,
  ledger: JobLedger,
  seen: JobObservations,
  nowMs: TimeMs,
  rules: JobRules = JOB_RULES,
): JobPlan {
  const draft = new Draft(intent, ledger, seen, nowMs);
  rules.readAttempts(draft);
  rules.hearRetry(draft);
  rules.decideEnd(draft);
  rules.decideStops(draft);
  rules.startNext(draft);
  const standing = intent.isDeleted ? [] : rules.decideGrants(draft);
  rules.clean(draft);
  const active = draft.alive.reduce((sum, attempt) => {
    const shown = draft.seenOf(attempt);
    return sum + (shown.kind === "present" ? (shown.active ?? 0) : 0);
  }, 0);
  return {
    ledger: draft.ledger,
    standing,
    actions: draft.actions,
    waiting: draft.waiting,
    figures: figuresOf(intent, draft.attempts, active),
    isFinished: intent.isDeleted && draft.attempts.every(({ isCleaned }) => isCleaned),
    ...(draft.requeueAtMs === undefined ? {} : { requeueAtMs: draft.requeueAtMs }),
  };
}
