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
  const { number, cluster } = attempt;
  const seen = draft.seenOf(attempt);
  const refusal = seen.kind === "absent" ? seen.refusal : undefined;
  const because = refusal === undefined ? "" : `; the engine says: ${refusal}`;
  awaitBegin(draft, attempt, {
    left: (seconds) => `${cluster} did not show it for ${seconds} seconds${because}`,
    waits: `attempt ${number} has been dispatched; ${cluster} does not show it yet${because}`,
    remedy:
      refusal === undefined
        ? "no action needed; if this takes too long, check the engine's delivery, and whether the cluster refuses the object"
        : `make ${cluster} accept it; spec.failover.pendingAfterSeconds lets the work continue elsewhere`,
  });
}

/** [J11] It has no start that a deadline could count from, so it is not allowed to run yet. */
export function neverStarted(draft: Draft, attempt: Attempt) {
  const { number, cluster } = attempt;
  const seen = draft.seenOf(attempt);
  const isSuspended = seen.kind === "present" && seen.isSuspended === true;
  const because = isSuspended ? "something suspends it there" : `the Job controller of ${cluster} has not started it`;
  awaitBegin(draft, attempt, {
    left: (seconds) => `it was not started in ${cluster} for ${seconds} seconds; ${because}`,
    waits: `attempt ${number} is in ${cluster} and may not run yet: ${because}`,
    remedy: isSuspended
      ? `let Jobs run in ${cluster}: with guarantee Exclusive, no queue there may suspend them; spec.failover.pendingAfterSeconds lets the work continue elsewhere`
      : `no action needed; if this takes too long, check the kube-controller-manager of ${cluster}`,
  });
}

/** What is awaited, and what the attempt ends with if it waits for too long. */
interface Awaited {
  readonly left: (seconds: number) => string;
  readonly waits: string;
  readonly remedy: string;
}

function awaitBegin(draft: Draft, attempt: Attempt, { left, waits, remedy }: Awaited) {
  const { intent, nowMs } = draft;
  const { cluster, ending, stop } = attempt;
  const over = ending ?? (intent.isBatch && stop ? { kind: "unused" as const, ...stop } : undefined);
  if (over) {
    conclude(draft, attempt, [over.kind, over.reason, over.message]);
    return;
  }
  if (intent.isBatch && intent.pendingAfterMs > 0 && mayMove(draft, PENDING)) {
    const overAtMs = attempt.startedAtMs + intent.pendingAfterMs;
    if (nowMs >= overAtMs) {
      conclude(draft, attempt, ["unused", PENDING, left(intent.pendingAfterMs / 1000)]);
      return;
    }
    draft.wakeAt(overAtMs);
  }
  draft.wait("WaitingForJob", cluster, waits, remedy);
}
