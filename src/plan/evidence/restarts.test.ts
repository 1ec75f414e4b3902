import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Bench } from "../check/testing/bench.ts";
import { rollingUpdate, testIntent } from "../check/testing/intent.ts";
import { StatefulSetModel } from "../check/testing/statefulset.ts";

/**
 * A StatefulSet of `size` pods, of which some crashed before, has been given an update and restarts `width` at a time.
 */
class Updating {
  readonly set: StatefulSetModel;
  readonly #bench: Bench;

  constructor(size: number, width: number, crashed: readonly number[] = []) {
    const bench = new Bench(
      testIntent(
        { a: size, b: size },
        {
          podManagementPolicy: "Parallel",
          workload: { protocol: "statefulset", hasPartition: true, memberOrdered: false, reportsLeader: false },
          update: rollingUpdate({ maxUnavailable: "100%", order: "Listed" }),
          quorum: "None",
        },
      ),
    );
    bench.run();
    this.#bench = bench;
    this.set = new StatefulSetModel(bench, "a", { width });
    for (const ordinal of crashed) this.set.crash(ordinal);
    this.set.show();
    bench.intent.revision = { kind: "ready", id: "B" };
    bench.plan();
    bench.deliver("a");
  }

  /** Whether the planner, shown all this, takes the member for one that restarts in parallel. */
  isHalted(): boolean {
    this.set.show();
    this.#bench.plan();
    return this.#bench.ledger.halt?.code === "MemberRestartsInParallel";
  }
}

type Move = { readonly kind: "sync" | "moveAny" | "crash" | "evict"; readonly at: number };
const moves = (...kinds: readonly Move["kind"][]) =>
  fc.array(fc.record({ kind: fc.constantFrom(...kinds), at: fc.nat(5) }), { maxLength: 60 });

function play({ set }: Updating, { kind, at }: Move): void {
  if (kind === "sync") set.sync();
  else set[kind](kind === "moveAny" ? at : at % set.pods.length);
}

describe("[Q13] a Serial member beside which accidents happen", () => {
  it("is never taken for one that restarts in parallel, where the pods are seen", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 2, max: 6 }),
        fc.uniqueArray(fc.nat(1)),
        moves("sync", "sync", "moveAny", "moveAny", "crash", "evict"),
        (size, crashed, played) => {
          const updating = new Updating(size, 1, crashed);
          for (const move of played) {
            play(updating, move);
            expect(updating.isHalted()).toBe(false);
          }
        },
      ),
      { numRuns: 150, seed: 13 },
    );
  });

  it("and one that does restart several at once is caught, whatever else is down", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 4, max: 6 }),
        fc.integer({ min: 2, max: 3 }),
        fc.uniqueArray(fc.nat(1)),
        (size, width, crashed) => {
          const updating = new Updating(size, width, crashed);
          expect(updating.isHalted()).toBe(false);
          updating.set.sync();
          expect(updating.isHalted()).toBe(true);
        },
      ),
      { numRuns: 100, seed: 13 },
    );
  });

  it("an evicted pod that comes back on the new revision is still the accident that it was", () => {
    const updating = new Updating(3, 1);
    updating.set.sync();
    updating.set.evict(1);
    expect(updating.isHalted()).toBe(false);
    updating.set.move(1);
    updating.set.sync();
    expect(updating.set.pods[1]).toMatchObject({ revision: "B", phase: "starting" });
    expect(updating.isHalted()).toBe(false);
  });

  it("an updated pod that crashes again was restarted before, not now", () => {
    const updating = new Updating(3, 1);
    for (const ordinal of [2, 1]) {
      updating.set.sync();
      updating.set.move(ordinal);
      updating.set.sync();
      if (ordinal === 2) updating.set.move(2);
      expect(updating.isHalted()).toBe(false);
    }
    updating.set.crash(2);
    expect(updating.set.pods.map((pod) => pod?.phase)).toEqual(["ready", "starting", "starting"]);
    expect(updating.isHalted()).toBe(false);
  });

  it("a pod that a person deletes below one that is not touched yet is none of the StatefulSet's doing", () => {
    const updating = new Updating(3, 1);
    updating.set.sync();
    updating.set.evict(0);
    for (const pod of updating.set.pods) if (pod) pod.disrupted = false;
    expect(updating.set.pods.map((pod) => pod?.phase)).toEqual(["terminating", "ready", "terminating"]);
    expect(updating.isHalted()).toBe(false);
  });

  it("an eviction that no snapshot shows counts as a second restart, which it may be", () => {
    const updating = new Updating(3, 1);
    updating.set.sync();
    updating.set.evict(1);
    updating.set.move(1);
    updating.set.sync();
    expect(updating.isHalted()).toBe(true);
  });
});
