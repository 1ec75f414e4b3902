import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseLedger } from "../ledger/ledger.ts";
import { plan } from "../plan.ts";
import { rollingUpdate, testIntent } from "./testing/intent.ts";
import { World } from "./testing/world.ts";

/** What happens next, and to whom. */
const KINDS = [
  "tick",
  "tick",
  "tick",
  "tick",
  "plan",
  "plan",
  "look",
  "look",
  "deliver",
  "deliver",
  "reconcile",
  "act",
  "act",
  "act",
  "rise",
  "rise",
  "accident",
  "cut",
  "mend",
  "template",
  "scale",
  "wait",
  "crash",
  "rebuild",
] as const;

const event = fc.record({ kind: fc.constantFrom(...KINDS), who: fc.nat(3), value: fc.nat(3) });

const setting = fc.record({
  sizes: fc.tuple(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 3 }), fc.integer({ min: 0, max: 2 })),
  maxUnavailable: fc.integer({ min: 1, max: 3 }),
  partition: fc.constantFrom(0, 0, 0, 2),
  policy: fc.constantFrom("OrderedReady", "Parallel"),
  mode: fc.constantFrom("Blocks", "Dense"),
  batches: fc.constantFrom([], [], [1], [1, 2]),
  concurrency: fc.constantFrom("Serial", "Serial", "Parallel"),
  protocol: fc.constantFrom("contract", "contract", "statefulset"),
});

type Setting = typeof setting extends fc.Arbitrary<infer T> ? T : never;

function build({ sizes, maxUnavailable, partition, policy, mode, batches, concurrency, protocol }: Setting): World {
  const intent = testIntent({ a: sizes[0], b: sizes[1], c: sizes[2] });
  intent.fleet.d = { state: "Ready" };
  intent.update = rollingUpdate({ maxUnavailable, partition, batches });
  intent.podManagementPolicy = policy;
  intent.memberConcurrency = concurrency;
  intent.workload = { ...intent.workload, protocol };
  intent.identity = { ...intent.identity, mode: protocol === "statefulset" ? "Blocks" : mode };
  return new World(intent);
}

function play(world: World, { kind, who, value }: { kind: (typeof KINDS)[number]; who: number; value: number }): void {
  const cluster = world.clusters[who % world.clusters.length] ?? "a";
  const { schedule } = world.intent;
  switch (kind) {
    case "plan":
      world.plan();
      return;
    case "tick":
      world.tick();
      return;
    case "rebuild":
      world.rebuild();
      return;
    case "crash":
      world.plan(value % 2 === 0 ? "ledger" : "dispatch");
      return;
    case "cut":
      world.member(cluster).cut = true;
      world.reached.losses++;
      return;
    case "mend":
      world.member(cluster).cut = false;
      return;
    case "template":
      world.intent.revision = { kind: "ready", id: ["A", "B", "C", "D"][value] ?? "A" };
      return;
    case "scale": {
      if (schedule.kind !== "known") return;
      const others = schedule.clusters.filter((each) => each.cluster !== cluster);
      world.intent.schedule = { ...schedule, clusters: [...others, { cluster, replicas: value }] };
      return;
    }
    case "wait":
      world.nowMs += value * 100_000;
      return;
    default:
      world[kind](cluster);
  }
}

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const each of Object.values(value)) deepFreeze(each);
  }
  return value;
}

const reached = { restarts: 0, joins: 0, leaves: 0, accidents: 0, losses: 0, overlaps: 0, crashes: 0, rebuilds: 0 };

describe("whatever happens", () => {
  it("[Q8] [Q11] [S2] [C2] the planner keeps majority and budget, and changes one member at a time", () => {
    fc.assert(
      fc.property(setting, fc.array(event, { minLength: 20, maxLength: 150 }), (settings, events) => {
        const world = build(settings);
        expect(world.calm(), "first deployment").toBe(true);
        for (const each of events) play(world, each);
        for (const key of Object.keys(reached) as Array<keyof typeof reached>) reached[key] += world.reached[key];
        expect(world.broken).toEqual([]);
      }),
      { numRuns: 300, seed: 7 },
    );
    // A property that never met its danger proves nothing.
    for (const [danger, times] of Object.entries(reached)) expect(times, danger).toBeGreaterThan(0);
  });

  it("[R2] planning again on the result changes nothing; inputs are never changed; the ledger survives JSON", () => {
    fc.assert(
      fc.property(setting, fc.array(event, { maxLength: 60 }), (settings, events) => {
        const world = build(settings);
        for (const each of events) {
          play(world, each);
          if (each.kind !== "plan") continue;
          const observations = deepFreeze({ clusters: Object.fromEntries(world.seen) });
          const first = deepFreeze(plan(world.intent, deepFreeze(world.ledger), observations, world.nowMs));
          const again = plan(world.intent, first.ledger, observations, world.nowMs);
          expect(again.steps).toEqual([]);
          expect(again.grants).toEqual(first.grants);
          expect(again.ledger).toEqual(first.ledger);
          expect(again.waiting).toEqual(first.waiting);
          const stored: unknown = JSON.parse(JSON.stringify(first.ledger));
          expect(parseLedger(stored)).toEqual(first.ledger);
        }
      }),
      { numRuns: 150, seed: 11 },
    );
  });

  it("[U2] [S1] when faults end, everything settles as requested", () => {
    fc.assert(
      fc.property(setting, fc.array(event, { maxLength: 80 }), (settings, events) => {
        const world = build(settings);
        for (const each of events) play(world, each);
        for (const cluster of world.clusters) world.member(cluster).cut = false;
        world.intent.requests = { ...world.intent.requests, confirmedDrain: world.clusters, resume: "end" };
        expect(world.calm(), JSON.stringify(world.last?.waiting.map(({ cluster, code }) => `${cluster} ${code}`))).toBe(
          true,
        );
        const { schedule, revision, update } = world.intent;
        if (schedule.kind !== "known" || revision.kind !== "ready" || update.type !== "RollingUpdate") return;
        for (const { cluster, replicas } of schedule.clusters) {
          expect(world.member(cluster).ready, cluster).toBe(replicas);
          if (update.partition > 0) continue;
          for (const process of world.member(cluster).processes.values()) expect(process.revision).toBe(revision.id);
        }
      }),
      { numRuns: 300, seed: 3 },
    );
  });
});
