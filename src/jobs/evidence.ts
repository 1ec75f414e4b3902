/** What the clusters show of each attempt, and whether that proves it over. */
import { timestamp } from "../runtime/index.ts";
import { conclude } from "./conclude.ts";
import type { Draft } from "./draft.ts";
import { STOP_DEADLINE_SECONDS } from "./grants.ts";
import { atPositions, indexesText, MAX_RANGES, parseIndexes, union } from "./index-set.ts";
import { neverCreated, neverStarted, taken } from "./name-taken.ts";
import type { Attempt, AttemptPresent, StopReason } from "./types.ts";

/** [J5] Reads every attempt that may still matter; those that are over, too: a lost one may turn out to have succeeded. */
export function readAttempts(draft: Draft) {
  for (const attempt of draft.attempts) {
    if (attempt.isCleaned) continue;
    const seen = draft.seenOf(attempt);
    switch (seen.kind) {
      case "unreachable":
        silent(draft, attempt, Math.min(seen.sinceMs ?? draft.nowMs, draft.nowMs));
        break;
      case "foreign": {
        const known = draft.update(attempt, { unheardSinceMs: null });
        if (known.uid === null) taken(draft, known, seen.message);
        else gone(draft, known);
        break;
      }
      case "absent":
        gone(draft, draft.update(attempt, { unheardSinceMs: null }), seen.isUnconfirmed);
        break;
      case "present":
        present(draft, draft.update(attempt, { unheardSinceMs: null }), seen);
    }
  }
}

function present(draft: Draft, attempt: Attempt, seen: AttemptPresent) {
  if (attempt.uid !== null && attempt.uid !== seen.uid && !attempt.outcome) return replaced(draft, attempt, seen);
  if (attempt.isSwitched && attempt.uid === null && isHeld(attempt, seen)) return neverStarted(draft, attempt);
  const known = draft.update(attempt, {
    ...(!wasDeleted(attempt) && { goneSinceMs: null }),
    ...(attempt.uid === null && { uid: seen.uid, readAtMs: draft.nowMs }),
    ...(attempt.isSwitched && !attempt.outcome && startOf(attempt, seen, draft.nowMs)),
    done: doneOf(attempt, seen),
  });
  if (known.outcome) return credit(draft, known, seen);
  if (seen.unreadable) endUnknown(draft, known, seen.unreadable);
  if (seen.state === "succeeded" || seen.state === "failed" || isStoppedIdle(known, seen)) ended(draft, known, seen);
}

/**
 * [J7] A suspended Job has no deadline. With the order to stop in it, it never starts a pod, even if a queue resumes it:
 * its parallelism is 0.
 */
function isStoppedIdle({ stop }: Attempt, { isSuspended, deadlineSeconds }: AttemptPresent): boolean {
  return stop !== null && isSuspended === true && deadlineSeconds === STOP_DEADLINE_SECONDS;
}

/** [J6] Unknown is no end. Waiting does not help, so a user has to know. */
function endUnknown(draft: Draft, { number, cluster }: Attempt, why: string) {
  draft.wait(
    "EndUnknown",
    cluster,
    `attempt ${number} in ${cluster} counts as running, because its end cannot be read: ${why}`,
    "add a webhook that answers InterpretCompletion for this kind, or mend it; docs/interpreter.md says how",
  );
}

/**
 * [J11] No deadline of it counts: it is suspended, its Job controller has not begun with it, or another writer has taken
 * the deadline away.
 */
function isHeld(attempt: Attempt, seen: AttemptPresent): boolean {
  const isOn = seen.isSuspended !== true && seen.startTime !== undefined && seen.deadlineSeconds !== undefined;
  return seen.state === "running" && !isOn && !isStoppedIdle(attempt, seen);
}

/**
 * [J11] A Job that was suspended and resumed has started again: what it was ever told counts from now. A later deadline
 * than any that the ledger knows is another writer's, or was sent before the hub was restored.
 */
function startOf(attempt: Attempt, seen: AttemptPresent, nowMs: number): Partial<Attempt> {
  if (isHeld(attempt, seen)) return { isHeld: true };
  const { startTime, deadlineSeconds = 0 } = seen;
  const isAnother = attempt.startTime !== undefined && startTime !== undefined && startTime !== attempt.startTime;
  return {
    latestDeadlineSeconds: Math.max(attempt.latestDeadlineSeconds, deadlineSeconds),
    ...(startTime !== undefined && { startTime }),
    ...(isAnother && { readAtMs: nowMs }),
    ...(attempt.isHeld && { isHeld: false }),
  };
}

/**
 * [J8] Its object was deleted, and something created it again. Engines may apply to it what was meant for the first one,
 * so it is stopped for good, and what it was ever told counts from now.
 */
function replaced(draft: Draft, attempt: Attempt, { uid }: AttemptPresent) {
  const { nowMs } = draft;
  const known = draft.update(attempt, { uid, readAtMs: nowMs, goneSinceMs: nowMs });
  draft.stop(known, "Replaced", `its object was deleted in ${attempt.cluster}, and something created it again`);
}

