/**
 * How often each dangerous situation came up. A property that was never in danger proves nothing: over a whole campaign
 * a count of zero fails it.
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

/** What the properties must have seen, over a whole campaign. */
export const SITUATIONS = [
  "a grant arrives",
  "epochs only rise",
  "ordinals are unique",
  "status says why it waits",
  "never below the majority",
  "never more than maxUnavailable",
  "two down at once by own action",
  "one membership change at a time",
  "an accident is charged",
  "objects removed",
  "a lost cluster returns",
  "a new leader stamps",
  "leaders change",
  "ledger writes",
  "the ledger precedes the dispatch",
  "the leader's cluster goes last",
  "updates keep to their windows",
  "nothing begins beside what was not adopted",
  "an adoption moves nothing",
  "an upgrade moves nothing",
  "settled in the end",
  "nothing left after a release",
  "nothing left after a teardown",
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
  "member cut off",
  "member lost",
  "leader paused",
  "a paused leader wakes up beside a new one",
  "clock jump",
  "operator stalls",
  "operator does not keep to the rules",
  "annotations tampered with",
  "instance fails",
  "instance hangs in termination",
  "edit in mid-step",
  "scale in mid-step",
  "undo",
  "pause",
  "restart",
  "broken revision",
  "deleted in mid-step",
  "a list from the past",
  "the hub is down in mid-step",
  "members go on while the hub is down",
  "a cluster leaves the fleet",
  "a person confirms a loss",
  "a lost cluster is given up",
  "the application removes lost members",
  "a person deletes an instance",
  "a person deletes a Work",
  "the leader is asked to move, and does",
  "a leader stands still after a write",
  "OnDelete hands out",
  "the engine moves instances away",
  "lost instances are replaced",
] as const;

/** What only the model of the lean tier can do; and one that takes more seeds than the full tier has. */
export const LEAN_ONLY: ReadonlySet<string> = new Set<(typeof SITUATIONS)[number]>([
  "an accident is charged",
  "leaders change",
  "the leader's cluster goes last",
  "broken revision",
  "a cluster leaves the fleet",
  "a person confirms a loss",
  "a lost cluster is given up",
  "the application removes lost members",
  "a person deletes an instance",
  "a person deletes a Work",
  "the leader is asked to move, and does",
  "OnDelete hands out",
  "the engine moves instances away",
  "lost instances are replaced",
]);
