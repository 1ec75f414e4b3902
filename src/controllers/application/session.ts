import {
  APPLICATION_LEDGER_VERSION,
  emptyLedger,
  type Ledger,
  ledgerJson,
  parseLedgerJson,
} from "../../applications/index.ts";
import type { Dispatched } from "../../engine/index.ts";
import type { Cache, KubeClient, KubeObject } from "../../kube/index.ts";
import { isJsonObject, type Json, sameJson } from "../../runtime/index.ts";
import { type LedgerFormat, OwnedLedgers, type StoredLedger } from "../common/owned-ledgers.ts";
import { type Owner, ownerOf } from "../common/owner.ts";
import type { RevisionStore } from "../common/revisions/revision-store.ts";
import { epochNote } from "./notes.ts";

/** Which inputs the newest revision was rendered from: the same inputs are never rendered again. */
export interface SourceSeen {
  readonly inputs: string;
  readonly revision: string;
  /** What each of its variants was rendered from, in their order. */
  readonly variants: readonly string[];
}

/** What is kept of one DistributedApplication. */
export interface State {
  readonly ledger: Ledger;
  readonly source: SourceSeen | null;
}

export const DAPP_KIND = "DistributedApplication";

export const FORMAT: LedgerFormat<State> = {
  kind: DAPP_KIND,
  prefix: "dapp",
  version: APPLICATION_LEDGER_VERSION,
  pack: ({ ledger, source }) => ({
    ledger: ledgerJson(ledger),
    source: source && { ...source, variants: [...source.variants] },
  }),
  parse: (state) => {
    const { ledger: kept, source } = isJsonObject(state) ? state : {};
    const ledger = parseLedgerJson(kept);
    return ledger
      ? { ledger: { ledger, source: sourceOf(source) } }
      : { unreadable: "its state is of another version, or damaged" };
  },
};

function sourceOf(value: Json | undefined): SourceSeen | null {
  if (!isJsonObject(value)) return null;
  const { inputs, revision, variants } = value;
  if (typeof inputs !== "string" || typeof revision !== "string") return null;
  const texts = (Array.isArray(variants) ? variants : []).filter((each) => typeof each === "string");
  return { inputs, revision, variants: texts };
}

export class ApplicationLedgers extends OwnedLedgers<State> {
  constructor(client: KubeClient, cache: Cache<KubeObject>, namespace: string) {
    super(client, cache, namespace, FORMAT);
  }
}

/** What this process knows of an application that it leads. */
export class Session {
  /** Every dispatch object carries this leader's term. */
  stamped = false;
  source: SourceSeen | null;
  readonly #store: ApplicationLedgers;
  readonly #revisions: RevisionStore;
  #stored: StoredLedger<State>;
  #doubts = 0;

  constructor(store: ApplicationLedgers, revisions: RevisionStore, stored: StoredLedger<State>) {
    this.#store = store;
    this.#revisions = revisions;
    this.#stored = stored;
    this.source = stored.ledger.source;
    revisions.open(stored.owner, stored.revisions);
  }

  get owner(): Owner {
    return this.#stored.owner;
  }

  get term(): number {
    return this.#stored.term;
  }

  get ledger(): Ledger {
    return this.#stored.ledger.ledger;
  }

  /** A write failed, or another leader's was found: the ledger has to be claimed again. */
  get isInDoubt(): boolean {
    return this.#doubts > 0;
  }

  /** Writes the ledger with the revisions that it names. Whether it was written. */
  async save(ledger: Ledger): Promise<boolean> {
    const revisions = this.#revisions.entries(this.owner);
    const state: State = { ledger, source: this.source };
    const before = this.#stored;
    if (revisions === before.revisions && sameJson({ ...before.ledger }, { ...state })) return false;
    this.#stored = await this.#certainly(this.#store.write(before, { ledger: state, revisions }));
    return true;
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

export interface SessionsOptions {
  readonly ledgers: ApplicationLedgers;
  readonly revisions: RevisionStore;
  readonly confirmLeadership: () => Promise<boolean>;
  readonly mustStillExist: (key: string) => Promise<void>;
}

/** The applications that this process leads: each one's ledger, claimed before anything is done for it. */
export class Sessions {
  readonly #options: SessionsOptions;
  readonly #sessions = new Map<string, Session>();
  readonly #doubted = new Set<string>();

  constructor(options: SessionsOptions) {
    this.#options = options;
  }

  has(key: string): boolean {
    return this.#sessions.has(key);
  }

  async open(
    key: string,
    object: KubeObject,
    dispatched: () => readonly Dispatched[],
  ): Promise<Session | { readonly unreadable: string }> {
    const owner = ownerOf(object);
    const known = this.#sessions.get(key);
    if (known?.owner.uid === owner.uid) return known;
    const { ledgers, revisions, confirmLeadership, mustStillExist } = this.#options;
    if (this.#doubted.has(key) && !(await confirmLeadership())) {
      throw new Error(`another process holds the lease; nothing is done for ${key}`);
    }
    const fresh = async () => {
      await mustStillExist(key);
      // A ledger that was lost starts above the epochs that members show: an old one must prove nothing.
      const epoch = Math.max(0, ...dispatched().map(({ notes }) => epochNote(notes)));
      return { ledger: { ledger: { ...emptyLedger(), epoch }, source: null }, revisions: [] };
    };
    const claimed = await ledgers.claim(owner, fresh, () => dispatched().map(({ term }) => term));
    if (claimed.kind === "unreadable") return { unreadable: claimed.message };
    if (claimed.kind === "none") throw new Error(`the ledger of ${key} could not be claimed`);
    const session = new Session(ledgers, revisions, claimed.stored);
    this.#sessions.set(key, session);
    this.#doubted.delete(key);
    return session;
  }

  isInDoubt(key: string): boolean {
    return this.#sessions.get(key)?.isInDoubt ?? false;
  }

  doubt(key: string): void {
    this.#doubted.add(key);
    this.#sessions.delete(key);
  }

  forget(key: string): void {
    this.#sessions.delete(key);
    this.#doubted.delete(key);
  }
}
