import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { SupersededError } from "../../engine/index.ts";
import { type Cache, ConflictError, type KubeObject } from "../../kube/index.ts";
import { emptyLedger, type Ledger } from "../../plan/index.ts";
import { LedgerStore, type StoredLedger } from "./ledger-store.ts";
import { LEDGERS, OWN } from "./resources.ts";
import { TestHub } from "./testing/objects.ts";

const NAME = { namespace: "default", name: "web" };

let hub: TestHub;
let cache: Cache<KubeObject>;

beforeEach(async () => {
  hub = new TestHub();
  cache = await hub.cacheOf(LEDGERS);
});

afterEach(() => hub.stop());

async function claim(store: LedgerStore, fresh = emptyLedger()): Promise<StoredLedger> {
  const found = await hub.ask(store.claim(NAME, async () => fresh));
  if (found.kind !== "stored") throw new Error(`claimed ${found.kind}`);
  return found.stored;
}

/** A leader of its own, as another process would be. */
async function leader(): Promise<LedgerStore> {
  return new LedgerStore(hub.anotherClient(), await hub.cacheOf(LEDGERS));
}

/** Whatever happens, it shows this. */
function cacheStuckAt(object: KubeObject): Cache<KubeObject> {
  return Object.assign(Object.create(cache), { get: () => object, wrote: () => {} });
}

function grown(ledger: Ledger): Ledger {
  return { ...ledger, nextIndex: ledger.nextIndex + 1 };
}

describe("the ledger on the hub", () => {
  it("is made by the first claim, with term 1", async () => {
    const stored = await claim(new LedgerStore(hub.client, cache));
    expect(stored.term).toBe(1);
    expect(stored.ledger).toEqual(emptyLedger());
    expect(hub.api.list(LEDGERS)[0]?.metadata.annotations?.[OWN.term]).toBe("1");
  });

  it("keeps what it says when a new leader claims it, under a higher term", async () => {
    const first = new LedgerStore(hub.client, cache);
    await hub.ask(first.write(await claim(first), grown(emptyLedger())));
    const taken = await claim(await leader());
    expect(taken).toMatchObject({ term: 2, ledger: { nextIndex: grown(emptyLedger()).nextIndex } });
  });

  it("is claimed with a single write where the cache has it", async () => {
    await claim(await leader());
    const second = await leader();
    const before = hub.api.requests.length;
    await claim(second);
    const methods = hub.api.requests.slice(before).map(({ method }) => method);
    expect(methods).toEqual(["PUT"]);
  });

  it("is claimed as it is on the server although the cache is behind", async () => {
    const first = await leader();
    const stored = await claim(first);
    const [object] = hub.api.list(LEDGERS);
    if (!object) throw new Error("no ledger");
    await hub.ask(first.write(stored, grown(stored.ledger)));
    const taken = await claim(new LedgerStore(hub.client, cacheStuckAt(object)));
    expect(taken).toMatchObject({ term: 2, ledger: { nextIndex: grown(emptyLedger()).nextIndex } });
  });

  it("is made anew when the cache still shows one that is gone", async () => {
    const { object: gone } = await claim(await leader());
    hub.api.remove(LEDGERS, NAME);
    const made = await claim(new LedgerStore(hub.client, cacheStuckAt(gone)), grown(emptyLedger()));
    expect(made).toMatchObject({ term: 1, ledger: { nextIndex: grown(emptyLedger()).nextIndex } });
  });

  it("cannot be written any more by the leader before: its write ends that leadership", async () => {
    const first = await leader();
    const stored = await claim(first);
    await claim(await leader());
    const write = first.write(stored, grown(stored.ledger)).catch((error: unknown) => error);
    const failure = await hub.ask(write);
    expect(failure).toBeInstanceOf(SupersededError);
    expect(hub.api.list(LEDGERS)[0]?.spec).toMatchObject({ state: { nextIndex: emptyLedger().nextIndex } });
  });

  it("is confirmed for whoever leads, and neither for the leader before nor when it is gone", async () => {
    const first = await leader();
    const stored = await claim(first);
    await hub.ask(first.confirm(stored));
    await claim(await leader());
    expect(await hub.ask(first.confirm(stored).catch((error: unknown) => error))).toBeInstanceOf(SupersededError);
    hub.api.remove(LEDGERS, NAME);
    const failure = await hub.ask(first.confirm(stored).catch((error: unknown) => error));
    expect(failure).toMatchObject({ message: expect.stringContaining("CrossClusterLedger default/web is gone") });
  });

  it("that somebody edited under the same term is a conflict, not another leader", async () => {
    const store = new LedgerStore(hub.client, cache);
    const stored = await claim(store);
    const [object] = hub.api.list(LEDGERS);
    if (!object) throw new Error("no ledger");
    hub.api.put(LEDGERS, { ...object, metadata: { ...object.metadata, labels: { edited: "yes" } } });
    const failure = await hub.ask(store.write(stored, grown(stored.ledger)).catch((error: unknown) => error));
    expect(failure).toBeInstanceOf(ConflictError);
  });

  it("of a later version is left alone, and says so", async () => {
    hub.api.put(LEDGERS, {
      apiVersion: LEDGERS.apiVersion,
      kind: LEDGERS.kind,
      metadata: NAME,
      spec: { version: 99, state: { version: 99 } },
    });
    const before = hub.writes().length;
    const found = await hub.ask(new LedgerStore(hub.client, cache).claim(NAME, async () => emptyLedger()));
    expect(found).toMatchObject({ kind: "unreadable" });
    expect(found.kind === "unreadable" && found.message).toContain("CrossClusterLedger default/web");
    expect(hub.writes()).toHaveLength(before);
  });

  it("goes when its application goes, and only that very one", async () => {
    const store = new LedgerStore(hub.client, cache);
    await hub.ask(store.remove(await claim(store)));
    expect(hub.api.list(LEDGERS)).toEqual([]);
    expect(store.find(NAME)).toEqual({ kind: "none" });
  });
});
