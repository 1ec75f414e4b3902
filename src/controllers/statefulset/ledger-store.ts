import { SupersededError } from "../../engine/index.ts";
import {
  type Cache,
  ConflictError,
  type KubeClient,
  type KubeObject,
  NotFoundError,
  type ObjectName,
} from "../../kube/index.ts";
import { LEDGER_VERSION, type Ledger, LedgerUnreadable, parseLedger } from "../../plan/index.ts";
import { isJsonObject, type JsonObject } from "../../runtime/index.ts";
import { LEDGERS, OWN } from "./resources.ts";

export interface StoredLedger {
  readonly ledger: Ledger;
  readonly term: number;
  readonly object: KubeObject;
}

export type LedgerFound =
  | { readonly kind: "none" }
  | { readonly kind: "stored"; readonly stored: StoredLedger }
  /** There, but not readable by this version: nothing may be done until a person has looked. */
  | { readonly kind: "unreadable"; readonly message: string };

/** The ledger of each application, as an object of its own on the hub. Every write is a compare-and-swap. */
export class LedgerStore {
  readonly #client: KubeClient;
  readonly #cache: Cache<KubeObject>;

  constructor(client: KubeClient, cache: Cache<KubeObject>) {
    this.#client = client;
    this.#cache = cache;
  }

  find(name: ObjectName): LedgerFound {
    const object = this.#cache.get(name);
    return object ? readLedgerObject(object) : { kind: "none" };
  }

  /**
   * Takes the ledger over for a new leader: raises its term, so that whoever led before can write it no more. `fresh` is
   * what to begin with where there is none. What the cache holds is good enough to begin with: the write is a
   * compare-and-swap, and goes through only if nobody has written since.
   */
  async claim(name: ObjectName, fresh: () => Promise<Ledger>): Promise<LedgerFound> {
    const cached = this.#cache.get(name);
    const claimed = cached && (await this.#raiseTerm(name, cached).catch(undefinedIfOutdated));
    if (claimed) return claimed;
    const object = await this.#client.find(LEDGERS, name);
    if (object) return this.#raiseTerm(name, object);
    return this.#wrote(await this.#client.create(LEDGERS, ledgerObject(name, await fresh(), 1, undefined)));
  }

  /** Throws SupersededError when another leader has taken the ledger over. */
  async write(stored: StoredLedger, ledger: Ledger): Promise<StoredLedger> {
    const name = stored.object.metadata;
    try {
      const written = await this.#client.update(LEDGERS, ledgerObject(name, ledger, stored.term, stored.object));
      this.#cache.wrote(written);
      return { ledger, term: stored.term, object: written };
    } catch (error) {
      if (!(error instanceof ConflictError)) throw error;
      const now = await this.#client.find(LEDGERS, name);
      if (now) this.#cache.wrote(now);
      const foundTerm = now ? termOf(now) : 0;
      if (foundTerm > stored.term) {
        throw new SupersededError(`CrossClusterLedger ${name.namespace}/${name.name}`, stored.term, foundTerm);
      }
      throw error;
    }
  }

  /** Throws unless the ledger on the hub is still this leader's: whoever slept must not act on what it remembers. */
  async confirm(stored: StoredLedger): Promise<void> {
    const { metadata } = stored.object;
    const name = `CrossClusterLedger ${metadata.namespace}/${metadata.name}`;
    const now = await this.#client.find(LEDGERS, metadata);
    if (now && termOf(now) > stored.term) throw new SupersededError(name, stored.term, termOf(now));
    if (now?.metadata.uid !== metadata.uid) throw new Error(`${name} is gone; nothing is done on what it said`);
  }

  async remove(stored: StoredLedger): Promise<void> {
    const { uid } = stored.object.metadata;
    try {
      await this.#client.delete(LEDGERS, stored.object.metadata, uid === undefined ? {} : { preconditions: { uid } });
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
    }
    this.#cache.deleted(stored.object);
  }

  async #raiseTerm(name: ObjectName, object: KubeObject): Promise<LedgerFound> {
    const found = readLedgerObject(object);
    if (found.kind !== "stored") return found;
    const { ledger, term } = found.stored;
    return this.#wrote(await this.#client.update(LEDGERS, ledgerObject(name, ledger, term + 1, object)));
  }

  #wrote(object: KubeObject): LedgerFound {
    this.#cache.wrote(object);
    return readLedgerObject(object);
  }
}

/** The object that was read is not the one on the server any more. */
function undefinedIfOutdated(error: unknown): undefined {
  if (!(error instanceof ConflictError || error instanceof NotFoundError)) throw error;
}

function readLedgerObject(object: KubeObject): LedgerFound {
  const spec = isJsonObject(object.spec) ? object.spec : {};
  try {
    return { kind: "stored", stored: { ledger: parseLedger(spec.state), term: termOf(object), object } };
  } catch (error) {
    if (!(error instanceof LedgerUnreadable)) throw error;
    const name = `CrossClusterLedger ${object.metadata.namespace}/${object.metadata.name}`;
    return { kind: "unreadable", message: `${name} cannot be read: ${error.message}` };
  }
}

function termOf(object: KubeObject): number {
  const term = Number(object.metadata.annotations?.[OWN.term]);
  return Number.isSafeInteger(term) && term >= 0 ? term : 0;
}

function ledgerObject(name: ObjectName, ledger: Ledger, term: number, previous: KubeObject | undefined): KubeObject {
  return {
    ...previous,
    apiVersion: LEDGERS.apiVersion,
    kind: LEDGERS.kind,
    metadata: {
      ...previous?.metadata,
      name: name.name,
      ...(name.namespace !== undefined && { namespace: name.namespace }),
      annotations: { ...previous?.metadata.annotations, [OWN.term]: String(term) },
    },
    spec: { version: LEDGER_VERSION, state: ledger as unknown as JsonObject },
  };
}
