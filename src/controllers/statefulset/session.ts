import type { Ledger } from "../../plan/index.ts";
import { type Clock, sameJson } from "../../runtime/index.ts";
import type { LedgerStore, StoredLedger } from "../common/ledger-store.ts";
import type { Owner } from "../common/owner.ts";
import type { RevisionStore } from "../common/revisions/revision-store.ts";
import type { ActContext } from "./act/act.ts";
import { sameButMarks } from "./ledger/ledger-marks.ts";

/**
 * Marks that were not written with a grant are written after this long; the marks of shorter steps are written with the
 * next step's grant. A crash loses the marks of at most this long. The next leader reads them from the members: if the
 * members show more than was written, a hold or a deadline starts again.
 */
const MARKS_SAVED_AFTER_MS = 30_000;

/** What this process knows of an application that it leads. */
export class Session {
  /** Every dispatch object carries this leader's term. */
  stamped = false;
  /** The grant and spec for which each cluster was tidied last. Only a different one can leave more to remove. */
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
   * Whether the stored ledger may differ from what this process knows: a write failed, or another client's write was
   * found. Then the ledger has to be claimed again. No other error says anything about who leads.
   */
  get isInDoubt(): boolean {
    return this.#doubts > 0;
  }

  /** The current ledger: it differs from the stored one at most in marks. */
  get ledger(): Ledger {
    return this.#ledger;
  }

  /** In how long unsaved marks have to be stored; undefined: everything is stored. */
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
