import { describe, expect, test } from "vitest";
import { forecast } from "./forecast.ts";
import { emptyLedger } from "./ledger.ts";
import { Bench } from "./testing/bench.ts";
import { rollingUpdate, testIntent } from "./testing/intent.ts";
import type { Observation } from "./types.ts";

const nothing = (...clusters: string[]): Record<string, Observation> =>
  Object.fromEntries(clusters.map((cluster) => [cluster, { kind: "absent", atMs: 0 } as const]));

describe("forecast", () => {
  test("a deployment from nothing, in the order in which it would happen", () => {
    const intent = testIntent({ a: 2, b: 1 });
    const found = forecast(intent, emptyLedger(), { clusters: nothing("a", "b") }, 0);
    const steps = found.rounds.flatMap(({ steps }) => steps.map(({ cluster, kind }) => `${cluster} ${kind}`));
    expect(steps.filter((step) => step.endsWith("deploy"))).toEqual(["a deploy", "a deploy", "b deploy"]);
    expect(found).toMatchObject({ complete: true, waiting: [] });
    expect(found.rounds.at(-1)?.figures.ready).toBe(3);
  });

  test("it changes neither the ledger nor the observations it is given", () => {
    const bench = new Bench(testIntent({ a: 1, b: 1, c: 1 }, { podManagementPolicy: "Parallel" }));
    bench.run();
    bench.intent.revision = { kind: "ready", id: "B" };
    const before = JSON.stringify([bench.ledger, bench.observations()]);
    forecast(bench.intent, bench.ledger, bench.observations(), 0);
    expect(JSON.stringify([bench.ledger, bench.observations()])).toBe(before);
  });

  test("[L6] [W3] leader transfer, soak and approval are part of it", () => {
    const bench = new Bench(
      testIntent(
        { a: 1, b: 1, c: 1 },
        {
          podManagementPolicy: "Parallel",
          workload: { protocol: "contract", hasPartition: true, memberOrdered: true, reportsLeader: true },
          update: rollingUpdate({
            leaderTransfer: { timeoutSeconds: 60 },
            waves: [{ clusters: ["c"], soakSeconds: 600, approval: "Manual" }],
          }),
        },
      ),
    );
    bench.member("b").leader = { kind: "here" };
    bench.run();
    bench.intent.revision = { kind: "ready", id: "B" };
    const found = forecast(bench.intent, bench.ledger, bench.observations(), 1000);
    const steps = found.rounds.flatMap(({ steps }) => steps.map(({ cluster, kind }) => `${cluster} ${kind}`));
    expect(steps.filter((step) => !step.includes("return"))).toEqual([
      "c update",
      "a update",
      "b transfer",
      "b update",
    ]);
    expect(found.rounds.find(({ approval }) => approval)).toMatchObject({
      atMs: 601_000,
      approval: { revision: "B", wave: 0 },
    });
    expect(found).toMatchObject({ complete: true, waiting: [], endsAtMs: 601_000 });
  });

  test("what cannot be reached stays in the way, and says so", () => {
    const bench = new Bench(testIntent({ a: 1, b: 1, c: 1 }, { podManagementPolicy: "Parallel" }));
    bench.run();
    bench.intent.revision = { kind: "ready", id: "B" };
    bench.unreachable.add("a");
    const found = forecast(bench.intent, bench.ledger, bench.observations(), 0);
    expect(found.rounds).toEqual([]);
    expect(found.waiting.map(({ code }) => code)).toEqual(expect.arrayContaining(["ClusterLost", "QuorumAtRisk"]));
  });

  test("[U3] windows are asked for at the time that the step would start", () => {
    const bench = new Bench(testIntent({ a: 1, b: 1, c: 1 }, { podManagementPolicy: "Parallel" }));
    bench.run();
    bench.intent.revision = { kind: "ready", id: "B" };
    bench.intent.update = rollingUpdate({ window: { open: false, changesAtMs: 7_200_000 } });
    const windowAt = (atMs: number) => ({ open: atMs >= 7_200_000 });
    const found = forecast(bench.intent, bench.ledger, bench.observations(), 0, { windowAt });
    expect(found.rounds[0]?.atMs).toBe(7_200_000);
    expect(found.complete).toBe(true);
  });
});
