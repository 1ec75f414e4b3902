import { describe, expect, it } from "vitest";
import { Bench } from "../check/testing/bench.ts";
import { testIntent } from "../check/testing/intent.ts";
import type { Ledger, WorkloadTraits } from "../types/index.ts";
import { foundGrantOf, parseFoundGrant, parseLedger, rebuildLedger } from "./ledger.ts";

const STATEFUL_SET: WorkloadTraits = {
  protocol: "statefulset",
  hasPartition: true,
  memberOrdered: true,
  reportsLeader: false,
};
const CONTRACT: WorkloadTraits = { ...STATEFUL_SET, protocol: "contract" };

function updating(workload: WorkloadTraits): Bench {
  const bench = new Bench(testIntent({ a: 1, b: 1, c: 1 }, { podManagementPolicy: "Parallel", workload }));
  bench.run();
  bench.intent.revision = { kind: "ready", id: "B" };
  return bench;
}

const kinds = (steps: readonly { cluster: string; kind: string }[]) =>
  steps.map(({ cluster, kind }) => `${cluster} ${kind}`);

describe("a StatefulSet reads no turns", () => {
  it("[G7] each step of an update is one write, and the next one starts in the plan that sees it finished", () => {
    const bench = updating(STATEFUL_SET);
    expect(kinds(bench.run())).toEqual(["c update", "b update", "a update"]);
    expect(bench.last?.grants.map(({ revision, processor }) => [revision, processor])).toEqual(
      Array.from({ length: 3 }, () => ["B", false]),
    );
  });

  it("[Q3] [G7] a step counts until its gate opens, although no turn is out", () => {
    const bench = updating(STATEFUL_SET);
    bench.plan();
    expect(bench.last?.figures.pending).toBe(1);
    bench.deliver();
    expect(kinds(bench.plan().steps)).toEqual([]);
    expect(bench.last?.figures.pending).toBe(1);
    expect(bench.last?.completed).toEqual([]);
    bench.settle();
    expect(kinds(bench.plan().steps)).toEqual(["b update"]);
    expect(bench.last?.completed).toEqual([{ cluster: "c", kind: "update" }]);
    expect(bench.last?.figures.pending).toBe(1);
  });

  it("[C3] nothing is written to a cluster that is lost in mid-step, and its step continues when it is back", () => {
    const bench = updating(STATEFUL_SET);
    bench.plan();
    bench.deliver();
    const epoch = bench.ledger.clusters.c?.epoch;
    bench.unreachable.add("c");
    bench.intent.fleet.c = { state: "NotReady", sinceMs: bench.nowMs };
    bench.wait(600);
    expect(bench.plan().steps.filter(({ cluster }) => cluster === "c")).toEqual([]);
    bench.unreachable.delete("c");
    bench.intent.fleet.c = { state: "Ready" };
    bench.plan();
    expect(bench.ledger.clusters.c).toMatchObject({ epoch, turn: "held", done: false, step: { kind: "update" } });
    bench.settle();
    bench.run();
    expect(bench.last?.figures.currentRevision).toBe("B");
  });

  it("[I8] once a cluster of the first deployment is up, its grant says that instances join", () => {
    const bench = new Bench(testIntent({ a: 1, b: 1, c: 1 }, { workload: STATEFUL_SET }));
    bench.run();
    expect(bench.last?.grants.map(({ initialClusterState }) => initialClusterState)).toEqual(
      Array.from({ length: 3 }, () => "existing"),
    );
  });
});

describe("what an earlier version gave a StatefulSet", () => {
  /** That version told every member its turn. */
  function withTurns(bench: Bench): void {
    const stored = JSON.parse(JSON.stringify(bench.ledger)) as Ledger;
    for (const { turn, grant } of Object.values(stored.clusters))
      if (grant) Object.assign(grant, { processor: turn === "held" });
    bench.ledger = parseLedger(stored);
    for (const [cluster, { grant }] of Object.entries(bench.ledger.clusters))
      if (grant) bench.member(cluster).deliver(grant);
  }

  it("[G7] a turn in a grant of an earlier version is taken away by one write", () => {
    const bench = updating(STATEFUL_SET);
    bench.plan();
    withTurns(bench);
    expect(kinds(bench.plan().steps)).toEqual([]);
    bench.settle();
    expect(kinds(bench.run())).toEqual(["c return-turn", "b update", "a update"]);
    expect(bench.last?.figures.currentRevision).toBe("B");
  });

  it("[G7] a turn that is on its way back is acknowledged by the epoch, as before", () => {
    const bench = updating(STATEFUL_SET);
    bench.plan();
    bench.settle();
    const { c } = bench.ledger.clusters;
    if (!c) throw new Error("c is not in the ledger");
    bench.ledger = {
      ...bench.ledger,
      clusters: { ...bench.ledger.clusters, c: { ...c, turn: "returning", step: null } },
    };
    expect(kinds(bench.run())).toEqual(["b update", "a update"]);
  });

  it("[I9] a ledger that is rebuilt from notes without turns takes them from the grants", () => {
    const bench = updating(STATEFUL_SET);
    bench.plan();
    bench.deliver();
    withTurns(bench);
    const notes = Object.keys(bench.ledger.clusters).map((cluster) => {
      const { turn: _, ...note } = foundGrantOf(bench.ledger, cluster) ?? {};
      return parseFoundGrant(JSON.parse(JSON.stringify(note)));
    });
    bench.ledger = rebuildLedger(notes);
    expect(Object.values(bench.ledger.clusters).map(({ turn }) => turn)).toEqual(["returning", "returning", "held"]);
    bench.plan();
    bench.settle();
    bench.run();
    expect(bench.last?.figures.currentRevision).toBe("B");
  });
});

describe("a protocol that is changed in the middle of a step", () => {
  it("[C9] an operator that reads turns gets one for the step that began without", () => {
    const bench = updating(STATEFUL_SET);
    bench.plan();
    bench.deliver();
    bench.intent.workload = CONTRACT;
    for (const member of bench.members.values()) member.settle();
    const c = bench.member("c");
    Object.assign(c.counts, { updated: 0 });
    if (c.report) c.report = { ...c.report, phase: "Working", updated: 0 };
    expect(kinds(bench.plan().steps)).toEqual(["c update"]);
    expect(bench.ledger.clusters.c?.grant?.processor).toBe(true);
  });

  it("[G7] a turn that was given before is taken away by a write", () => {
    const bench = updating(CONTRACT);
    bench.plan();
    bench.intent.workload = STATEFUL_SET;
    bench.settle();
    expect(kinds(bench.run())).toEqual(["c return-turn", "b update", "a update"]);
  });
});
