import { describe, expect, it } from "vitest";
import { Bench } from "../check/testing/bench.ts";
import { rollingUpdate, testIntent } from "../check/testing/intent.ts";
import { plan } from "../plan.ts";
import type { Intent } from "../types/index.ts";
import { LedgerUnreadable } from "./decode.ts";
import { emptyLedger, parseLedger } from "./ledger.ts";

function running(edit: Partial<Intent> = {}): Bench {
  const bench = new Bench(testIntent({ a: 2, b: 2, c: 1 }, { podManagementPolicy: "Parallel", ...edit }));
  bench.run();
  return bench;
}

describe("reading a ledger", () => {
  it("[R2] what was written is what is read", () => {
    const { ledger } = running();
    expect(parseLedger(JSON.parse(JSON.stringify(ledger)))).toEqual(ledger);
    expect(parseLedger(JSON.parse(JSON.stringify(emptyLedger())))).toEqual(emptyLedger());
  });

  it.each([
    ["version", { version: 2 }],
    ["clusters.a.grant.epoch", { clusters: { a: { grant: { epoch: -1 } } } }],
    ["clusters.a.turn", { clusters: { a: { turn: "maybe" } } }],
    ["nextIndex", { nextIndex: "3" }],
    ["topologies.1.a", { topologies: { "1": { a: "0-x" } } }],
    ["currentRevision", { currentRevision: 7 }],
  ])("a wrong %s is named", (field, edit) => {
    const ledger: unknown = merge(JSON.parse(JSON.stringify(running().ledger)), edit);
    const read = () => parseLedger(ledger);
    expect(read).toThrow(LedgerUnreadable);
    expect(read).toThrow(field);
  });

  it("a cluster called __proto__ is a cluster like any other", () => {
    const text = JSON.stringify(running().ledger).replace('"clusters":{"a"', '"clusters":{"__proto__"');
    const ledger = parseLedger(JSON.parse(text));
    expect(Object.keys(ledger.clusters)).toContain("__proto__");
    expect(Object.getPrototypeOf(ledger.clusters)).toBe(Object.prototype);
  });
});

