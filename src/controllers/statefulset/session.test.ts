import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type ClusterEntry, emptyLedger, type Ledger } from "../../plan/index.ts";
import { silentLog } from "../../runtime/index.ts";
import { LedgerStore } from "../common/ledger-store.ts";
import { LEDGERS } from "../common/resources.ts";
import { RevisionStore } from "../common/revisions/revision-store.ts";
import { TestHub } from "../testing/objects.ts";
import { STATEFULSET_LEDGERS } from "./ledger/ledger-format.ts";
import { Session } from "./session.ts";

let hub: TestHub;
let session: Session;

beforeEach(async () => {
  hub = new TestHub();
  const namespace = "lockstep-system";
  const store = new LedgerStore(STATEFULSET_LEDGERS, hub.client, await hub.cacheOf(LEDGERS), namespace);
  const owner = { namespace: "default", name: "web", uid: "uid-web" };
  const found = await hub.ask(store.claim(owner, async () => ({ ledger: ledger(), revisions: [] })));
  if (found.kind !== "stored") throw new Error(`claimed ${found.kind}`);
  const revisions = new RevisionStore({ client: hub.client, clock: hub.clock, log: silentLog, namespace });
  session = new Session(store, revisions, hub.clock, found.stored);
});

afterEach(() => hub.stop());

function ledger(changes: Partial<ClusterEntry> = {}): Ledger {
  const entry: ClusterEntry = {
    index: 0,
    clusterId: "a",
    start: 0,
    instances: [],
    highWater: 0,
    epoch: 0,
    grant: null,
    baseRevision: null,
    turn: "none",
    step: null,
    done: false,
    writtenAtMs: 0,
    ackedAtMs: null,
    openSinceMs: null,
    presence: { kind: "here" },
    reassertedAtMs: null,
    strandedSinceMs: null,
    votes: "counted",
    returned: false,
    staleVolumes: false,
    ...changes,
  };
  return { ...emptyLedger(), clusters: { member1: entry } };
}

const wait = (ms: number) => hub.clock.run(hub.clock.sleep(ms));
const writes = () => hub.writes().length;

describe("a session", () => {
  it("writes at once what the next leader needs", async () => {
    const before = writes();
    expect(await hub.ask(session.save(ledger({ epoch: 1 })))).toBe(true);
    expect(writes()).toBe(before + 1);
    expect(session.saveAfterMs).toBeUndefined();
  });

  it("uses new marks at once, and writes them after a while", async () => {
    const before = writes();
    expect(await hub.ask(session.save(ledger({ ackedAtMs: 1 })))).toBe(false);
    expect(session.ledger.clusters.member1?.ackedAtMs).toBe(1);
    expect(writes()).toBe(before);
    await wait(session.saveAfterMs ?? 0);
    expect(await hub.ask(session.save(session.ledger))).toBe(true);
    expect(writes()).toBe(before + 1);
    expect(session.saveAfterMs).toBeUndefined();
  });

  it("counts from the first mark that is not written, however many follow", async () => {
    await hub.ask(session.save(ledger({ ackedAtMs: 1 })));
    await wait((session.saveAfterMs ?? 0) / 2);
    expect(await hub.ask(session.save(ledger({ ackedAtMs: 1, openSinceMs: 2 })))).toBe(false);
    await wait(session.saveAfterMs ?? 0);
    expect(await hub.ask(session.save(ledger({ ackedAtMs: 1, openSinceMs: 2 })))).toBe(true);
  });

  it("writes marks along with the next thing that counts", async () => {
    await hub.ask(session.save(ledger({ ackedAtMs: 1 })));
    await hub.ask(session.save(ledger({ ackedAtMs: 1, turn: "held" })));
    const [stored] = hub.api.list(LEDGERS);
    expect(stored?.spec).toMatchObject({ state: { clusters: { member1: { ackedAtMs: 1, turn: "held" } } } });
  });

  it("has nothing to write when a mark went back to what is stored", async () => {
    await hub.ask(session.save(ledger({ openSinceMs: 1 })));
    await hub.ask(session.save(ledger()));
    expect(session.saveAfterMs).toBeUndefined();
  });

  it.each(["answer lost", "refused"] as const)("is in doubt when its write was %s, and only then", async (what) => {
    expect(session.isInDoubt).toBe(false);
    await hub.ask(session.save(ledger({ epoch: 1 })));
    expect(session.isInDoubt).toBe(false);
    hub.api.fault = ({ method }) => {
      if (method !== "PUT") return undefined;
      return what === "refused" ? { kind: "answer", status: 409 } : { kind: "lose", applied: true };
    };
    await expect(hub.ask(session.save(ledger({ epoch: 2 })))).rejects.toThrow();
    expect(session.isInDoubt).toBe(true);
    expect(session.ledger.clusters.member1?.epoch).toBe(1);
  });
});
