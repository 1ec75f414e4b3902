/** What of the work is done, what is held by attempts, and what is left. */
import { type IndexSet, indexesText, minus, parseIndexes, sizeOf, take, union, upTo } from "./index-set.ts";
import type { Attempt, JobFigures, JobIntent, Share, Work } from "./types.ts";

const isOver = ({ outcome }: Attempt) => outcome !== null;
const hasSucceeded = ({ outcome }: Attempt) => outcome?.kind === "succeeded";

/** [J2] Done is what attempts that are over have done; nothing of it is given to another attempt. */
export function isDone(work: Work, attempts: readonly Attempt[]): boolean {
  switch (work.kind) {
    case "whole":
      return attempts.some(hasSucceeded);
    case "indexes":
      return sizeOf(minus(upTo(work.total), indexesOf(attempts.filter(isOver)))) === 0;
    case "count":
      return succeededOf(attempts.filter(isOver)) >= work.total;
  }
}

/** The next attempt's share of what no attempt has; undefined: nothing is left. `slots`: attempts that may start. */
export function nextShare(work: Work, attempts: readonly Attempt[], slots: number): Share | undefined {
  const held = attempts.filter((attempt) => !isOver(attempt));
  switch (work.kind) {
    case "whole":
      return held.length === 0 && !isDone(work, attempts) ? { kind: "whole" } : undefined;
    case "indexes": {
      const taken = held.reduce((set: IndexSet, { share }) => union(set, indexesOfShare(share)), []);
      const left = minus(minus(upTo(work.total), indexesOf(attempts)), taken);
      if (sizeOf(left) === 0) return undefined;
      return { kind: "indexes", indexes: indexesText(take(left, Math.ceil(sizeOf(left) / slots))) };
    }
    case "count": {
      const taken = held.reduce((sum, { share }) => sum + (share.kind === "count" ? share.count : 0), 0);
      const left = work.total - succeededOf(attempts.filter(isOver)) - taken;
      return left > 0 ? { kind: "count", count: Math.ceil(left / slots) } : undefined;
    }
  }
}

export function sizeOfShare(share: Share): number | undefined {
  if (share.kind === "indexes") return sizeOf(parseIndexes(share.indexes) ?? []);
  return share.kind === "count" ? share.count : undefined;
}

export function figuresOf({ work }: JobIntent, attempts: readonly Attempt[], active: number): JobFigures {
  const succeeded = work.kind === "indexes" ? sizeOf(indexesOf(attempts)) : succeededOf(attempts);
  const failed = attempts.reduce((sum, { done }) => sum + done.failed, 0);
  const wanted = work.kind === "whole" ? (work.completions ?? 1) : work.total;
  const done = attempts.find(hasSucceeded);
  const shown = work.kind === "whole" ? ((done ?? attempts.at(-1))?.done.succeeded ?? 0) : succeeded;
  // Pods of a Job without completions may succeed before it does: the work is not done then.
  const isUncounted = work.kind === "whole" && work.completions === undefined;
  return {
    active,
    succeeded: shown,
    failed,
    wanted,
    completed: isDone(work, attempts) ? wanted : Math.min(shown, isUncounted ? 0 : wanted),
    completedIndexes: work.kind === "indexes" ? indexesText(indexesOf(attempts)) : "",
  };
}

function indexesOf(attempts: readonly Attempt[]): IndexSet {
  return attempts.reduce((set: IndexSet, attempt) => union(set, doneIndexes(attempt)), []);
}

/** An attempt that succeeded has done all of its share, whatever its last status listed. */
export function doneIndexes(attempt: Attempt): IndexSet {
  const listed = parseIndexes(attempt.done.indexes) ?? [];
  return hasSucceeded(attempt) ? union(indexesOfShare(attempt.share), listed) : listed;
}

export function succeededOf(attempts: readonly Attempt[]): number {
  return attempts.reduce((sum, attempt) => {
    const { share, done } = attempt;
    return (
      sum + (hasSucceeded(attempt) && share.kind === "count" ? Math.max(share.count, done.succeeded) : done.succeeded)
    );
  }, 0);
}

function indexesOfShare(share: Share): IndexSet {
  return share.kind === "indexes" ? (parseIndexes(share.indexes) ?? []) : [];
}