describe("rebuilding a ledger", () => {
  it("[I9] no identity and no grant is lost, and nothing moves because of it", () => {
    const bench = running();
    const before = bench.last?.grants;
    bench.rebuild();
    const result = bench.plan();
    expect(result.grants).toEqual(before);
    expect(result.steps).toEqual([]);
    expect(bench.ledger.currentRevision).toBe("A");
  });

  it("[I9] nothing counts as done or acknowledged before it is seen", () => {
    const bench = running();
    bench.rebuild();
    const { ledger } = bench;
    expect(Object.values(ledger.clusters).map(({ done, turn, ackedAtMs }) => ({ done, turn, ackedAtMs }))).toEqual(
      [1, 2, 3].map(() => ({ done: false, turn: "returning", ackedAtMs: null })),
    );
    // Without a snapshot, an update starts nowhere.
    bench.intent.revision = { kind: "ready", id: "B" };
    expect(plan(bench.intent, ledger, { clusters: {} }, 0).steps).toEqual([]);
  });

  it("[I9] a step in progress continues after the ledger was rebuilt", () => {
    const bench = running();
    bench.intent.revision = { kind: "ready", id: "B" };
    bench.plan();
    bench.deliver();
    bench.rebuild();
    expect(bench.plan().steps).toEqual([]);
    bench.settle();
    bench.run();
    expect(bench.last?.figures.currentRevision).toBe("B");
  });

  it("[I9] [C6] a rebuilt ledger shrinks nothing until the schedule has wanted all of it", () => {
    const bench = running();
    bench.rebuild();
    bench.intent.schedule = { kind: "known", source: "engine", clusters: [{ cluster: "a", replicas: 2 }] };
    bench.run();
    expect(bench.last?.waiting.map(({ code }) => code)).toEqual(["ReturnedNotScheduled", "ReturnedNotScheduled"]);
  });

  it("[F7] [I9] an undo that was carried out is not carried out again", () => {
    const bench = running();
    bench.intent.revision = { kind: "ready", id: "B" };
    bench.run();
    bench.intent.requests = { ...bench.intent.requests, undo: { id: "1", to: "A" } };
    bench.run();
    bench.intent.revision = { kind: "ready", id: "C" };
    bench.run();
    bench.rebuild();
    bench.run();
    expect(bench.last?.figures.targetRevision).toBe("C");
  });

  it("[I9] [D7] an adoption that waits for a user to resume still waits after the ledger was rebuilt", () => {
    const baseline = { revision: "A", replicas: 1, start: 0 };
    const bench = new Bench(
      testIntent(
        { a: 1 },
        { identity: { mode: "PerCluster", blockSize: 100, clusterIds: {} }, baselines: { a: baseline } },
      ),
    );
    bench.intent.revision = { kind: "ready", id: "B" };
    bench.member("a").runUnmanaged(1);
    bench.run();
    expect(bench.ledger.halt?.code).toBe("AdoptedWithDifferences");
    bench.rebuild();
    expect(bench.run()).toEqual([]);
    expect(bench.last?.waiting.map(({ code }) => code)).toEqual(["AdoptedWithDifferences"]);
    bench.intent.requests = { ...bench.intent.requests, resume: "looked at it" };
    expect(bench.run().map(({ kind }) => kind)).toContain("update");
  });

  it("[D7] nothing that was adopted is removed before a user confirms, even if it holds no instance", () => {
    const identity = { mode: "PerCluster" as const, blockSize: 100, clusterIds: {} };
    const baselines = { a: { revision: "A", replicas: 1, start: 0 }, b: { revision: "A", replicas: 0, start: 0 } };
    const bench = new Bench(testIntent({ a: 1, b: 1 }, { identity, baselines }));
    bench.member("a").runUnmanaged(1);
    bench.member("b").runUnmanaged(0);
    bench.run();
    expect(bench.last?.actions).toEqual([]);
    expect(bench.ledger).toMatchObject({ halt: { code: "AdoptedWithDifferences" }, clusters: { b: { done: true } } });
    bench.intent.fleet.b = { state: "Gone", sinceMs: bench.nowMs };
    bench.intent.requests = { ...bench.intent.requests, confirmedLost: ["b"] };
    bench.intent.schedule = { kind: "known", source: "explicit", clusters: [{ cluster: "a", replicas: 2 }] };
    expect(bench.run()).toEqual([]);
    expect(bench.ledger).toMatchObject({ halt: { code: "AdoptedWithDifferences" }, clusters: { b: { grant: null } } });
    bench.intent.requests = { ...bench.intent.requests, resume: "looked at it" };
    expect(bench.run().map(({ cluster, kind }) => `${cluster} ${kind}`)).toContain("a grow");
  });

  it("[I9] [I5] volumes of instances that are gone are remembered", () => {
    const bench = running({ identity: { mode: "Blocks", blockSize: 100, clusterIds: {}, reuseVolumes: false } });
    const sized = (replicas: number) => {
      const clusters = [
        { cluster: "a", replicas },
        { cluster: "b", replicas: 2 },
        { cluster: "c", replicas: 1 },
      ];
      bench.intent.schedule = { kind: "known", source: "explicit", clusters };
    };
    sized(1);
    bench.run();
    bench.rebuild();
    bench.run();
    sized(2);
    bench.run();
    expect(bench.last?.waiting.map(({ code }) => code)).toEqual(["VolumeSurvives"]);
  });

  it("[I9] a halt that nothing was written for is forgotten, and comes back on the same evidence", () => {
    const bench = running();
    bench.intent.revision = { kind: "ready", id: "B" };
    bench.plan();
    bench.deliver();
    bench.plan();
    bench.wait(600);
    bench.plan();
    expect(bench.ledger.halt?.code).toBe("ProgressDeadlineExceeded");
    bench.rebuild();
    bench.plan();
    expect(bench.ledger.halt).toBeNull();
    bench.wait(600);
    bench.plan();
    expect(bench.ledger.halt?.code).toBe("ProgressDeadlineExceeded");
    expect(Object.values(bench.ledger.clusters).map(({ grant }) => grant?.revision)).toEqual(["A", "A", "B"]);
  });

  it("an index of a drained cluster is not given to another", () => {
    const bench = running();
    bench.intent.schedule = {
      kind: "known",
      source: "explicit",
      clusters: [
        { cluster: "a", replicas: 2 },
        { cluster: "b", replicas: 2 },
      ],
    };
    bench.run();
    bench.rebuild();
    bench.intent.fleet.d = { state: "Ready" };
    bench.intent.schedule = {
      ...bench.intent.schedule,
      clusters: [...bench.intent.schedule.clusters, { cluster: "d", replicas: 1 }],
    };
    bench.run();
    expect(bench.ledger.clusters.d?.start).toBe(300);
  });
});

