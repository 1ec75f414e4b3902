import { nextTerm, readTerm, SupersededError } from "../../../engine/index.ts";
import { type Cache, ConflictError, type KubeClient, type KubeObject, NotFoundError } from "../../../kube/index.ts";
import { LEDGER_VERSION, type Ledger, LedgerUnreadable, packLedger, parseLedger } from "../../../plan/index.ts";
import { isJsonObject, type Json } from "../../../runtime/index.ts";
import { isSameOwner, type Owner, ownerId } from "../../common/owner.ts";
import { LEDGERS, OWN } from "../../common/resources.ts";
import { parseRevisionIndex, type RevisionEntry, revisionIndexJson } from "../../common/revisions/revision-index.ts";

/** What a ledger object says: the planner's memory, and which content each revision has. */
export interface LedgerState {
  readonly ledger: Ledger;
  readonly revisions: readonly RevisionEntry[];
}

export interface StoredLedger extends LedgerState {
  readonly term: number;
  readonly owner: Owner;
  readonly object: KubeObject;
}

export type LedgerFound =
  | { readonly kind: "none" }
  | { readonly kind: "stored"; readonly stored: StoredLedger }
  /** There, but not readable by this version: nothing may be done until a person has looked. */
  | { readonly kind: "unreadable"; readonly message: string };

/** The ledger of each application, as an object in Lockstep's own namespace. Every write is a compare-and-swap. */
export class LedgerStore {
  readonly #client: KubeClient;
  readonly #cache: Cache<KubeObject>;
  readonly #namespace: string;

  constructor(client: KubeClient, cache: Cache<KubeObject>, namespace: string) {
    this.#client = client;
    this.#cache = cache;
    this.#namespace = namespace;
    cache.defineIndex("app", (object) => {
      const owner = ledgerOwner(object);
      return owner ? [appIndexKey(owner)] : [];
    });
  }

  find(owner: Owner): LedgerFound {
    const object = this.#cache.get(this.#nameOf(owner));
    return object ? readLedgerObject(object, owner) : { kind: "none" };
  }

  /** Ledgers of earlier objects of the same name: their owners were deleted, so they have to be deleted, too. */
  ofEarlierLives(owner: Pick<Owner, "namespace" | "name">, uid: string | undefined): KubeObject[] {
    return this.#cache.byIndex("app", appIndexKey(owner)).filter((object) => ledgerOwner(object)?.uid !== uid);
  }

  /**
   * Takes the ledger over for a new leader: raises its term, so that the previous leader can no longer write it. If
   * there is no ledger, it starts as `fresh`. The cached ledger is good enough to start from: the write is a
   * compare-and-swap and succeeds only if the ledger has not changed since. `dispatched`: the terms that its dispatch
   * objects carry. Terms never decrease: a ledger that was restored or recreated gets a higher term than any of these.
   */
  async claim(
    owner: Owner,
    fresh: () => Promise<LedgerState>,
    dispatched: () => readonly number[] = () => [],
  ): Promise<LedgerFound> {
    const name = this.#nameOf(owner);
    const cached = this.#cache.get(name);
    const claimed = cached && (await this.#raiseTerm(owner, cached, dispatched()).catch(undefinedIfOutdated));
    if (claimed) return claimed;
    const object = await this.#client.find(LEDGERS, name);
    if (object) return this.#raiseTerm(owner, object, dispatched());
    const state = await fresh();
    const term = nextTerm(...dispatched().filter(Number.isFinite));
    if (term === undefined) return outOfRange(name);
    const created = await this.#client.create(LEDGERS, this.#object(owner, state, term, undefined));
    return this.#wrote(created, owner);
  }

  /** Throws SupersededError when another leader has taken the ledger over. */
  async write(stored: StoredLedger, state: LedgerState): Promise<StoredLedger> {
    const { owner, term, object } = stored;
    try {
      const written = await this.#client.update(LEDGERS, this.#object(owner, state, term, object));
      this.#cache.wrote(written);
      return { ...state, owner, term, object: written };
    } catch (error) {
      if (!(error instanceof ConflictError)) throw error;
      const now = await this.#client.find(LEDGERS, object.metadata);
      if (now) this.#cache.wrote(now);
      const foundTerm = now ? termOf(now) : 0;
      if (foundTerm > term) throw new SupersededError(title(owner), term, foundTerm);
      throw error;
    }
  }

  /**
   * Throws unless the ledger on the hub is still this leader's: a leader that was suspended must not act on old data.
   */
  async confirm({ owner, term, object }: StoredLedger): Promise<void> {
    const now = await this.#client.find(LEDGERS, object.metadata);
    if (now && termOf(now) > term) throw new SupersededError(title(owner), term, termOf(now));
    if (now?.metadata.uid !== object.metadata.uid) {
      throw new Error(`${title(owner)} is gone; nothing is done on what it said`);
    }
  }

  async remove(object: KubeObject): Promise<void> {
    const { uid } = object.metadata;
    try {
      await this.#client.delete(LEDGERS, object.metadata, uid === undefined ? {} : { preconditions: { uid } });
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
    }
    this.#cache.deleted(object);
  }

  async #raiseTerm(owner: Owner, object: KubeObject, dispatched: readonly number[]): Promise<LedgerFound> {
    const found = readLedgerObject(object, owner);
    if (found.kind !== "stored") return found;
    // A dispatch object with an impossible term is reported when it has to be written.
    const term = nextTerm(found.stored.term, ...dispatched.filter(Number.isFinite));
    if (term === undefined) return outOfRange(object.metadata);
    const written = await this.#client.update(LEDGERS, this.#object(owner, found.stored, term, object));
    return this.#wrote(written, owner);
  }