const wasDeleted = ({ stop }: Attempt) => stop?.reason === "Replaced" || stop?.reason === "ObjectDeleted";

function doneOf({ share, done }: Attempt, seen: AttemptPresent): Attempt["done"] {
  const positions = parseIndexes(seen.completedIndexes ?? "") ?? [];
  const own = share.kind === "indexes" ? atPositions(parseIndexes(share.indexes) ?? [], positions) : positions;
  const all = union(parseIndexes(done.indexes) ?? [], own);
  return {
    // A status that was lost takes nothing back.
    succeeded: Math.max(done.succeeded, seen.succeeded ?? 0),
    failed: Math.max(done.failed, seen.failed ?? 0),
    // A set that could not be read again would take back everything.
    indexes: all.length > MAX_RANGES ? done.indexes : indexesText(all),
  };
}

/** [J9] An attempt that was given up has finished after all: what it did counts, and is not done again. */
function credit(draft: Draft, attempt: Attempt, seen: AttemptPresent) {
  const wasGivenUp = attempt.outcome?.kind === "lost" || attempt.outcome?.kind === "unused";
  if (!wasGivenUp || seen.state !== "succeeded") return;
  draft.over(attempt, "succeeded", "FoundComplete", `${attempt.cluster} came back, and the attempt had succeeded`);
}

/** [J6] Over: an end is shown, and no pod runs or is going away. */
function ended(draft: Draft, attempt: Attempt, seen: AttemptPresent) {
  const { intent, nowMs } = draft;
  const isCounted = intent.isBatch;
  const active = isCounted ? (seen.active ?? 0) : 0;
  if (active > 0 || (isCounted && (seen.terminating ?? 0) > 0)) {
    const pods = active + (seen.terminating ?? 0);
    return awaitTermination(draft, attempt, `the attempt has ended, and ${pods} of its pods are still going away`);
  }
  if (isCounted && seen.terminating === undefined) {
    // The status does not say whether pods are terminating: only time can.
    const sinceMs = attempt.endSeenAtMs ?? nowMs;
    const known = draft.update(attempt, { endSeenAtMs: sinceMs });
    const overAtMs = sinceMs + podsEndMs(draft);
    if (nowMs < overAtMs) {
      draft.wakeAt(overAtMs);
      return awaitTermination(
        draft,
        known,
        "the attempt has ended; its status does not say whether pods are terminating",
      );
    }
  }
  const podsGoneAtMs = (attempt.goneSinceMs ?? Number.NEGATIVE_INFINITY) + podsEndMs(draft);
  if (nowMs < podsGoneAtMs) {
    draft.wakeAt(podsGoneAtMs);
    return awaitTermination(draft, attempt, "the pods of its first object have time to end");
  }
  settle(draft, attempt, seen);
}

function settle(draft: Draft, attempt: Attempt, seen: AttemptPresent) {
  const message = seen.message ?? "";
  if (seen.state === "succeeded") {
    conclude(draft, attempt, ["succeeded", seen.reason ?? "Completed", message], seen);
  } else if (attempt.stop) {
    const { reason } = attempt.stop;
    conclude(draft, attempt, [stopOutcome(reason), reason, attempt.stop.message], seen);
  } else if (attempt.isSwitched && seen.reason === "DeadlineExceeded") {
    // [J12] Lockstep's own deadline is no failure of the work.
    const why = "its cluster ended it at the deadline, because no extension arrived";
    conclude(draft, attempt, ["lost", "NoExtension", why], seen);
  } else {
    conclude(draft, attempt, ["failed", seen.reason ?? "Failed", message], seen);
  }
}

/** [J14] Only the failures of its pods are the work's own: any other stop is a matter of its cluster. */
function stopOutcome(reason: StopReason): "failed" | "moved" {
  return reason === "PodFailures" ? "failed" : "moved";
}

/**
 * [J8] Its object was there and is not any more. Kubernetes deletes the pods after it, within their grace period. It is
 * stopped at once: an old delivery may create the object again, and must find no grant on the hub.
 */
function gone(draft: Draft, attempt: Attempt, isUnconfirmed = false) {
  const { intent, nowMs } = draft;
  if (attempt.outcome) return;
  if (attempt.uid === null) return neverCreated(draft, attempt);
  const why = `its object was deleted in ${attempt.cluster} before its end was seen`;
  const sinceMs = attempt.goneSinceMs ?? nowMs;
  const noted = draft.update(attempt, { goneSinceMs: sinceMs });
  // A user who removes Lockstep's label hides it from the watch; it runs on.
  if (isUnconfirmed) {
    return awaitTermination(draft, noted, `its watch does not show it any more; ${attempt.cluster} is asked for it`);
  }
  const known = intent.isDeleted ? noted : draft.stop(noted, "ObjectDeleted", why);
  const overAtMs = sinceMs + podsEndMs(draft);
  if (nowMs < overAtMs) {
    draft.wakeAt(overAtMs);
    return awaitTermination(
      draft,
      known,
      `its object is gone from ${attempt.cluster}; its pods have time to end until ${timestamp(overAtMs)}`,
    );
  }
  // What delivers an object of another kind lets it run: until it is gone from the hub too, it may create another one.
  if (!intent.isBatch && intent.guarantee !== "AtLeastOnce" && draft.seen.dispatched.has(known.number)) {
    return awaitTermination(
      draft,
      known,
      `its object is gone from ${known.cluster}, and is still dispatched on the hub`,
    );
  }
  const { reason, message } = known.stop ?? { reason: "ObjectDeleted" as const, message: why };
  conclude(draft, known, [stopOutcome(reason), reason, message]);
}

