import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Bench } from "../check/testing/bench.ts";
import { rollingUpdate, testIntent } from "../check/testing/intent.ts";
import { StatefulSetModel } from "../check/testing/statefulset.ts";
import { majorityOf } from "../limits/quorum.ts";

const SECONDS_BETWEEN_LOOKS = 20;

/** One StatefulSet whose pod `broken` cannot run revision A any more; the template says B. */
function withBrokenPod(size: number, broken: number, ordered: boolean) {
  const bench = new Bench(
    testIntent(
      { a: size },
      {
        podManagementPolicy: "Parallel",
        workload: { protocol: "statefulset", hasPartition: true, memberOrdered: ordered, reportsLeader: false },
        update: rollingUpdate({ maxUnavailable: 1 }),
      },
    ),
  );
  bench.run();
  const set = new StatefulSetModel(bench, "a", {
    ordered,
    cannotRun: (ordinal, revision) => ordinal === broken && revision === "A",
  });
  set.crash(broken);
  set.show();
  bench.intent.revision = { kind: "ready", id: "B" };
  return { bench, set };
}

/** Planner and StatefulSet controller run until nothing changes. Returns the fewest pods ready at any time. */
function calm({ bench, set }: ReturnType<typeof withBrokenPod>): number {
  let fewest = set.ready;
  for (let round = 0; round < 200; round++) {
    bench.plan();
    bench.deliver();
    set.deletePods();
    set.sync();
    fewest = Math.min(fewest, set.ready);
    set.moveAny(round);
    set.show();
    bench.wait(SECONDS_BETWEEN_LOOKS);
  }
  return fewest;
}

describe("a StatefulSet with a broken pod", () => {
  it("[U14] [F8] gets to the revision that mends it, and keeps all others that a majority needs", () => {
    fc.assert(
      fc.property(fc.integer({ min: 3, max: 5 }), fc.nat(4), fc.boolean(), (size, which, ordered) => {
        const world = withBrokenPod(size, which % size, ordered);
        const fewest = calm(world);
        expect(world.set.pods.map((pod) => `${pod?.revision} ${pod?.phase}`)).toEqual(
          Array.from({ length: size }, () => "B ready"),
        );
        expect(fewest).toBeGreaterThanOrEqual(majorityOf(size));
        expect(world.bench.last?.figures.currentRevision).toBe("B");
        expect(world.bench.last?.waiting).toEqual([]);
      }),
      { numRuns: 30, seed: 14 },
    );
  });

  it("[U14] goes to a second correction if the first does not mend it", () => {
    const world = withBrokenPod(3, 1, false);
    world.bench.intent.revision = { kind: "ready", id: "A2" };
    world.bench.plan();
    expect(world.bench.last?.grants[0]).toMatchObject({ revision: "A2", onDelete: true });
    world.bench.deliver();
    world.bench.intent.revision = { kind: "ready", id: "B" };
    expect(calm(world)).toBe(2);
    expect(world.set.pods.every((pod) => pod?.revision === "B")).toBe(true);
  });

  it("[F8] that may come up by itself is given a minute before it is deleted on the way forward", () => {
    const { bench, set } = withBrokenPod(3, 1, true);
    bench.plan();
    bench.deliver();
    set.sync();
    set.show();
    expect(bench.plan().actions).toEqual([]);
    bench.wait(59);
    expect(bench.plan().actions).toEqual([]);
    bench.wait(1);
    expect(bench.plan().actions).toMatchObject([{ kind: "deletePods", pods: [{ name: "xline-1" }] }]);
  });

  it("[U14] keeps what the partition keeps: there it waits for a person", () => {
    const { bench } = withBrokenPod(3, 1, false);
    bench.intent.update = rollingUpdate({ maxUnavailable: 1, partition: 1 });
    expect(bench.plan().steps).toEqual([]);
    expect(bench.last?.waiting.map(({ code }) => code)).toContain("QuorumAtRisk");
  });
});
