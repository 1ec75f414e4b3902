import type { Draft } from "./draft.ts";
import { STOP_DEADLINE_SECONDS } from "./grants.ts";
import type { Attempt, AttemptPresent, OutcomeKind } from "./types.ts";

/**
 * [J12] The end of a Job is noted, and recorded when the order to stop stands on the hub and, if the object can be seen,
 * in the object: until then the hub's last grant could reach an object that an old delivery creates again. A
 * CrossClusterJob that is being deleted starts nothing any more, and removes what is on the hub.
 */
export function conclude(draft: Draft, attempt: Attempt, end: [OutcomeKind, string, string], seen?: AttemptPresent) {
  const [kind, reason, message] = end;
  const { number, cluster, ending } = attempt;
  // The first evidence stays, except that a success takes precedence.
  const isFirst = ending === undefined || (kind === "succeeded" && ending.kind !== "succeeded");
  const noted = isFirst ? { kind, reason, message, atMs: draft.nowMs } : ending;
  const isOrdered = draft.seen.orderedStop.has(number);
  const hasArrived = seen === undefined || seen.deadlineSeconds === STOP_DEADLINE_SECONDS;
  if (!draft.intent.isBatch || draft.intent.isDeleted || (isOrdered && hasArrived)) {
    draft.over(attempt, noted.kind, noted.reason, noted.message);
    return;
  }
  draft.update(attempt, { ending: noted });
  draft.wait(
    "WaitingForTermination",
    cluster,
    `attempt ${number} in ${cluster} has ended (${noted.reason}); the order never to run again is not ${isOrdered ? "there" : "on the hub"} yet`,
    `no action needed; if this takes too long, check the engine's delivery to ${cluster}`,
  );
}
