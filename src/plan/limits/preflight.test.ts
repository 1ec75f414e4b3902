import { describe, expect, it } from "vitest";
import { Bench } from "../check/testing/bench.ts";
import { type EditableIntent, rollingUpdate, testIntent } from "../check/testing/intent.ts";
import { emptyLedger } from "../ledger/ledger.ts";
import { preflight } from "./preflight.ts";

function fieldsOf(
  edit: (intent: EditableIntent) => void,
  sizes: Record<string, number> = { a: 2, b: 2, c: 1 },
): string[] {
  const intent = testIntent(sizes);
  edit(intent);
  return preflight(intent, emptyLedger()).map(({ severity, field, message }) => `${severity} ${field}: ${message}`);
}

describe("[R4] before anything starts", () => {
  it("a sound spec has no problems", () => {
    expect(fieldsOf(() => {})).toEqual([]);
  });

  it.each<[string, (intent: EditableIntent) => void, string]>([
    [
      "a partition that cuts through an indivisible cluster",
      (intent) => {
        intent.workload = { ...intent.workload, hasPartition: false };
        intent.update = rollingUpdate({ partition: 3 });
      },
      "error updateStrategy.rollingUpdate.partition: partition 3 cuts through b",
    ],
    [
      "a Parallel member that maxUnavailable can never hold",
      (intent) => {
        intent.workload = { ...intent.workload, hasPartition: false };
        intent.memberConcurrency = "Parallel";
      },
      "error updateStrategy.rollingUpdate.maxUnavailable: a restarts its 2 instances at once",
    ],
    [
      "a wave that names an unknown cluster",
      (intent) => {
        intent.update = rollingUpdate({ waves: [{ clusters: ["z"], soakSeconds: 0, approval: "Automatic" }] });
      },
      "error updateStrategy.rollingUpdate.waves[0].clusters: wave 1 names 'z', which the fleet does not have",
    ],
    [
      "a wave that names a cluster without instances",
      (intent) => {
        intent.fleet.z = { state: "Ready" };
        intent.update = rollingUpdate({ waves: [{ clusters: ["z"], soakSeconds: 0, approval: "Automatic" }] });
      },
      "warning updateStrategy.rollingUpdate.waves[0].clusters: z is not in the schedule",
    ],
    [
      "a setting that only an interpreter can read",
      (intent) => {
        intent.settingProblems = [
          { field: "leader.luaScript", message: "line 3: unexpected end", remedy: "Correct it." },
        ];
      },
      "error leader.luaScript: line 3: unexpected end",
    ],
    [
      "a cluster in two waves",
      (intent) => {
        const wave = { clusters: ["a"], soakSeconds: 0, approval: "Automatic" as const };
        intent.update = rollingUpdate({ waves: [wave, wave] });
      },
      "warning updateStrategy.rollingUpdate.waves[1].clusters: a is named by an earlier wave too",
    ],
    [
      "a block that is too small",
      (intent) => {
        intent.identity = { ...intent.identity, blockSize: 1 };
      },
      "error topology.clusters[a].replicas: 2 instances do not fit into a block of 1",
    ],
    [
      "Dense for a StatefulSet",
      (intent) => {
        intent.workload = { ...intent.workload, protocol: "statefulset" };
        intent.identity = { ...intent.identity, mode: "Dense" };
      },
      "error identity.mode: Dense needs an operator on the contract",
    ],
    [
      "Blocks for an operator that numbers by itself",
      (intent) => {
        intent.workload = { ...intent.workload, protocol: "ignorant" };
      },
      "error identity.mode: Blocks needs",
    ],
    [
      "OnDelete for an operator that acts at once",
      (intent) => {
        intent.workload = { ...intent.workload, protocol: "ignorant" };
        intent.identity = { ...intent.identity, mode: "PerCluster" };
        intent.update = { type: "OnDelete" };
      },
      "error updateStrategy.type: OnDelete cannot be kept",
    ],
    [
      "a name that is too long for its addresses",
      (intent) => {
        intent.app = { ...intent.app, name: "x".repeat(62) };
      },
      "error identity.addressTemplate: address of a: label",
    ],
    [
      "an unknown placeholder",
      (intent) => {
        intent.identity = { ...intent.identity, addressTemplate: "{pod}.local" };
      },
      "error identity.addressTemplate: address of a: unknown placeholder {pod}",
    ],
    [
      "batches that a cluster cannot follow",
      (intent) => {
        intent.workload = { ...intent.workload, hasPartition: false };
        intent.update = rollingUpdate({ batches: [1, 2] });
      },
      "warning updateStrategy.rollingUpdate.batches: clusters cannot be released in part",
    ],
    [
      "a maxUnavailable of 0",
      (intent) => {
        intent.update = rollingUpdate({ maxUnavailable: 0 });
      },
      "error updateStrategy.rollingUpdate.maxUnavailable: 0 is neither",
    ],
  ])("%s is named", (_, edit, problem) => {
    expect(
      fieldsOf(edit).some((found) => found.startsWith(problem)),
      fieldsOf(edit).join("\n"),
    ).toBe(true);
  });

  it("a cluster that holds a majority cannot restart at once", () => {
    const found = fieldsOf(
      (intent) => {
        intent.workload = { ...intent.workload, hasPartition: false };
        intent.memberConcurrency = "Parallel";
        intent.update = rollingUpdate({ maxUnavailable: 3 });
      },
      { a: 3, b: 1, c: 1 },
    );
    expect(found).toEqual([
      expect.stringContaining("error memberConcurrency: a restarts its 3 of 5 instances at once"),
    ]);
  });

  it("[Q7] one or two instances are not fault tolerant", () => {
    expect(fieldsOf(() => {}, { a: 1, b: 1 })).toEqual([expect.stringContaining("warning replicas: with 2 instances")]);
  });

  it("[I1] identity that was edited after the first grant is named, and the recorded one stays in force", () => {
    const bench = new Bench(testIntent({ a: 1, b: 1, c: 1 }));
    bench.run();
    bench.intent.identity = { ...bench.intent.identity, mode: "Dense", blockSize: 10, clusterIds: { a: "east" } };
    const edited = preflight(bench.intent, bench.ledger).filter(({ code }) => code === "IdentityImmutable");
    expect(edited.map(({ field }) => field)).toEqual(["identity.mode", "identity.blockSize", "identity.clusterIDs.a"]);
    const result = bench.plan();
    expect(result.steps).toEqual([]);
    expect(result.waiting.map(({ code }) => code)).toContain("IdentityImmutable");
    expect(bench.ledger.identity?.mode).toBe("Blocks");
  });
});
