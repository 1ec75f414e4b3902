import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { SupersededError } from "../../../engine/index.ts";
import { type Cache, ConflictError, type KubeObject } from "../../../kube/index.ts";
import { emptyLedger, type Ledger } from "../../../plan/index.ts";
import { type LedgerState, LedgerStore, type StoredLedger } from "../../common/ledger-store.ts";
import { LEDGERS, OWN } from "../../common/resources.ts";
import { TestHub } from "../../testing/objects.ts";
import { ledgerName, STATEFULSET_LEDGERS } from "./ledger-format.ts";

const OWNER = { namespace: "default", name: "web", uid: "uid-web" };
const SYSTEM = "lockstep-system";
const NAME = { namespace: SYSTEM, name: ledgerName(OWNER) };

let hub: TestHub;
let cache: Cache<KubeObject>;

beforeEach(async () => {
  hub = new TestHub();
  cache = await hub.cacheOf(LEDGERS);
});

afterEach(() => hub.stop());

async function claim(
  store: LedgerStore<Ledger>,
  fresh: LedgerState<Ledger> = stateOf(emptyLedger()),
): Promise<StoredLedger<Ledger>> {
  const found = await hub.ask(store.claim(OWNER, async () => fresh));
  if (found.kind !== "stored") throw new Error(`claimed ${found.kind}`);
  return found.stored;
}

/** A leader of its own, as another process would be. */
async function leader(): Promise<LedgerStore<Ledger>> {
  return new LedgerStore(STATEFULSET_LEDGERS, hub.anotherClient(), await hub.cacheOf(LEDGERS), SYSTEM);
}

/** Whatever happens, it shows this. */
function cacheStuckAt(object: KubeObject): Cache<KubeObject> {
  return Object.assign(Object.create(cache), { get: () => object, wrote: () => {}, defineIndex: () => {} });
}

function stateOf(ledger: Ledger): LedgerState<Ledger> {
  return { ledger, revisions: [] };
}

function grown(ledger: Ledger): LedgerState<Ledger> {
  return stateOf({ ...ledger, nextIndex: ledger.nextIndex + 1 });
}

