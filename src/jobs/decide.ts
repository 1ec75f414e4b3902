/** What becomes of the work: its end, attempts that are stopped, and the next attempt. */
import type { ClusterName } from "../rollout/index.ts";
import { timestamp } from "../runtime/index.ts";
import type { Draft } from "./draft.ts";
import { podsEndMs } from "./evidence.ts";
import { mayMove } from "./name-taken.ts";
import type { Attempt, AttemptPresent, StopReason } from "./types.ts";
import { isDone, nextShare } from "./work.ts";

/** [J3] A user has a failed CrossClusterJob tried again; what is complete stays so. */
export function hearRetry(draft: Draft) {
  const { retry } = draft.intent;
  const { end, retryHeard, nextAttempt } = draft.ledger;
  if (retry === null || retry === retryHeard) return;
  const isAgain = end?.kind === "Failed";
  draft.change({
    retryHeard: retry,
    ...(isAgain && { end: null, startedAtMs: draft.nowMs, failuresFrom: nextAttempt }),
  });
}

/** [J2] [J14] Complete or failed: once written, it stays. */
export function decideEnd(draft: Draft) {
  const { intent, ledger, nowMs } = draft;
  if (isDone(intent.work, draft.attempts)) {
    // [J9] The work of a failed CrossClusterJob may turn out to be complete; the other way round never.
    if (ledger.end?.kind !== "Complete") draft.end("Complete", "Completed", "all of the work is done");
    return;
  }
  if (ledger.end || intent.isDeleted) return;
  const counted = draft.attempts.filter(({ outcome, number }) => number >= ledger.failuresFrom && outcome !== null);
  const failures = counted.filter(({ outcome }) => outcome?.kind === "failed");
  const [failed] = failures.slice(-1);
  if (failed && intent.onFailure === "Stop") return draft.end("Failed", "AttemptFailed", endText(failed));
  // Something that deletes every attempt's object would otherwise start attempts without end.
  const deleted = counted.filter(({ outcome }) => DELETED.has(outcome?.reason ?? ""));
  const last = counted.findLast((attempt) => failures.includes(attempt) || deleted.includes(attempt));
  if (last && failures.length + deleted.length >= intent.maxAttempts) {
    const many = [
      ...(failures.length > 0 ? [`${failures.length} attempts failed`] : []),
      ...(deleted.length > 0 ? [`the objects of ${deleted.length} attempts were deleted in their clusters`] : []),
    ].join(", and ");
    return draft.end("Failed", "AttemptsExhausted", `${many}; ${endText(last)}`);
  }
  if (intent.activeDeadlineMs === undefined || ledger.startedAtMs === null) return;
  const deadlineMs = ledger.startedAtMs + intent.activeDeadlineMs;
  if (nowMs < deadlineMs) return draft.wakeAt(deadlineMs);
  draft.end("Failed", "DeadlineExceeded", `it did not end within ${intent.activeDeadlineMs / 1000} seconds`);
}

const DELETED: ReadonlySet<string> = new Set<StopReason>(["ObjectDeleted", "Replaced"]);

function endText({ number, cluster, outcome }: Attempt): string {
  const why = [outcome?.reason, outcome?.message].filter(Boolean).join(", ");
  return `attempt ${number} in ${cluster} ${outcome?.kind === "failed" ? "failed" : "ended"}: ${why}`;
}

/** [J7] Attempts that have to stop: the work has ended, or it moves. */
export function decideStops(draft: Draft) {
  const { intent, ledger } = draft;
  for (const attempt of draft.alive) {
    const { number, cluster } = attempt;
    if (ledger.end) {
      draft.stop(attempt, "Ended", `the work is over: ${ledger.end.reason}`);
      continue;
    }
    if (draft.cluster(cluster).evicts && hasElsewhere(draft, cluster)) {
      draft.stop(attempt, "Drained", `${cluster} is drained`);
      continue;
    }
    const seen = draft.seenOf(attempt);
    if (seen.kind !== "present" || seen.uid !== attempt.uid || seen.state !== "running") continue;
    if (intent.podFailures > 0 && (seen.failed ?? 0) >= intent.podFailures) {
      draft.stop(attempt, "PodFailures", `${seen.failed} pods of attempt ${number} have failed in ${cluster}`);
    }
    notePending(draft, attempt, seen);
  }
}

