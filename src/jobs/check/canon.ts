import type { Attempt } from "../types.ts";
import { type Job, type Manifest, MODEL_INTENT, type State } from "./model.ts";

/** Beyond this many steps, how long ago something was makes no difference to any rule. */
const LONG_AGO = 4;
const { graceMs, allowanceMs } = MODEL_INTENT;
const OVER = -(graceMs + allowanceMs) / 1000 - 1;

/**
 * States that differ only in what no rule reads count as one: times count from now, and only as far as a rule looks. So
 * the states are finitely many although time never ends.
 */
export function keyOf(state: State): string {
  const { now, ledger, left, works, members, seen } = state;
  const ago = (atMs: number | null) => (atMs === null ? null : Math.min(now - atMs / 1000, LONG_AGO));
  const remaining = (startedAt: number, deadline: number) => Math.max(startedAt + deadline - now, OVER);
  const job = ({ uid, startedAt, isHeld, deadline, parallelism, pods, endingSince, state: phase, reason }: Job) => {
    const leftover = phase === "running" ? (isHeld ? ["held", deadline] : remaining(startedAt, deadline)) : 0;
    return [uid, leftover, parallelism, pods, pods === "ending" ? ago(endingSince * 1000) : 0, phase, reason];
  };
  const jobs = (all: Record<number, Job>) => Object.entries(all).map(([key, each]) => [key, job(each)]);
  const attempt = (each: Attempt) => {
    const { number, cluster, uid, readAtMs, isHeld, startTime, grant, latestDeadlineSeconds, stop, outcome } = each;
    const readAt = (readAtMs ?? 0) / 1000;
    if (each.isCleaned) return [number, cluster, outcome?.kind];
    return [
      [number, cluster, uid, stop?.reason, outcome?.kind, outcome?.reason, each.ending?.kind, each.mayRunTwice],
      readAtMs === null ? null : remaining(readAt, latestDeadlineSeconds),
      readAtMs === null ? null : remaining(readAt, grant.deadlineSeconds ?? 0),
      // The start itself matters only as the one that is seen, or another one.
      [isHeld ?? false, startTime === undefined ? null : startTime === seenStart(cluster, number)],
      [grant.parallelism, grant.epoch > 1, works[number]?.manifest.epoch === grant.epoch],
      [ago(each.unheardSinceMs), ago(each.goneSinceMs), ago(each.endSeenAtMs)],
    ];
  };
  const manifest = (each: Manifest) => {
    const all = Object.values(members).flatMap(({ jobs: own }) => own[each.attempt] ?? []);
    const from = all[0]?.startedAt ?? 0;
    return [each.attempt, each.parallelism, all.length > 0 ? remaining(from, each.deadline) : each.deadline, each.pin];
  };
  const texts = (all: readonly Manifest[]) => [...new Set(all.map((each) => JSON.stringify(manifest(each))))].sort();
  return JSON.stringify([
    [ledger.attempts.map(attempt), ledger.end?.kind, ledger.nextAttempt, left, state.drained, state.term],
    Object.values(works).map((work) => [manifest(work.manifest), work.isRemoved]),
    Object.values(members).map((member) => [
      member.isCut,
      member.nextUid,
      jobs(member.jobs),
      Object.entries(member.orphans).map(([key, since]) => [key, ago(since * 1000)]),
      left.recreate > 0 ? texts(Object.values(member.cache)) : null,
    ]),
    Object.values(seen).map((each) => ("since" in each ? ago(each.since * 1000) : jobs(each.jobs))),
    left.late > 0 ? texts(state.written) : null,
    [acts(state.acts), state.ghost && [state.ghost.term, acts(state.ghost.acts)]],
  ]);

  function seenStart(cluster: string, number: number) {
    const shown = seen[cluster as keyof State["seen"]];
    const own = "since" in shown ? members[cluster as keyof State["members"]].jobs[number] : shown.jobs[number];
    return own && String(own.startedAt);
  }

  function acts(all: State["acts"]) {
    return all.map((each) => (each.kind === "dispatch" ? manifest(each.manifest) : each.attempt));
  }
}
