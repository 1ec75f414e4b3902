/**
 * How often each dangerous situation occurred. A property that was never at risk proves nothing: a count of zero fails
 * a whole campaign.
 */
export class Reach {
  readonly #counts = new Map<string, number>();

  count(situation: string, times = 1): void {
    this.#counts.set(situation, (this.#counts.get(situation) ?? 0) + times);
  }

  get counts(): Record<string, number> {
    return Object.fromEntries([...this.#counts].sort(([a], [b]) => (a < b ? -1 : 1)));
  }
}

/** Promises that were at risk, and were checked. */
export const CHECKS = [
  "a grant arrives",
  "epochs only increase",
  "ordinals are unique",
  "status explains every wait",
  "never below the majority",
  "never more than maxUnavailable",
  "two down at once by own action",
  "one membership change at a time",
  "an unplanned failure counts against the budget",
  "objects removed",
  "a lost cluster returns",
  "a new leader stamps",
  "leaders change",
  "ledger writes",
  "the ledger precedes the dispatch",
  "what a grant refers to exists before it",
  "the leader's cluster goes last",
  "updates respect their windows",
  "nothing starts next to what was not adopted",
  "an adoption moves nothing",
  "an upgrade moves nothing",
  "settled in the end",
  "nothing left after a release",
  "nothing left after a teardown",
  "a lost cluster is given up",
  "the application removes lost members",
  "the leader is asked to move, and does",
  "OnDelete grants a revision",
  "lost instances are replaced",
] as const;

/** Injected faults. */
export const FAULTS = [
  "crash before a write",
  "crash after a write",
  "crash after an acknowledgement",
  "answer lost",
  "request lost",
  "conflict",
  "overloaded",
  "server error",
  "watches dropped",
  "slow",
  "stale views",
  "member disconnected",
  "member lost",
  "leader paused",
  "a paused leader resumes next to a new one",
  "clock jump",
  "operator stalls",
  "an operator violates the contract",
  "annotations tampered with",
  "instance fails",
  "instance hangs in termination",
  "broken revision",
  "an outdated list",
  "the hub is down during a step",
  "members continue while the hub is down",
  "a leader stalls after a write",
] as const;

/** What users and the engine do meanwhile. */
export const CHANGES = [
  "edit during a step",
  "scale during a step",
  "undo",
  "pause",
  "restart",
  "deleted during a step",
  "a cluster leaves the fleet",
  "a user confirms a loss",
  "a user deletes an instance",
  "a user deletes a Work",
  "the engine moves instances away",
] as const;

/** Promises that only Open Cluster Management puts at risk. */
export const AGENT_CHECKS = ["a silent cluster is unknown", "no loss counts as a Placement's removal"] as const;

/** What only agents of Open Cluster Management do. */
export const AGENT_FAULTS = [
  "feedback stays after its object is gone",
  "Applied before its values",
  "an agent polls",
  "an agent dies and returns",
  "a work agent dies, and its cluster stays available",
  "a finalizer is torn off",
  "an eviction after a torn-off finalizer",
  "works deleted with their cluster",
  "two works on one object",
  "a report overtakes a write",
  "a Placement selects a returned cluster again",
] as const;

/** What the properties must have seen, over a whole campaign. */
export const SITUATIONS = [...CHECKS, ...FAULTS, ...CHANGES] as const;

/** What only the model of the lean tier can do; and one that needs more seeds than the full tier has. */
export const LEAN_ONLY: ReadonlySet<string> = new Set<(typeof SITUATIONS)[number]>([
  "what a grant refers to exists before it",
  "an unplanned failure counts against the budget",
  "leaders change",
  "the leader's cluster goes last",
  "broken revision",
  "a cluster leaves the fleet",
  "a user confirms a loss",
  "a lost cluster is given up",
  "the application removes lost members",
  "a user deletes an instance",
  "a user deletes a Work",
  "the leader is asked to move, and does",
  "OnDelete grants a revision",
  "the engine moves instances away",
  "lost instances are replaced",
]);
