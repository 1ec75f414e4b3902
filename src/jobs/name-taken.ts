/** Attempts whose object was never seen: another writer has their name, or their cluster does not take them. */
import { conclude } from "./conclude.ts";
import type { Draft } from "./draft.ts";
import type { Attempt } from "./types.ts";

const NAME_TAKEN = "NameTaken";
const PENDING = "Pending";

/**
 * [J19] Another writer's object has the attempt's name. It is never touched and never taken over. A Job was created
 * idle, if at all, so nothing of the attempt ran, and another attempt gets another name. A writer who takes one name
 * after the other is stopped after `maxAttempts`: then the attempt waits until that object is deleted.
 */
export function taken(draft: Draft, attempt: Attempt, message: string) {
  const { intent } = draft;
  const { number, cluster } = attempt;
  if (attempt.outcome) return;
  const why = `${message}; it is left alone`;
  if (intent.isBatch) {
    if (attempt.ending || mayMove(draft, NAME_TAKEN)) {
      conclude(draft, attempt, ["unused", NAME_TAKEN, why]);
      return;
    }
  } else if ((intent.confirmedLost[cluster] ?? Number.NEGATIVE_INFINITY) >= attempt.startedAtMs) {
    // Other kinds start when they are created: the attempt may have run and be gone.
    conclude(draft, attempt, ["lost", "ConfirmedLost", `a user confirmed that nothing of it runs in ${cluster}`]);
    return;
  } else if (intent.guarantee === "AtLeastOnce") {
    draft.update(draft.over(attempt, "lost", NAME_TAKEN, `${why}; its work may run twice`), { mayRunTwice: true });
    return;
  }
  const confirm = intent.isBatch
    ? ""
    : `; or, if it is certain that nothing of the attempt runs there: lockstep confirm-lost ${cluster} ccj/NAME`;
  draft.wait(
    "ForeignObject",
    cluster,
    `attempt ${number}: ${message}; it is not touched, and the attempt cannot be created beside it`,
    `delete or rename that object in ${cluster}, and the attempt is created${confirm}`,
  );
}

/** [J19] [J20] Whether the work may leave a cluster once more for this reason. If not, it waits where it is. */
export function mayMove({ intent, ledger, attempts }: Draft, reason: typeof NAME_TAKEN | typeof PENDING): boolean {
  const before = attempts.filter(({ outcome, number }) => outcome?.reason === reason && number >= ledger.failuresFrom);
  return before.length < intent.maxAttempts;
}

/** Dispatched, and its cluster does not show it. A Job that was never seen was never allowed to run. */
export function neverCreated(draft: Draft, attempt: Attempt) {
  const { intent, nowMs } = draft;
  const { number, cluster, ending, stop } = attempt;
  const seen = draft.seenOf(attempt);
  const refusal = seen.kind === "absent" ? seen.refusal : undefined;
  const over = ending ?? (intent.isBatch && stop ? { kind: "unused" as const, ...stop } : undefined);
  if (over) {
    conclude(draft, attempt, [over.kind, over.reason, over.message]);
    return;
  }
  const because = refusal === undefined ? "" : `; the engine says: ${refusal}`;
  if (intent.isBatch && intent.pendingAfterMs > 0 && mayMove(draft, PENDING)) {
    const overAtMs = attempt.startedAtMs + intent.pendingAfterMs;
    if (nowMs >= overAtMs) {
      const why = `${cluster} did not show it for ${intent.pendingAfterMs / 1000} seconds${because}`;
      conclude(draft, attempt, ["unused", PENDING, why]);
      return;
    }
    draft.wakeAt(overAtMs);
  }
  draft.wait(
    "WaitingForJob",
    cluster,
    `attempt ${number} has been dispatched; ${cluster} does not show it yet${because}`,
    refusal === undefined
      ? "no action needed; if this takes too long, check the engine's delivery, and whether the cluster refuses the object"
      : `make ${cluster} accept it; spec.failover.pendingAfterSeconds lets the work continue elsewhere`,
  );
}
