/** What is removed in members and on the hub, and when. Nothing is removed where it cannot be seen. */
import type { Draft } from "./draft.ts";
import type { Attempt } from "./types.ts";

export function clean(draft: Draft) {
  const { intent } = draft;
  for (const attempt of draft.attempts) {
    if (attempt.isCleaned) continue;
    if (attempt.outcome || intent.isDeleted) cleanOne(draft, attempt);
    else if (!intent.isBatch && attempt.stop) remove(draft, attempt);
  }
  expire(draft);
}

/** [J16] Ended attempts: deleted, kept until the CrossClusterJob goes, or left there. */
function cleanOne(draft: Draft, attempt: Attempt) {
  const { intent, ledger, seen } = draft;
  const { number, cluster, outcome } = attempt;
  const isDispatched = seen.dispatched.has(number);
  const { state } = draft.cluster(cluster);
  const shown = draft.seenOf(attempt);
  if (shown.kind === "absent" && !isDispatched) return done(draft, attempt);
  if (state === "Gone" && !isDispatched) return done(draft, attempt);
  if (shown.kind === "unreachable") {
    const isConfirmed = (intent.confirmedLost[cluster] ?? Number.NEGATIVE_INFINITY) >= (attempt.unheardSinceMs ?? 0);
    if (intent.isDeleted && isConfirmed) return isDispatched ? release(draft, attempt) : done(draft, attempt);
    const code = intent.isDeleted ? "TeardownUnreachable" : "LeftBehind";
    if (!intent.isDeleted && !ledger.end) return;
    return draft.wait(
      code,
      cluster,
      `attempt ${number}: ${cluster} cannot be reached; nothing is deleted there until it is`,
      `bring ${cluster} back; or, if it is gone for good: lockstep confirm-lost ${cluster} ccj/NAME`,
    );
  }
  if (shown.kind === "foreign") return isDispatched ? release(draft, attempt) : done(draft, attempt);
  const hasEnded = outcome?.kind === "succeeded" || outcome?.kind === "failed";
  const isKept = hasEnded && intent.memberCleanup !== "WhenFinished";
  if (!isKept) return remove(draft, attempt);
  if (intent.memberCleanup === "Never") return isDispatched ? release(draft, attempt) : done(draft, attempt);
  if (intent.isDeleted) remove(draft, attempt);
}

function remove(draft: Draft, { number, cluster }: Attempt) {
  draft.actions.push({ kind: "remove", attempt: number, cluster });
}

function release(draft: Draft, { number, cluster }: Attempt) {
  draft.actions.push({ kind: "release", attempt: number, cluster });
}

function done(draft: Draft, attempt: Attempt) {
  draft.update(attempt, { isCleaned: true });
}

/** [J17] The hub's object goes when its time is over; its deletion removes what is left of its attempts. */
function expire(draft: Draft) {
  const { intent, nowMs } = draft;
  const { end } = draft.ledger;
  if (!end || intent.ttlMs === undefined || intent.isDeleted) return;
  const dueMs = end.atMs + intent.ttlMs;
  if (nowMs >= dueMs) draft.actions.push({ kind: "expire" });
  else draft.wakeAt(dueMs);
}
