/** What each attempt's cluster gets: how many pods may run, and until when. */
import type { Draft } from "./draft.ts";
import type { Attempt, JobGrant } from "./types.ts";
import { sizeOfShare } from "./work.ts";

/** [J11] Extended when a third of the window has passed, so that two extensions may be lost without harm. */
const RENEW_AFTER_SHARE = 1 / 3;
/** [J7] A Job's own controller ends it at once, and says so: a Job that has failed by its deadline never starts a pod again. */
export const STOP_DEADLINE_SECONDS = 1;

export function decideGrants(draft: Draft): Attempt[] {
  const standing = draft.attempts.filter((attempt) => isStanding(draft, attempt));
  for (const attempt of standing) {
    const wanted = wantedOf(draft, attempt);
    const { grant } = attempt;
    if (wanted.parallelism === grant.parallelism && wanted.deadlineSeconds === grant.deadlineSeconds) continue;
    draft.update(attempt, {
      grant: { ...wanted, epoch: grant.epoch + 1 },
      latestDeadlineSeconds: Math.max(attempt.latestDeadlineSeconds, wanted.deadlineSeconds ?? 0),
    });
  }
  const rank = ({ outcome }: Attempt) => (outcome === null ? 1 : 0);
  return draft.attempts.filter((attempt) => isStanding(draft, attempt)).sort((a, b) => rank(a) - rank(b));
}

/** [J13] An attempt that was given up gets the order to stop before another one starts: whatever creates it again gets that. */
function isStanding({ intent, seen }: Draft, { outcome, isCleaned, stop, number }: Attempt): boolean {
  if (outcome === null) return intent.isBatch || stop === null;
  const isGivenUp = outcome.kind === "lost" || outcome.kind === "unused";
  return isGivenUp && intent.isBatch && !isCleaned && seen.dispatched.has(number);
}

function wantedOf(draft: Draft, attempt: Attempt): Omit<JobGrant, "epoch"> {
  const { intent } = draft;
  const { grant, uid, stop, share } = attempt;
  if (!intent.isBatch) return { parallelism: 1, deadlineSeconds: null };
  if (stop || attempt.ending || attempt.outcome) return { parallelism: 0, deadlineSeconds: STOP_DEADLINE_SECONDS };
  const size = sizeOfShare(share);
  const parallelism = Math.min(intent.parallelism, size ?? intent.parallelism);
  const seen = draft.seenOf(attempt);
  const isHeard = seen.kind === "present" && seen.uid === uid && seen.state === "running" && !seen.isDeleting;
  // [J10] Never before its uid was read, and never to one that is not reporting.
  if (uid === null || !isHeard) return grant;
  return { parallelism: intent.suspend ? 0 : parallelism, deadlineSeconds: deadlineOf(draft, attempt) };
}

function deadlineOf(draft: Draft, { isSwitched, grant, readAtMs }: Attempt): number | null {
  if (!isSwitched || readAtMs === null) return grant.deadlineSeconds;
  const { nowMs, intent } = draft;
  const ranMs = nowMs - readAtMs;
  const leftMs = (grant.deadlineSeconds ?? 0) * 1000 - ranMs;
  const renewBelowMs = intent.windowMs * (1 - RENEW_AFTER_SHARE);
  if (leftMs > renewBelowMs) {
    draft.wakeAt(nowMs + leftMs - renewBelowMs);
    return grant.deadlineSeconds;
  }
  draft.wakeAt(nowMs + intent.windowMs - renewBelowMs);
  return Math.ceil((ranMs + intent.windowMs) / 1000);
}