/** A drain moves the work only if another cluster may take it; otherwise it ends where it is. */
function hasElsewhere(draft: Draft, cluster: ClusterName): boolean {
  return draft.intent.clusters.some((name) => name !== cluster && isOpen(draft, name));
}

function notePending(draft: Draft, attempt: Attempt, seen: AttemptPresent) {
  const { intent, nowMs } = draft;
  const { number, cluster } = attempt;
  if (!seen.isPending || attempt.grant.parallelism === 0) {
    if (attempt.pendingSinceMs !== null) draft.update(attempt, { pendingSinceMs: null });
    return;
  }
  const mayLeave = mayMove(draft, "Pending");
  draft.wait(
    "AttemptPending",
    cluster,
    `attempt ${number}: no pod runs in ${cluster} yet`,
    mayLeave
      ? "check the pods' Events there; spec.failover.pendingAfterSeconds lets the work continue elsewhere"
      : "check the pods' Events there; the work has moved spec.failover.maxAttempts times for this, and stays now",
  );
  // Every Job begins without a pod that runs: without a limit this is nothing to write a ledger for.
  if (intent.pendingAfterMs === 0 || !mayLeave) return;
  const sinceMs = attempt.pendingSinceMs ?? nowMs;
  draft.update(attempt, { pendingSinceMs: sinceMs });
  if (nowMs < sinceMs + intent.pendingAfterMs) return draft.wakeAt(sinceMs + intent.pendingAfterMs);
  const [known] = draft.attempts.filter((each) => each.number === number);
  if (known)
    draft.stop(
      known,
      "Pending",
      `no pod of attempt ${number} ran in ${cluster} for ${intent.pendingAfterMs / 1000} seconds`,
    );
}

/** [J1] Starts at most one attempt: the next plan looks at the next name first. */
export function startNext(draft: Draft) {
  const { intent, ledger } = draft;
  if (ledger.end || intent.isDeleted) return;
  // [J15] A ledger that was restored may not know an attempt that exists.
  const found = Object.entries(draft.seen.next).find(([, seen]) => seen.kind === "present");
  if (found?.[1].kind === "present") return adopt(draft, found[0], found[1]);
  if (intent.suspend) {
    return draft.wait("Suspended", undefined, "spec.suspend is set", "set spec.suspend to false to continue");
  }
  const free = intent.slots - draft.alive.length;
  if (free <= 0) return;
  const open = candidates(draft);
  const share = nextShare(intent.work, draft.attempts, Math.max(1, Math.min(free, open.length)));
  if (!share || awaitRemoval(draft)) return;
  const [cluster] = open;
  if (cluster === undefined) {
    draft.wait(
      "NoClusterFree",
      undefined,
      `no cluster is free for attempt ${ledger.nextAttempt}: ${intent.clusters.map((name) => whyNot(draft, name)).join(", ") || "none is selected"}`,
      "make one of them Ready, or add a cluster to spec.clusters",
    );
    return;
  }
  begin(draft, { cluster, share });
  draft.again();
}

/**
 * [J6] An operator may say that its object has failed while other pods of it run on: a PyTorchJob's workers, a RayJob's
 * cluster. So that object is removed first, and its pods have time to end.
 */
function awaitRemoval(draft: Draft): boolean {
  const { intent, nowMs, seen } = draft;
  if (intent.isBatch || intent.guarantee !== "Wait" || intent.memberCleanup !== "WhenFinished") return false;
  const isThere = (attempt: Attempt) =>
    !attempt.isCleaned && (draft.seenOf(attempt).kind !== "absent" || seen.dispatched.has(attempt.number));
  const isConfirmed = ({ cluster, unheardSinceMs }: Attempt) =>
    unheardSinceMs !== null && (intent.confirmedLost[cluster] ?? Number.NEGATIVE_INFINITY) >= unheardSinceMs;
  for (const attempt of draft.attempts) {
    if (attempt.outcome?.kind !== "failed" || isConfirmed(attempt)) continue;
    const { number, cluster } = attempt;
    const overAtMs = attempt.outcome.atMs + podsEndMs(draft);
    if (!isThere(attempt) && nowMs >= overAtMs) continue;
    draft.wakeAt(overAtMs);
    draft.wait(
      "WaitingForTermination",
      cluster,
      isThere(attempt)
        ? `attempt ${number} has failed; its object is removed from ${cluster} before another one starts`
        : `attempt ${number} has failed; its pods in ${cluster} have time to end until ${timestamp(overAtMs)}`,
      `no action needed; if ${cluster} is lost, and it is certain that nothing of it runs there any more: lockstep confirm-lost ${cluster} ccj/NAME`,
    );
    return true;
  }
  return false;
}