  #wrote(object: KubeObject, owner: Owner): LedgerFound {
    this.#cache.wrote(object);
    return readLedgerObject(object, owner);
  }

  #nameOf(owner: Owner) {
    return { namespace: this.#namespace, name: ledgerName(owner) };
  }

  #object(owner: Owner, state: LedgerState, term: number, previous: KubeObject | undefined): KubeObject {
    return {
      ...previous,
      apiVersion: LEDGERS.apiVersion,
      kind: LEDGERS.kind,
      metadata: {
        ...previous?.metadata,
        ...this.#nameOf(owner),
        annotations: { ...previous?.metadata.annotations, [OWN.term]: String(term) },
      },
      spec: {
        version: LEDGER_VERSION,
        owner: { kind: "CrossClusterStatefulset", namespace: owner.namespace, name: owner.name, uid: owner.uid },
        state: packLedger(state.ledger),
        revisions: revisionIndexJson(state.revisions),
      },
    };
  }
}

export function ledgerName(owner: Owner): string {
  return `ccs-${ownerId(owner)}`;
}

/** The CrossClusterStatefulset that a ledger object is about. */
export function ledgerOwner({ spec }: KubeObject): Owner | undefined {
  const owner: Json | undefined = isJsonObject(spec) ? spec.owner : undefined;
  if (!isJsonObject(owner)) return undefined;
  const { namespace, name, uid } = owner;
  if (typeof namespace !== "string" || typeof name !== "string" || typeof uid !== "string") return undefined;
  return { namespace, name, uid };
}

/** The revisions that a ledger object names, and whose they are. Undefined: it cannot be read. */
export function readStoredRevisions(object: KubeObject) {
  const owner = ledgerOwner(object);
  const revisions = isJsonObject(object.spec) ? parseRevisionIndex(object.spec.revisions) : undefined;
  return owner && revisions ? { owner, revisions } : undefined;
}

function appIndexKey({ namespace, name }: Pick<Owner, "namespace" | "name">): string {
  return `${namespace}/${name}`;
}

function title({ namespace, name }: Owner): string {
  return `the ledger of CrossClusterStatefulset ${namespace}/${name}`;
}

/** The object that was read is not the one on the server any more. */
function undefinedIfOutdated(error: unknown): undefined {
  if (!(error instanceof ConflictError || error instanceof NotFoundError)) throw error;
}

function readLedgerObject(object: KubeObject, owner: Owner): LedgerFound {
  if (!Number.isFinite(termOf(object))) return outOfRange(object.metadata);
  const spec = isJsonObject(object.spec) ? object.spec : {};
  const where = `CrossClusterLedger ${object.metadata.namespace}/${object.metadata.name}`;
  const unreadable = (why: string): LedgerFound => ({
    kind: "unreadable",
    message: `${title(owner)} (${where}) cannot be read: ${why}`,
  });
  const found = ledgerOwner(object);
  if (!found || !isSameOwner(found, owner)) return unreadable("spec.owner names another object");
  const revisions = parseRevisionIndex(spec.revisions);
  if (!revisions) {
    return unreadable("spec.revisions is not a list of revisions; restore the ledger, or delete it to have it rebuilt");
  }
  try {
    const ledger = parseLedger(spec.state);
    return { kind: "stored", stored: { ledger, revisions, owner, term: termOf(object), object } };
  } catch (error) {
    if (!(error instanceof LedgerUnreadable)) throw error;
    return unreadable(error.message);
  }
}

/** From 0 it is claimed above all that its dispatch objects carry. */
function outOfRange({ namespace, name }: Pick<KubeObject["metadata"], "namespace" | "name">): LedgerFound {
  const message =
    `CrossClusterLedger ${namespace}/${name} carries a term in ${OWN.term} that no leader gave, or ` +
    "the last one there is; " +
    `find out who wrote it, then: kubectl annotate crossclusterledger ${name} -n ${namespace} ` +
    `${OWN.term}=0 --overwrite`;
  return { kind: "unreadable", message };
}

function termOf(object: KubeObject): number {
  return readTerm(object.metadata.annotations?.[OWN.term]);
}
