import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { plan } from "../../plan.ts";
import { Explorer } from "./explore.ts";
import { largeFleets, largeScenario } from "./large.ts";
import type { Scenario } from "./scenario.ts";
import { SCENARIOS } from "./scenarios.ts";

/** Fleets too large to explore: one random way through each, fair in the end, all properties watched. */
const RUNS_LARGE = 25;
const RUNS_SMALL = 250;
/** So many times as many: `npm run test:explore:long` looks further. */
const TIMES = Number(process.env.LOCKSTEP_EXPLORE_WALKS ?? 1);
const TIMEOUT_MS = 120_000 * TIMES;

const walk = fc.array(fc.nat(10_000), { minLength: 10, maxLength: 80 });

function go(given: Scenario, picks: readonly number[]): void {
  const violation = new Explorer(given, plan).walk(picks);
  expect(violation?.trace).toBeUndefined();
}

describe("a random way through a fleet keeps the rules and ends as asked for", () => {
  it("up to 12 clusters and 60 instances", { timeout: TIMEOUT_MS }, () => {
    fc.assert(
      fc.property(largeFleets, walk, (given, picks) => go(largeScenario(given), picks)),
      { numRuns: RUNS_LARGE * TIMES, seed: 5 },
    );
  });

  it("far into each of the small scenarios", { timeout: TIMEOUT_MS }, () => {
    fc.assert(fc.property(fc.constantFrom(...SCENARIOS), fc.array(fc.nat(10_000), { maxLength: 120 }), go), {
      numRuns: RUNS_SMALL * TIMES,
      seed: 9,
    });
  });
});
