import { describe, expect, it } from "vitest";
import { Bench } from "../check/testing/bench.ts";
import { testIntent } from "../check/testing/intent.ts";
import { plan } from "../plan.ts";
import type { DispatchSeen, Intent, PlanResult } from "../types/index.ts";
import { STRANDED_AFTER_MS } from "./removal.ts";

const NOTHING: DispatchSeen = { workload: "none", isLetGo: false };
const THERE: DispatchSeen = { workload: "there", isLetGo: false };
const GOING: DispatchSeen = { workload: "going", isLetGo: false };

/** a runs the application, b is drained: its object is there, with no instance. */
function drained(): Bench {
  const bench = new Bench(testIntent({ a: 1, b: 1 }));
  bench.run();
  bench.intent.schedule = { kind: "known", source: "explicit", clusters: [{ cluster: "a", replicas: 1 }] };
  while (!bench.ledger.clusters.b?.done || bench.ledger.clusters.b.grant?.replicas !== 0) {
    bench.plan();
    bench.deliver();
    for (const { cluster } of bench.last?.grants ?? []) bench.member(cluster).settle();
  }
  showToken(bench);
  return bench;
}

/** b's object shows whose it is. */
function showToken(bench: Bench, clusterToken = "token"): void {
  const seen = bench.member("b").observe();
  if (seen.kind === "present") bench.member("b").overlay = { live: { ...seen.live, clusterToken } };
}

function planWith(bench: Bench, dispatch: Record<string, DispatchSeen>): PlanResult {
  const result = plan(bench.intent, bench.ledger, { ...bench.observations(), dispatch }, bench.nowMs);
  bench.ledger = result.ledger;
  return result;
}

const clustersOf = ({ standing }: PlanResult) => standing.map(({ cluster }) => cluster);
const removal = [{ kind: "remove", cluster: "b", volumes: "Retain" }];

describe("a drained cluster", () => {
  it("[S9] is removed, and its grant does not stand on the hub any more", () => {
    const result = planWith(drained(), { a: THERE, b: THERE });
    expect(result.actions).toEqual(removal);
    expect(clustersOf(result)).toEqual(["a"]);
  });

  it("[S16] gets its dispatch object again if it has an object without one for longer than a watch may lag", () => {
    const bench = drained();
    expect(planWith(bench, { a: THERE }).actions).toEqual(removal);
    bench.nowMs += STRANDED_AFTER_MS - 1;
    const early = planWith(bench, { a: THERE });
    expect(early.actions).toEqual(removal);
    expect(early.requeueAt).toBe(bench.nowMs + 1);
    bench.nowMs += 1;
    const late = planWith(bench, { a: THERE });
    expect(late.actions).toEqual([]);
    expect(clustersOf(late)).toEqual(["a", "b"]);
    // It stands again, and goes with what it delivered.
    expect(planWith(bench, { a: THERE, b: THERE }).actions).toEqual(removal);
    expect(bench.ledger.clusters.b?.strandedSinceMs).toBeNull();
  });

  it("[S16] is stranded only from when it was seen to be so without a break", () => {
    const bench = drained();
    planWith(bench, { a: THERE });
    bench.nowMs += STRANDED_AFTER_MS;
    planWith(bench, { a: THERE, b: GOING });
    expect(planWith(bench, { a: THERE }).actions).toEqual(removal);
  });

  it.each([
    ["whose object is being deleted", (bench: Bench) => Object.assign(bench.member("b").overlay, { isDeleting: true })],
    ["whose object is another application's", (bench: Bench) => showToken(bench, "another")],
  ])("[S16] %s is not stranded", (_, change) => {
    const bench = drained();
    change(bench);
    planWith(bench, { a: THERE });
    bench.nowMs += STRANDED_AFTER_MS;
    expect(planWith(bench, { a: THERE }).actions).toEqual(removal);
  });
});

describe("what is dispatched to a cluster that the ledger does not know", () => {
  const left = (dispatch: DispatchSeen, edit: Partial<Intent> = {}) => {
    const bench = new Bench(
      testIntent({ a: 1 }, { retention: { whenScaled: "Retain", whenDeleted: "Delete" }, ...edit }),
    );
    if (!edit.deletion) bench.run();
    const { actions } = plan(bench.intent, bench.ledger, { ...bench.observations(), dispatch: { b: dispatch } }, 0);
    return actions;
  };
  const teardown = { deletion: { policy: "Teardown" } } as const;

  it("[S17] is removed, once its workload is gone or going", () => {
    expect(left(NOTHING)).toEqual(removal);
    expect(left(GOING)).toEqual(removal);
    expect(left(GOING, teardown)).toEqual([{ kind: "remove", cluster: "b", volumes: "Delete" }]);
  });

  it("[S17] is never removed with a workload that is still dispatched", () => {
    expect(left(THERE)).toEqual([]);
  });

  it("[S17] [T3] is let go when a teardown has nothing more to do, and stays let go until it is gone", () => {
    const release = [{ kind: "release", cluster: "b" }];
    expect(left(THERE, teardown)).toEqual(release);
    expect(left({ workload: "going", isLetGo: true }, teardown)).toEqual(release);
    expect(left({ workload: "none", isLetGo: true }, teardown)).toEqual(release);
  });
});

it("a cluster that has left the fleet is not written to", () => {
  const bench = new Bench(testIntent({ a: 1, b: 1 }));
  bench.run();
  bench.intent.fleet.b = { state: "Gone", sinceMs: bench.nowMs };
  const { grants, standing } = bench.plan();
  expect(grants.map(({ cluster }) => cluster)).toEqual(["a", "b"]);
  expect(standing.map(({ cluster }) => cluster)).toEqual(["a"]);
});