describe("the ledger on the hub", () => {
  it("is made by the first claim, with term 1", async () => {
    const stored = await claim(new LedgerStore(STATEFULSET_LEDGERS, hub.client, cache, SYSTEM));
    expect(stored.term).toBe(1);
    expect(stored.ledger).toEqual(emptyLedger());
    expect(hub.api.list(LEDGERS)[0]?.metadata.annotations?.[OWN.term]).toBe("1");
  });

  it("keeps what it says when a new leader claims it, under a higher term", async () => {
    const first = new LedgerStore(STATEFULSET_LEDGERS, hub.client, cache, SYSTEM);
    await hub.ask(first.write(await claim(first), grown(emptyLedger())));
    const taken = await claim(await leader());
    expect(taken).toMatchObject({ term: 2, ledger: { nextIndex: 1 } });
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
    const taken = await claim(new LedgerStore(STATEFULSET_LEDGERS, hub.client, cacheStuckAt(object), SYSTEM));
    expect(taken).toMatchObject({ term: 2, ledger: { nextIndex: 1 } });
  });

  it("is recreated when the cache still shows one that was deleted", async () => {
    const { object: gone } = await claim(await leader());
    hub.api.remove(LEDGERS, NAME);
    const made = await claim(
      new LedgerStore(STATEFULSET_LEDGERS, hub.client, cacheStuckAt(gone), SYSTEM),
      grown(emptyLedger()),
    );
    expect(made).toMatchObject({ term: 1, ledger: { nextIndex: 1 } });
  });

  it("is claimed above the terms that its dispatch objects carry: terms never go back", async () => {
    const store = new LedgerStore(STATEFULSET_LEDGERS, hub.client, cache, SYSTEM);
    const claimed = async (dispatched: number[]) => {
      const found = await hub.ask(
        store.claim(
          OWNER,
          async () => stateOf(emptyLedger()),
          () => dispatched,
        ),
      );
      return found.kind === "stored" ? found.stored.term : found.kind;
    };
    expect(await claimed([7, 3])).toBe(8);
    expect(await claimed([2])).toBe(9);
    expect(await claimed([40])).toBe(41);
    // Named when that dispatch object is to be written, and no reason to lose the ledger.
    expect(await claimed([Number.POSITIVE_INFINITY])).toBe(42);
  });

  it.each(["9007199254740993", "1000000000000", "-1", "x"])(
    "with term %s is left alone, with the remedy",
    async (term) => {
      const [store, other] = [new LedgerStore(STATEFULSET_LEDGERS, hub.client, cache, SYSTEM), await leader()];
      const stored = await claim(store);
      const [object] = hub.api.list(LEDGERS);
      if (!object) throw new Error("no ledger");
      const annotations = { ...object.metadata.annotations, [OWN.term]: term };
      hub.api.put(LEDGERS, { ...object, metadata: { ...object.metadata, annotations } });
      await hub.clock.settle();
      const failure = await hub.ask(store.write(stored, grown(stored.ledger)).catch((error: unknown) => error));
      expect(failure).toBeInstanceOf(SupersededError);
      const found = await hub.ask(other.claim(OWNER, async () => stateOf(emptyLedger())));
      expect(found.kind === "unreadable" && found.message).toContain(
        `kubectl annotate crossclusterledger ${NAME.name} -n ${SYSTEM} lockstep.karmada.io/term=0 --overwrite`,
      );
      expect(hub.api.list(LEDGERS)[0]?.metadata.annotations?.[OWN.term]).toBe(term);
    },
  );

  it("cannot be written any more by the leader before, who learns that it is another's", async () => {
    const first = await leader();
    const stored = await claim(first);
    await claim(await leader());
    const write = first.write(stored, grown(stored.ledger)).catch((error: unknown) => error);
    const failure = await hub.ask(write);
    expect(failure).toBeInstanceOf(SupersededError);
    expect(hub.api.list(LEDGERS)[0]?.spec).toMatchObject({ state: { nextIndex: emptyLedger().nextIndex } });
  });

  it("is confirmed for the current leader, but not for the previous leader and not after it was deleted", async () => {
    const first = await leader();
    const stored = await claim(first);
    await hub.ask(first.confirm(stored));
    await claim(await leader());
    expect(await hub.ask(first.confirm(stored).catch((error: unknown) => error))).toBeInstanceOf(SupersededError);
    hub.api.remove(LEDGERS, NAME);
    const failure = await hub.ask(first.confirm(stored).catch((error: unknown) => error));
    expect(failure).toMatchObject({
      message: expect.stringContaining("the ledger of CrossClusterStatefulset default/web is gone"),
    });
  });

  it("that a user edited under the same term is a conflict, not another leader", async () => {
    const store = new LedgerStore(STATEFULSET_LEDGERS, hub.client, cache, SYSTEM);
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
      spec: { version: 99, owner: OWNER, state: { version: 99 } },
    });
    const before = hub.writes().length;
    const found = await hub.ask(
      new LedgerStore(STATEFULSET_LEDGERS, hub.client, cache, SYSTEM).claim(OWNER, async () => stateOf(emptyLedger())),
    );
    expect(found).toMatchObject({ kind: "unreadable" });
    expect(found.kind === "unreadable" && found.message).toContain("the ledger of CrossClusterStatefulset default/web");
    expect(hub.writes()).toHaveLength(before);
  });

  it("goes when its application goes, and only that very one", async () => {
    const store = new LedgerStore(STATEFULSET_LEDGERS, hub.client, cache, SYSTEM);
    await hub.ask(store.remove((await claim(store)).object));
    expect(hub.api.list(LEDGERS)).toEqual([]);
    expect(store.find(OWNER)).toEqual({ kind: "none" });
  });

  it("is another one for each life of an object, and never believed for another owner", async () => {
    const store = new LedgerStore(STATEFULSET_LEDGERS, hub.client, cache, SYSTEM);
    const { object } = await claim(store);
    const reborn = { ...OWNER, uid: "uid-of-the-next-life" };
    expect(store.find(reborn)).toEqual({ kind: "none" });
    expect(store.ofEarlierLives(OWNER, reborn.uid).map(({ metadata }) => metadata.name)).toEqual([NAME.name]);
    expect(store.ofEarlierLives(OWNER, OWNER.uid)).toEqual([]);
    hub.api.put(LEDGERS, { ...object, metadata: { namespace: SYSTEM, name: ledgerName(reborn) } });
    const found = await hub.ask(store.claim(reborn, async () => stateOf(emptyLedger())));
    expect(found).toMatchObject({ kind: "unreadable", message: expect.stringContaining("spec.owner") });
  });

  it("keeps which content each revision has, and refuses a list that it cannot read", async () => {
    const store = new LedgerStore(STATEFULSET_LEDGERS, hub.client, cache, SYSTEM);
    const entry = {
      id: "web-1",
      number: 1,
      digest: "a".repeat(64),
      meaning: "b".repeat(64),
      parts: 1,
      createdAt: "2030-01-01T00:00:00Z",
      accepted: false,
    };
    const stored = await claim(store);
    await hub.ask(store.write(stored, { ledger: stored.ledger, revisions: [entry] }));
    expect(await claim(await leader())).toMatchObject({ revisions: [entry] });
    const [object] = hub.api.list(LEDGERS);
    if (!object) throw new Error("no ledger");
    hub.api.put(LEDGERS, { ...object, spec: { ...(object.spec as object), revisions: [{ ...entry, digest: "" }] } });
    const found = await hub.ask((await leader()).claim(OWNER, async () => stateOf(emptyLedger())));
    expect(found).toMatchObject({ kind: "unreadable", message: expect.stringContaining("spec.revisions") });
  });
});
