import { describe, expect, it } from "vitest";
import { Bench } from "../check/testing/bench.ts";
import { testIntent } from "../check/testing/intent.ts";
import { parseLedger } from "../ledger/ledger.ts";

function undone(): Bench {
  const bench = new Bench(testIntent({ a: 1, b: 1, c: 1 }, { podManagementPolicy: "Parallel" }));
  settle(bench);
  bench.intent.revision = { kind: "ready", id: "B" };
  settle(bench);
  bench.intent.requests = { ...bench.intent.requests, undo: { id: "1", to: "A" } };
  settle(bench);
  return bench;
}

function settle(bench: Bench): void {
  bench.settle();
  for (let round = 0; round < 40; round++) {
    const { steps } = bench.plan();
    bench.settle();
    if (steps.length === 0) return;
  }
  throw new Error("it does not settle");
}

describe("[F6] an override in a ledger of an earlier version, which knew it by its revision alone", () => {
  const old = (bench: Bench) => {
    const { digest: _digest, restart: _restart, ...override } = bench.ledger.override ?? {};
    const { history: _history, ...ledger } = bench.ledger;
    return parseLedger(JSON.parse(JSON.stringify({ ...ledger, override })));
  };

  it("is read, holds while the template is that revision, and learns what its content is", () => {
    const bench = undone();
    bench.ledger = old(bench);
    expect(bench.ledger.override).toMatchObject({ to: "A", template: "B", digest: null, restart: null });
    bench.intent.revision = { kind: "ready", id: "B", own: { digest: "b", restart: "t" } };
    settle(bench);
    expect(bench.ledger.override).toMatchObject({ to: "A", template: "B", digest: "b", restart: "t" });
    bench.intent.revision = { kind: "ready", id: "B2", own: { digest: "b", restart: "t" } };
    settle(bench);
    expect(bench.ledger.override?.to).toBe("A");
  });

  it("ends when the template is another revision by then", () => {
    const bench = undone();
    bench.ledger = old(bench);
    bench.intent.revision = { kind: "ready", id: "C" };
    settle(bench);
    expect(bench.ledger.override).toBeNull();
  });
});

describe("[F6] an undo that is requested before the template's revision is made", () => {
  const pendingUndo = () => {
    const bench = undone();
    bench.intent.revision = { kind: "pending", id: "", message: "settling, 2 s" };
    bench.intent.requests = { ...bench.intent.requests, undo: { id: "2", to: "A" } };
    settle(bench);
    return bench;
  };

  it("holds for whatever the template turns out to be", () => {
    const bench = pendingUndo();
    expect(bench.last?.figures).toMatchObject({ targetRevision: "A", rejectedRevision: null });
    bench.intent.revision = { kind: "ready", id: "C" };
    settle(bench);
    expect(bench.last?.figures).toMatchObject({ targetRevision: "A", rejectedRevision: "C" });
  });

  it("is none when the template turns out to be the revision that was asked for", () => {
    const bench = pendingUndo();
    bench.intent.revision = { kind: "ready", id: "A" };
    settle(bench);
    expect(bench.ledger.override).toBeNull();
  });
});

describe("[U10] a restart while a rollback is under way", () => {
  it("waits until the clusters are back, and follows then", () => {
    const bench = new Bench(testIntent({ a: 1, b: 1, c: 1 }, { podManagementPolicy: "Parallel" }));
    settle(bench);
    bench.intent.revision = { kind: "ready", id: "B" };
    bench.plan();
    bench.settle();
    bench.intent.requests = { ...bench.intent.requests, undo: { id: "1", to: "A" } };
    bench.plan();
    expect(bench.ledger.rollout?.kind).toBe("rollback");
    bench.intent.revision = { kind: "ready", id: "B", own: { digest: "B", restart: "t" } };
    bench.intent.inForce = { restarted: { of: "A", id: "A2" }, changed: [], leavesRestartOut: false };
    bench.plan();
    expect(bench.ledger.override?.to).toBe("A");
    expect(bench.last?.waiting.map(({ code }) => code)).toContain("RevisionPending");
    settle(bench);
    expect(bench.ledger).toMatchObject({ override: { to: "A2" }, currentRevision: "A2", rollout: null });
  });
});

describe("[F6] a restart that came while an undo held", () => {
  it("is part of the template's revision when the undo is taken back, and nothing goes to the one without it", () => {
    const bench = undone();
    bench.intent.revision = { kind: "ready", id: "B", own: { digest: "B", restart: "t" } };
    bench.intent.inForce = { restarted: { of: "A", id: "A2" }, changed: [], leavesRestartOut: true };
    settle(bench);
    bench.intent.requests = { ...bench.intent.requests, undo: { id: "2", to: "B" } };
    const { steps, requeueAt, waiting } = bench.plan();
    expect(steps).toEqual([]);
    expect(requeueAt).toBe(bench.nowMs + 1);
    expect(waiting.map(({ code }) => code)).toEqual(["RevisionPending"]);
    bench.intent.revision = { kind: "ready", id: "B2", own: { digest: "B", restart: "t" } };
    delete bench.intent.inForce;
    settle(bench);
    expect(bench.ledger).toMatchObject({ override: null, currentRevision: "B2" });
  });
});
