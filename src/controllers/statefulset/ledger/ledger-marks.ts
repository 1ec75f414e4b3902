import type { ClusterEntry, Ledger } from "../../../plan/index.ts";
import { sameJson } from "../../../runtime/index.ts";

/**
 * Whether two ledgers differ at most in marks: when a grant was seen to have arrived, since when its gate has been
 * open, how far a step has come, since when an object has been stranded. If marks are lost, they are read from the
 * members again. Every grant writes the marks too. So a change of marks alone need not be written to the hub at once.
 */
export function sameButMarks(a: Ledger, b: Ledger): boolean {
  const { clusters: before, ...rest } = a;
  const { clusters: after, ...otherRest } = b;
  if (!sameJson(rest, otherRest)) return false;
  const names = Object.keys(after);
  if (names.length !== Object.keys(before).length) return false;
  return names.every((name) => {
    const [was, is] = [before[name], after[name]];
    return was !== undefined && is !== undefined && (was === is || sameJson(withoutMarks(was), withoutMarks(is)));
  });
}

function withoutMarks(entry: ClusterEntry): ClusterEntry {
  // An accident is no mark: once an evicted pod is back, it cannot be distinguished from a restarted one.
  const accidents = entry.step?.down?.accidents ?? [];
  const step = entry.step && { ...entry.step, progressMs: 0, best: 0, down: { accidents, finishedFrom: null } };
  return { ...entry, ackedAtMs: null, openSinceMs: null, strandedSinceMs: null, step };
}
