/**
 * Terms: each leader that takes an application over sets a higher term on its ledger and its Works. Terms only
 * increase, so an object with a later term than a leader's own was written by its successor, or by a foreign writer.
 */

/**
 * Enough for a new leader every millisecond for thirty years. Far below where numbers lose their last digit and would
 * seem to wrap.
 */
export const MAX_TERM = 1_000_000_000_000;

/**
 * The term of a ledger or a Work. Absent: 0. A value that no leader can have written counts as later than any leader's
 * own.
 */
export function readTerm(text: string | undefined): number {
  if (text === undefined) return 0;
  const term = /^\d{1,15}$/.test(text) ? Number(text) : Number.POSITIVE_INFINITY;
  return term <= MAX_TERM ? term : Number.POSITIVE_INFINITY;
}

/** The term of the leader that takes over after these; undefined: there is no higher one. */
export function nextTerm(...terms: readonly number[]): number | undefined {
  const next = Math.max(0, ...terms) + 1;
  return next <= MAX_TERM ? next : undefined;
}