it("a ledger that an earlier version wrote is read, and changes no cluster", () => {
  const bench = running();
  bench.intent.revision = { kind: "ready", id: "B" };
  bench.intent.update = rollingUpdate();
  bench.plan();
  const stored = JSON.parse(JSON.stringify(bench.ledger));
  // What later versions added.
  for (const entry of Object.values<Record<string, unknown>>(stored.clusters)) {
    delete entry.presence;
    delete entry.votes;
    Object.assign(entry, { awaySinceMs: null, lostAtMs: null, removedByLoss: false });
    if (entry.step) delete (entry.step as Record<string, unknown>).down;
  }
  bench.ledger = parseLedger(stored);
  const { steps, grants } = bench.plan();
  expect(steps).toEqual([]);
  expect(grants.filter(({ processor }) => processor)).toHaveLength(1);
});

it("[G14] a ledger older than what was dispatched goes above the live epoch", () => {
  const bench = running();
  const old = bench.ledger;
  bench.intent.revision = { kind: "ready", id: "B" };
  bench.intent.update = rollingUpdate();
  bench.run();
  const live = bench.ledger.clusters.c?.grant?.epoch ?? 0;
  bench.ledger = old;
  bench.plan();
  expect(bench.ledger.clusters.c?.grant?.epoch).toBeGreaterThan(live);
});

function merge(target: unknown, edit: unknown): unknown {
  if (typeof target !== "object" || target === null || typeof edit !== "object" || edit === null) return edit;
  const merged: Record<string, unknown> = { ...target };
  for (const [key, value] of Object.entries(edit)) merged[key] = merge(merged[key], value);
  return merged;
}

it.each([
  [{ awaySinceMs: null, lostAtMs: null, removedByLoss: false }, { kind: "here" }, "counted"],
  [
    { awaySinceMs: 5, blind: true, lostAtMs: null, removedByLoss: false },
    { kind: "away", sinceMs: 5, isBlind: true },
    "counted",
  ],
  [{ awaySinceMs: 5, lostAtMs: 9, removedByLoss: true }, { kind: "lost", sinceMs: 5, atMs: 9 }, "givenUp"],
  [{ awaySinceMs: null, lostAtMs: null, removedByLoss: true, unlisted: true }, { kind: "here" }, "unlisted"],
])("flags of an earlier version are read as presence and votes: %j", (flags, presence, votes) => {
  const stored = JSON.parse(JSON.stringify(running().ledger));
  const { presence: _, votes: __, ...rest } = stored.clusters.a;
  stored.clusters.a = { ...rest, ...flags };
  const read = parseLedger(stored);
  expect(read.clusters.a).toMatchObject({ presence, votes });
  expect(parseLedger(JSON.parse(JSON.stringify(read)))).toEqual(read);
});