function awaitTermination(draft: Draft, { number, cluster }: Attempt, why: string) {
  draft.wait(
    "WaitingForTermination",
    cluster,
    `attempt ${number} in ${cluster}: ${why}`,
    `no action needed; if this takes too long, look for a node of ${cluster} that does not answer`,
  );
}

/** [J10] [J11] [J13] Not heard from: whether it is over is a matter of the guarantee. */
function silent(draft: Draft, before: Attempt, sinceMs: number) {
  const { intent, nowMs } = draft;
  const attempt = draft.update(before, { unheardSinceMs: before.unheardSinceMs ?? sinceMs });
  if (attempt.outcome) return;
  const since = attempt.unheardSinceMs ?? nowMs;
  const { number, cluster, ending, isHeld: wasHeld = false } = attempt;
  // Its object was deleted, and perhaps created again since: with times of its own, and a grant that the engine let through.
  const mayBeAnother = attempt.goneSinceMs !== null;
  // Its end was seen before its cluster fell silent. With a deadline, that passes first: nothing can have run it again.
  if (ending && (ending.kind === "succeeded" || (!attempt.isSwitched && !mayBeAnother))) {
    conclude(draft, attempt, [ending.kind, ending.reason, ending.message]);
    return;
  }
  if ((intent.confirmedLost[cluster] ?? Number.NEGATIVE_INFINITY) >= since) {
    conclude(draft, attempt, ["lost", "ConfirmedLost", `a user confirmed that ${cluster} is lost`]);
    return;
  }
  const lostAtMs = since + intent.lostAfterMs;
  if (nowMs < lostAtMs) {
    draft.wakeAt(lostAtMs);
    draft.wait(
      "AttemptUnheard",
      cluster,
      `attempt ${number}: ${cluster} has not reported since ${timestamp(since)}; it counts as lost at ${timestamp(lostAtMs)}`,
      `no action needed; check the connection to ${cluster}`,
    );
    return;
  }
  if (intent.isBatch && attempt.uid === null) {
    conclude(draft, attempt, ["unused", "NeverStarted", `it was lost with ${cluster} before it was allowed to run`]);
    return;
  }
  if (attempt.isSwitched && !mayBeAnother && !wasHeld) return awaitDeadline(draft, attempt);
  if (intent.guarantee === "AtLeastOnce") {
    const lost = draft.over(attempt, "lost", "ClusterLost", `${cluster} did not report; its work may run twice`);
    draft.update(lost, { mayRunTwice: true });
    return;
  }
  draft.wait(
    "AttemptLost",
    cluster,
    `attempt ${number}: ${cluster} has not reported since ${timestamp(since)}, and nothing proves that the attempt is over${wasHeld ? "; when it was last seen there, its Job was suspended or had no deadline" : ""}`,
    `bring ${cluster} back; or, if it is certain that nothing runs there any more: lockstep confirm-lost ${cluster} ccj/NAME`,
  );
}

/** [J11] The last deadline that was sent, and the time that pods have to end after it: one may just have started. */
export function overAtMsOf(draft: Draft, attempt: Attempt): number {
  // Its startTime is not later than the moment at which it was read, whatever the member's clock says.
  return (attempt.readAtMs ?? draft.nowMs) + attempt.latestDeadlineSeconds * 1000 + podsEndMs(draft);
}

/** How long pods may continue after their Job has ended or is gone. Without a limit of their own, on a node that answers. */
export function podsEndMs({ intent: { graceMs, allowanceMs, podDeadlineMs } }: Draft): number {
  return (podDeadlineMs ?? 0) + graceMs + allowanceMs;
}

function awaitDeadline(draft: Draft, attempt: Attempt) {
  const { number, cluster } = attempt;
  const overAtMs = overAtMsOf(draft, attempt);
  const uncovered =
    draft.intent.podDeadlineMs !== null
      ? ""
      : `; without podDeadlineSeconds this is not certain of a node that ${cluster}'s own control plane cannot reach`;
  if (draft.nowMs >= overAtMs) {
    const why = `${cluster} did not report, and must have ended the attempt by itself${uncovered}`;
    return conclude(draft, attempt, ["lost", "DeadlinePassed", why]);
  }
  draft.wakeAt(overAtMs);
  draft.wait(
    "WaitingForDeadline",
    cluster,
    `attempt ${number}: ${cluster} is lost and ends the attempt by itself; another one starts at ${timestamp(overAtMs)}${uncovered}`,
    `no action needed; if it is certain that nothing runs there any more: lockstep confirm-lost ${cluster} ccj/NAME`,
  );
}
