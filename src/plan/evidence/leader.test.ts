import { describe, expect, it } from "vitest";
import { Bench } from "../check/testing/bench.ts";
import { rollingUpdate, testIntent } from "../check/testing/intent.ts";
import type { LeaderClaim, RollingUpdate } from "../types/index.ts";

/** a holds three instances and the leader, b two; everything runs A, and the template says B. */
function leading(instance: string | undefined, edit: Partial<RollingUpdate> = {}): Bench {
  const bench = new Bench(
    testIntent(
      { a: 3, b: 2 },
      {
        podManagementPolicy: "Parallel",
        workload: { protocol: "contract", hasPartition: true, memberOrdered: true, reportsLeader: true },
        update: rollingUpdate({ leaderTransfer: { timeoutSeconds: 60 }, ...edit }),
      },
    ),
  );
  claims(bench, "a", instance);
  bench.run();
  bench.intent.revision = { kind: "ready", id: "B" };
  return bench;
}

function claims(bench: Bench, leader: string | undefined, instance?: string): void {
  for (const cluster of ["a", "b"]) {
    const here: LeaderClaim = instance === undefined ? { kind: "here" } : { kind: "here", instance };
    bench.member(cluster).leader = cluster === leader ? here : { kind: "elsewhere" };
  }
}

const kinds = (bench: Bench) => bench.run().map(({ cluster, kind }) => `${cluster} ${kind}`);
const stepOf = (bench: Bench, cluster: string) => bench.ledger.clusters[cluster]?.step?.kind;

describe("[L6] the leader is asked to move", () => {
  it("and an election without any leader does not take the turn back", () => {
    const bench = leading(undefined);
    bench.run();
    expect(stepOf(bench, "a")).toBe("transfer");
    claims(bench, undefined);
    expect(kinds(bench)).toEqual([]);
    expect(bench.last?.waiting.map(({ code }) => code)).toEqual(["LeaderTransfer"]);
    claims(bench, "b");
    expect(kinds(bench)).toEqual(["a update", "a return-turn"]);
  });

  it("and an election that never ends holds the step no longer than the timeout", () => {
    const bench = leading(undefined);
    bench.run();
    claims(bench, undefined);
    bench.run();
    bench.wait(60);
    expect(kinds(bench)).toEqual(["a update", "a return-turn"]);
  });

  it("only when its own instance may go down, where it is named", () => {
    const bench = leading("xline-0", { batches: [1] });
    expect(kinds(bench).filter((step) => step.startsWith("a"))).toEqual(["a update", "a update", "a transfer"]);
    expect(bench.ledger.clusters.a?.grant).toMatchObject({ partition: 1, transferLeaderTo: "xline-100" });
  });

  it("only while it is there: not again for each batch after it has moved", () => {
    const bench = leading(undefined, { batches: [1] });
    bench.run();
    claims(bench, "b");
    expect(kinds(bench).filter((step) => step.includes("transfer"))).toEqual([]);
  });

  it("not while an instance below the partition leads: it stays as it is", () => {
    const bench = leading("xline-0", { partition: 1 });
    expect(kinds(bench).filter((step) => step.includes("transfer"))).toEqual([]);
    expect(bench.ledger.clusters.a?.grant).toMatchObject({ revision: "B", partition: 1 });
  });
});

describe("[L7] before its instance is removed", () => {
  it("an election without any leader does not let the removal through", () => {
    const bench = leading(undefined);
    bench.intent.revision = { kind: "ready", id: "A" };
    bench.intent.schedule = {
      kind: "known",
      source: "explicit",
      clusters: [
        { cluster: "a", replicas: 2 },
        { cluster: "b", replicas: 2 },
      ],
    };
    bench.run();
    expect(stepOf(bench, "a")).toBe("transfer");
    claims(bench, undefined);
    expect(kinds(bench)).toEqual([]);
    claims(bench, "b");
    expect(kinds(bench)).toContain("a shrink");
  });
});

it("[Q11] [L6] an accident while the leader is asked to move is no part of the step that follows", () => {
  const bench = leading(undefined);
  bench.intent.workload = { protocol: "statefulset", hasPartition: true, memberOrdered: false, reportsLeader: true };
  bench.run();
  expect(stepOf(bench, "a")).toBe("transfer");
  bench.member("a").counts = { replicas: 3, ready: 2, available: 2, updated: 3, terminating: 0 };
  claims(bench, "b");
  expect(bench.plan().steps.map(({ kind }) => kind)).toEqual(["return-turn"]);
  expect(bench.last?.waiting.map(({ code }) => code)).toContain("BudgetExhausted");
});
