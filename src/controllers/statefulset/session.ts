import type { Ledger } from "../../plan/index.ts";
import type { Clock } from "../../runtime/index.ts";
import type { ActContext } from "./act.ts";
import { sameButMarks } from "./ledger-marks.ts";
import type { LedgerStore, StoredLedger } from "./ledger-store.ts";
import { sameJson } from "./same-json.ts";

/**
 * Marks that no grant carried along are written after this long: what a shorter step leaves is written with the next one's
 * grant. A crash loses no more of them. Whoever takes over reads them off the members: a hold begins anew,
 * and so does a deadline, where the members show more than was written.
 */
const MARKS_SAVED_AFTER_MS = 30_000;

/** The dispatch object is seen to go on the hub, the member's own in the member: so far may one watch be behind the other. */
const STRANDED_AFTER_MS = 10_000;

/** What this process knows of an application that it leads. */
export class Session {
  /** Every dispatch object carries this leader's term. */
  stamped = false;
  /** Each cluster's grant, and the spec, for which nothing superfluous is left there: only another can leave more. */
  readonly tidied = new Map<string, string>();
  readonly dispatchedRefs: ActContext["dispatchedRefs"] = new Map();
  readonly #strandedSinceMs = new Map<string, number>();
  readonly #store: LedgerStore;
  readonly #clock: Clock;
  #stored: StoredLedger;
  #ledger: Ledger;
  /** Steps whose outcome is not known to be good: under way, or failed. */
  #doubts = 0;
  /** Since when the ledger has been ahead of what is stored, on the monotonic clock. */
  #unsavedSinceMs: number | undefined;

  constructor(store: LedgerStore, clock: Clock, stored: StoredLedger) {
    this.#store = store;
    this.#clock = clock;
    this.#stored = stored;
    this.#ledger = stored.ledger;
  }

  get term(): number {
    return this.#stored.term;
  }

  /**
   * Whether what is stored may be another than this process believes: a write of it failed, or somebody else's was found.
   * Then the ledger has to be claimed anew. Nothing else that goes wrong says anything about who leads.
   */
  get isInDoubt(): boolean {
    return this.#doubts > 0;
  }

  /** As it is now: ahead of what is stored by marks at most. */
  get ledger(): Ledger {
    return this.#ledger;
  }

  /** When what is not stored yet has to be, from now; undefined when everything is. */
  get saveAfterMs(): number | undefined {
    if (this.#unsavedSinceMs === undefined) return undefined;
    return Math.max(0, this.#unsavedSinceMs + MARKS_SAVED_AFTER_MS - this.#clock.monotonicMs());
  }

  /** Whether a cluster's object has been stranded for so long that it is no removal which has yet to be seen. */
  isStrandedLong(cluster: string, isStranded: boolean): boolean {
    if (!isStranded) this.#strandedSinceMs.delete(cluster);
    else if (!this.#strandedSinceMs.has(cluster)) this.#strandedSinceMs.set(cluster, this.#clock.monotonicMs());
    const sinceMs = this.#strandedSinceMs.get(cluster);
    return sinceMs !== undefined && this.#clock.monotonicMs() - sinceMs >= STRANDED_AFTER_MS;
  }

  /** Writes the ledger, unless only marks have changed and not long ago. Whether it was written. */
  async save(ledger: Ledger): Promise<boolean> {
    const nowMs = this.#clock.monotonicMs();
    const isSaved = sameJson(this.#stored.ledger, ledger);
    const unsavedSinceMs = isSaved ? undefined : (this.#unsavedSinceMs ?? nowMs);
    const isDue = unsavedSinceMs !== undefined && nowMs - unsavedSinceMs >= MARKS_SAVED_AFTER_MS;
    const mustWrite = !isSaved && (isDue || !sameButMarks(this.#stored.ledger, ledger));
    if (mustWrite) this.#stored = await this.#certainly(this.#store.write(this.#stored, ledger));
    this.#unsavedSinceMs = mustWrite ? undefined : unsavedSinceMs;
    this.#ledger = ledger;
    return mustWrite;
  }

  /** Throws when another leader has taken the ledger over, or it is gone. */
  confirm(): Promise<void> {
    return this.#certainly(this.#store.confirm(this.#stored));
  }

  removeLedger(): Promise<void> {
    return this.#certainly(this.#store.remove(this.#stored));
  }

  async #certainly<Value>(step: Promise<Value>): Promise<Value> {
    this.#doubts++;
    const value = await step;
    this.#doubts--;
    return value;
  }
}
