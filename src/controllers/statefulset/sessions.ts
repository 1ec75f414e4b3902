import type { Engine, EngineApp } from "../../engine/index.ts";
import type { KubeObject } from "../../kube/index.ts";
import { emptyLedger, type Ledger, rebuildLedger } from "../../plan/index.ts";
import type { Clock } from "../../runtime/index.ts";
import type { LedgerStore } from "../common/ledger-store.ts";
import { type Owner, ownerOf } from "../common/owner.ts";
import type { RevisionStore } from "../common/revisions/revision-store.ts";
import { grantsFound } from "./act/act.ts";
import { Session } from "./session.ts";

export interface SessionsOptions {
  readonly engine: Engine;
  readonly ledgers: LedgerStore<Ledger>;
  readonly revisions: RevisionStore;
  readonly clock: Clock;
  /** Reads the lease itself, and says whether this process still holds it. */
  readonly confirmLeadership: () => Promise<boolean>;
  /** Throws when the application's object is not there any more. */
  readonly mustStillExist: (key: string) => Promise<void>;
}

export type SessionFound =
  | { readonly kind: "led"; readonly session: Session }
  | { readonly kind: "unreadable"; readonly message: string };

/** The applications that this process leads: each one's ledger, claimed before anything is done for it. */
export class Sessions {
  readonly #options: SessionsOptions;
  readonly #sessions = new Map<string, Session>();
  /** Applications whose stored ledger was written by another process than this one expected. */
  readonly #doubted = new Set<string>();

  constructor(options: SessionsOptions) {
    this.#options = options;
  }

  has(key: string): boolean {
    return this.#sessions.has(key);
  }

  /** The open session for this object, by uid; not that of an earlier object of the same name. */
  of(key: string, owner: Owner): Session | undefined {
    const session = this.#sessions.get(key);
    return session?.owner.uid === owner.uid ? session : undefined;
  }

  async open(key: string, object: KubeObject, app: EngineApp): Promise<SessionFound> {
    const owner = ownerOf(object);
    const known = this.of(key, owner);
    if (known) return { kind: "led", session: known };
    const { engine, ledgers, revisions, clock, confirmLeadership, mustStillExist } = this.#options;
    // Another process may lead because this one was suspended, or an unknown client wrote the term. Only the lease
    // tells.
    if (this.#doubted.has(key) && !(await confirmLeadership())) {
      throw new Error(`another process holds the lease; nothing is done for ${key}`);
    }
    const fresh = async () => {
      await mustStillExist(key);
      const found = grantsFound(await engine.readDispatched(app), app, owner);
      const ledger = found.grants.length > 0 ? rebuildLedger(found.grants) : emptyLedger();
      return { ledger, revisions: found.revisions };
    };
    const terms = () => engine.dispatched(app).map(({ term }) => term);
    const claimed = await ledgers.claim(owner, fresh, terms);
    if (claimed.kind === "unreadable") return claimed;
    if (claimed.kind === "none") throw new Error(`the ledger of ${key} could not be claimed`);
    const session = new Session(ledgers, revisions, clock, claimed.stored);
    this.#sessions.set(key, session);
    this.#doubted.delete(key);
    return { kind: "led", session };
  }

  /**
   * The name of the managed object that the ledger remembers: a selector by label may find nothing any more, or
   * another.
   */
  recordedName(key: string, object: Parameters<typeof ownerOf>[0]): string | undefined {
    const owner = ownerOf(object);
    const session = this.of(key, owner);
    if (session) return session.ledger.identity?.app.name;
    const found = this.#options.ledgers.find(owner);
    return found.kind === "stored" ? found.stored.ledger.identity?.app.name : undefined;
  }

  /** Whether a write of the application's ledger has failed, or another leader's was found. */
  isInDoubt(key: string): boolean {
    return this.#sessions.get(key)?.isInDoubt ?? false;
  }

  /** The ledger has to be claimed again, after the lease was read from the server. */
  doubt(key: string): void {
    this.#doubted.add(key);
    this.#sessions.delete(key);
  }

  /** The next reconcile claims the ledger again. */
  close(key: string): void {
    this.#sessions.delete(key);
  }

  forget(key: string): void {
    this.#sessions.delete(key);
    this.#doubted.delete(key);
  }
}
