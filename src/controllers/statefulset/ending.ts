import type { Engine, EngineApp } from "../../engine/index.ts";
import { type KubeClient, type KubeObject, nameOfKey } from "../../kube/index.ts";
import type { Ledger, PlanResult } from "../../plan/index.ts";
import type { LedgerStore } from "../common/ledger-store.ts";
import { ownerOf } from "../common/owner.ts";
import { STATEFULSETS, withoutFinalizer } from "../common/resources.ts";
import type { RevisionStore } from "../common/revisions/revision-store.ts";
import type { Announcements } from "./report/announce.ts";
import type { Session } from "./session.ts";
import { isDeleting, type Subject } from "./subject.ts";

export interface EndingOptions {
  readonly hub: KubeClient;
  readonly engine: Engine;
  readonly ledgers: LedgerStore<Ledger>;
  readonly revisions: RevisionStore;
  readonly announcements: Announcements;
}

/** The last steps of an application: what Lockstep keeps for it is removed, and its object may go. */
export class Ending {
  readonly #options: EndingOptions;

  constructor(options: EndingOptions) {
    this.#options = options;
  }

  /**
   * What is kept for owners that are gone is removed by us: owner references do not reach from one namespace to
   * another.
   */
  async collect(key: string, object: KubeObject | undefined): Promise<void> {
    const { hub, ledgers, revisions } = this.#options;
    const { namespace = "", name } = nameOfKey(key);
    for (const ledger of ledgers.ofEarlierLives({ namespace, name }, object?.metadata.uid)) {
      const owner = ledgers.ownerOf(ledger);
      if (!owner) continue;
      // Owners and ledgers come from two watches: the owner may be too new for this cache.
      const now = await hub.find(STATEFULSETS, { namespace, name });
      if (now?.metadata.uid === owner.uid) continue;
      const found = ledgers.find(owner);
      if (found.kind === "stored") await revisions.removeAll(owner, found.stored.revisions);
      await ledgers.remove(ledger);
    }
  }

  /** Whether a release or teardown is over: nothing of ours is left, and the object may go. */
  async finish(subject: Subject, session: Session, result: PlanResult): Promise<boolean> {
    if (!isDeleting(subject)) return false;
    const { object, app } = subject;
    const { engine, revisions } = this.#options;
    if (!result.finished || engine.dispatched(app).length > 0) return false;
    await revisions.removeAll(ownerOf(object));
    await session.removeLedger();
    await this.letGo(object, app);
    return true;
  }

  /** Nothing of the application is left but its hold and its finalizer. */
  async letGo(object: KubeObject, app: EngineApp): Promise<void> {
    const { engine, hub, announcements } = this.#options;
    const unheld = await engine.unhold(app);
    if (unheld.kind === "kept") announcements.holdKept(object, app, unheld.hold);
    const freed = withoutFinalizer(object);
    if (freed) await hub.update(STATEFULSETS, freed);
  }
}
