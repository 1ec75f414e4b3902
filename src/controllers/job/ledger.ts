import type { Dispatched } from "../../engine/index.ts";
import {
  type Attempt,
  emptyJobLedger,
  JOB_LEDGER_VERSION,
  type JobLedger,
  JobLedgerUnreadable,
  packJobLedger,
  parseJobLedger,
  STOP_DEADLINE_SECONDS,
} from "../../jobs/index.ts";
import { isJsonObject, sameJson } from "../../runtime/index.ts";
import type { LedgerFormat, OwnedLedgers, StoredLedger } from "../common/owned-ledgers.ts";
import type { Owner } from "../common/owner.ts";

export const JOB_LEDGERS: LedgerFormat<JobLedger> = {
  kind: "CrossClusterJob",
  prefix: "ccj",
  version: JOB_LEDGER_VERSION,
  pack: packJobLedger,
  parse: (state) => {
    try {
      return { ledger: parseJobLedger(state) };
    } catch (error) {
      if (!(error instanceof JobLedgerUnreadable)) throw error;
      return { unreadable: error.message };
    }
  },
};

/** Beside every attempt that was dispatched: whose it is, and its record, from which a lost ledger is rebuilt. */
export const ATTEMPT_NOTE = "attempt";
export const LIFE_NOTE = "life";
/** What the dispatch object delivers, in a word. */
export const GRANT_NOTE = "grant";

/**
 * With the start that a deadline counts from, and whether it counts: a ledger that is rebuilt from the record beside it
 * has to know both.
 */
export function grantText({ grant, uid, startTime, isHeld }: Attempt): string {
  const words = [grant.parallelism, grant.deadlineSeconds ?? "-", grant.epoch > 1 ? (uid ?? "-") : "-"];
  return [...words, ...(startTime === undefined ? [] : [startTime]), ...(isHeld ? ["held"] : [])].join(" ");
}

/** Whether what the dispatch object delivers is the order to stop. `notes`: with or without their prefix. */
export function ordersStop({ notes }: Pick<Dispatched, "notes">, prefix = ""): boolean {
  return notes[`${prefix}${GRANT_NOTE}`]?.startsWith(`0 ${STOP_DEADLINE_SECONDS} `) ?? false;
}

/** [J15] A ledger that is gone: every attempt that has a dispatch object is known again. */
export function rebuiltLedger(template: string, owner: Owner, dispatched: readonly Dispatched[]): JobLedger {
  const attempts = dispatched
    .flatMap(({ notes }) => (notes[LIFE_NOTE] === owner.uid ? readAttempt(notes[ATTEMPT_NOTE]) : []))
    .sort((a, b) => a.number - b.number);
  const empty = emptyJobLedger(template);
  const first = attempts[0];
  if (!first) return empty;
  const nextAttempt = Math.max(...attempts.map(({ number }) => number)) + 1;
  return { ...empty, attempts, nextAttempt, startedAtMs: first.startedAtMs };
}

function readAttempt(note: string | undefined): Attempt[] {
  try {
    const attempt: unknown = JSON.parse(note ?? "");
    if (!isJsonObject(attempt)) return [];
    return [...parseJobLedger({ ...packJobLedger(emptyJobLedger("")), attempts: [attempt] }).attempts];
  } catch {
    return [];
  }
}

/** The ledger of one CrossClusterJob that this process leads. */
export class JobSession {
  /** Every dispatch object carries this leader's term. */
  stamped = false;
  /** When this process last asked the engine to remove an attempt's object, by the attempt's number. */
  readonly removedAtMs = new Map<number, number>();
  /** When this process claimed it. */
  readonly openedAtMs: number;
  readonly #store: OwnedLedgers<JobLedger>;
  #stored: StoredLedger<JobLedger>;
  #doubts = 0;

  constructor(store: OwnedLedgers<JobLedger>, stored: StoredLedger<JobLedger>, openedAtMs: number) {
    this.openedAtMs = openedAtMs;
    this.#store = store;
    this.#stored = stored;
  }

  get owner(): Owner {
    return this.#stored.owner;
  }

  get term(): number {
    return this.#stored.term;
  }

  get ledger(): JobLedger {
    return this.#stored.ledger;
  }

  /** A write failed: what is stored may be another than this process believes. */
  get isInDoubt(): boolean {
    return this.#doubts > 0;
  }

  /** Whether it had to be written. */
  async save(ledger: JobLedger): Promise<boolean> {
    if (sameJson(packJobLedger(this.#stored.ledger), packJobLedger(ledger))) return false;
    this.#stored = await this.#certainly(this.#store.write(this.#stored, { ledger, revisions: [] }));
    return true;
  }

  confirm(): Promise<void> {
    return this.#certainly(this.#store.confirm(this.#stored));
  }

  remove(): Promise<void> {
    return this.#certainly(this.#store.remove(this.#stored.object));
  }

  async #certainly<Value>(step: Promise<Value>): Promise<Value> {
    this.#doubts++;
    const value = await step;
    this.#doubts--;
    return value;
  }
}
