import type { Ledger } from "../../plan/index.ts";
import { type Clock, sameJson } from "../../runtime/index.ts";
import type { LedgerStore, StoredLedger } from "../common/ledger-store.ts";
import type { Owner } from "../common/owner.ts";
import type { RevisionStore } from "../common/revisions/revision-store.ts";
import type { ActContext } from "./act/act.ts";
import { sameButMarks } from "./ledger/ledger-marks.ts";

/**
 * Marks that no grant carried along are written after this long: what a shorter step leaves is written with the next one's
 * grant. A crash loses no more of them. Whoever takes over reads them off the members: a hold begins anew,
 * and so does a deadline, where the members show more than was written.
 */
const MARKS_SAVED_AFTER_MS = 30_000;

/** What this process knows of an application that it leads. */
export class Session {
  /** Every dispatch object carries this leader's term. */
  stamped = false;
  /** Each cluster's grant, and the spec, for which nothing superfluous is left there: only another can leave more. */
  readonly tidied = new Map<string, string>();
  readonly dispatchedRefs: ActContext["dispatchedRefs"] = new Map();
  readonly #store: LedgerStore<Ledger>;
  readonly #revisions: RevisionStore;
  readonly #clock: Clock;
  #stored: StoredLedger<Ledger>;
  #ledger: Ledger;
  /** Steps whose outcome is not known to be good: under way, or failed. */
  #doubts = 0;
  /** Since when the ledger has been ahead of what is stored, on the monotonic clock. */
  #unsavedSinceMs: number | undefined;

  constructor(store: LedgerStore<Ledger>, revisions: RevisionStore, clock: Clock, stored: StoredLedger<Ledger>) {
    this.#store = store;
    this.#revisions = revisions;
    revisions.open(stored.owner, stored.revisions);
    this.#clock = clock;
    this.#stored = stored;
    this.#ledger = stored.ledger;
  }

  get owner(): Owner {
    return this.#stored.owner;
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

  /**
   * Writes the ledger with the revisions that it names, unless only marks have changed and not long ago. Whether it was
   * written.
   */
  async save(ledger: Ledger): Promise<boolean> {
    const nowMs = this.#clock.monotonicMs();
    const { owner } = this.#stored;
    const revisions = this.#revisions.entries(owner);
    const isIndexed = revisions === this.#stored.revisions;
    const isSaved = isIndexed && sameJson(this.#stored.ledger, ledger);
    const unsavedSinceMs = isSaved ? undefined : (this.#unsavedSinceMs ?? nowMs);
    const isDue = unsavedSinceMs !== undefined && nowMs - unsavedSinceMs >= MARKS_SAVED_AFTER_MS;
    const mustWrite = !isSaved && (isDue || !isIndexed || !sameButMarks(this.#stored.ledger, ledger));
    if (mustWrite) this.#stored = await this.#certainly(this.#store.write(this.#stored, { ledger, revisions }));
    this.#unsavedSinceMs = mustWrite ? undefined : unsavedSinceMs;
    this.#ledger = ledger;
    return mustWrite;
  }

  /** Throws when another leader has taken the ledger over, or it is gone. */
  confirm(): Promise<void> {
    return this.#certainly(this.#store.confirm(this.#stored));
  }

  removeLedger(): Promise<void> {
    return this.#certainly(this.#store.remove(this.#stored.object));
  }

  async #certainly<Value>(step: Promise<Value>): Promise<Value> {
    this.#doubts++;
    const value = await step;
    this.#doubts--;
    return value;
  }
}
