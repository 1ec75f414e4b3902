import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { plan } from "../plan.ts";
import type { ClusterName, Wave } from "../types.ts";
import { Explorer } from "./explore.ts";
import { rolling, type Scenario, scaleTo, scenario, template } from "./scenario.ts";
import { SCENARIOS } from "./scenarios.ts";

/** Fleets too large to explore: one random way through each, fair in the end, all properties watched. */
const CLUSTERS_MAX = 12;
const INSTANCES_MAX = 5;
const RUNS_LARGE = 25;
const RUNS_SMALL = 250;

const sizes = fc.array(fc.integer({ min: 1, max: INSTANCES_MAX }), { minLength: 2, maxLength: CLUSTERS_MAX });

const settings = fc.record({
  sizes,
  rescaled: sizes,
  protocol: fc.constantFrom("contract" as const, "statefulset" as const, "ignorant" as const),
  maxUnavailable: fc.integer({ min: 1, max: 6 }),
  partition: fc.constantFrom(0, 0, 1, 7),
  batches: fc.constantFrom([], [], [1, 3], [5]),
  waves: fc.constantFrom(0, 0, 1, 2),
  policy: fc.constantFrom("OrderedReady" as const, "Parallel" as const),
  leads: fc.boolean(),
  superseded: fc.boolean(),
});

type Settings = typeof settings extends fc.Arbitrary<infer T> ? T : never;

function named(numbers: readonly number[]): Record<ClusterName, number> {
  return Object.fromEntries(numbers.map((replicas, i) => [`m${i}`, replicas]));
}

function build(given: Settings): Scenario {
  const first = named(given.sizes);
  const second = named(given.rescaled);
  const waves: Wave[] = Object.keys(first)
    .slice(0, given.waves)
    .map((cluster, i) => ({ clusters: [cluster], soakSeconds: 10 * i, approval: i === 0 ? "Automatic" : "Manual" }));
  const ignorant = given.protocol === "ignorant";
  return scenario(JSON.stringify(given), {
    sizes: first,
    spare: Object.keys(second).filter((cluster) => !(cluster in first)),
    protocol: given.protocol,
    leader: given.leads ? "m0" : null,
    spec: { podManagementPolicy: given.policy },
    identity: ignorant ? { mode: "PerCluster" } : {},
    update: {
      maxUnavailable: given.maxUnavailable,
      partition: ignorant ? 0 : given.partition,
      batches: given.batches,
      waves,
    },
    faults: { accident: 3, cut: 1, crash: 1, leader: 1, wait: 2 },
    edits: [
      template("B"),
      scaleTo(second),
      ...(given.superseded ? [template("C")] : []),
      rolling({ paused: true }),
      rolling({ paused: false }),
    ],
  });
}

const walk = fc.array(fc.nat(10_000), { minLength: 10, maxLength: 80 });
const met = new Map<string, number>();

function go(given: Scenario, picks: readonly number[]): void {
  const explorer = new Explorer(given, plan);
  const violation = explorer.walk(picks);
  for (const [name, count] of Object.entries(explorer.dangers)) met.set(name, (met.get(name) ?? 0) + count);
  expect(violation?.trace).toBeUndefined();
}

describe("a random way through a fleet keeps the rules and ends as asked for", () => {
  test("up to 12 clusters and 60 instances", { timeout: 120_000 }, () => {
    fc.assert(
      fc.property(settings, walk, (given, picks) => go(build(given), picks)),
      { numRuns: RUNS_LARGE, seed: 5 },
    );
  });

  test("far into each of the small scenarios", { timeout: 120_000 }, () => {
    fc.assert(
      fc.property(fc.constantFrom(...SCENARIOS), fc.array(fc.nat(10_000), { maxLength: 120 }), go),
      { numRuns: RUNS_SMALL, seed: 9 },
    );
  });
});