function candidates(draft: Draft): ClusterName[] {
  const busy = new Set(draft.alive.map(({ cluster }) => cluster));
  const tried = (name: ClusterName) =>
    draft.attempts.filter(({ cluster, outcome }) => cluster === name && outcome && outcome.kind !== "succeeded").length;
  const open = draft.intent.clusters.filter((name) => !busy.has(name) && isOpen(draft, name));
  const order = new Map(draft.intent.clusters.map((name, at) => [name, at]));
  const isTaken = (name: ClusterName) => Number(draft.seen.next[name]?.kind === "foreign");
  return open.sort(
    (a, b) => isTaken(a) - isTaken(b) || tried(a) - tried(b) || (order.get(a) ?? 0) - (order.get(b) ?? 0),
  );
}

function isOpen(draft: Draft, name: ClusterName): boolean {
  const { state, repels, evicts } = draft.cluster(name);
  const next = draft.seen.next[name];
  return state === "Ready" && repels === undefined && !evicts && next?.kind !== "unreachable";
}

function whyNot(draft: Draft, name: ClusterName): string {
  const { state, repels, evicts } = draft.cluster(name);
  if (state === "Gone") return `${name} does not exist`;
  if (state !== "Ready") return `${name} is ${state}`;
  if (evicts) return `${name} is drained`;
  if (repels !== undefined) return `${name} has the taint ${repels}`;
  if (draft.alive.some(({ cluster }) => cluster === name)) return `${name} has another attempt`;
  return `${name} has not been read yet`;
}

function begin(draft: Draft, { cluster, share }: Pick<Attempt, "cluster" | "share">): Attempt {
  const { intent, ledger, nowMs } = draft;
  const isSwitched = intent.guarantee === "Exclusive";
  const deadlineSeconds = isSwitched ? Math.ceil(intent.windowMs / 1000) : null;
  const attempt: Attempt = {
    number: ledger.nextAttempt,
    cluster,
    share,
    startedAtMs: nowMs,
    isSwitched,
    uid: null,
    readAtMs: null,
    // [J10] It is created idle; only an object whose uid was read is allowed to run.
    grant: { epoch: 1, parallelism: 0, deadlineSeconds },
    latestDeadlineSeconds: deadlineSeconds ?? 0,
    unheardSinceMs: null,
    pendingSinceMs: null,
    goneSinceMs: null,
    endSeenAtMs: null,
    stop: null,
    done: { succeeded: 0, failed: 0, indexes: "" },
    outcome: null,
    isCleaned: false,
    mayRunTwice: false,
  };
  draft.change({
    attempts: [...draft.attempts, attempt],
    nextAttempt: ledger.nextAttempt + 1,
    startedAtMs: ledger.startedAtMs ?? nowMs,
  });
  return attempt;
}

/** [J15] It carries this object's mark: it is taken as the attempt that it is. Its deadline counts from now. */
function adopt(draft: Draft, cluster: ClusterName, seen: AttemptPresent) {
  const attempt = begin(draft, { cluster, share: seen.share ?? { kind: "whole" } });
  draft.update(attempt, {
    uid: seen.uid,
    readAtMs: draft.nowMs,
    // It may have run before: only what is read next says that its deadline counts.
    ...(attempt.isSwitched && { isHeld: true }),
    latestDeadlineSeconds: Math.max(attempt.latestDeadlineSeconds, seen.deadlineSeconds ?? 0),
  });
  draft.again();
}
