import { describe, expect, it } from "vitest";
import { plan } from "../plan.ts";
import { explore } from "./explore.ts";
import { MUTANTS } from "./mutants.ts";
import { SCENARIOS } from "./scenarios.ts";

const LIMIT = 60_000;

describe("no order of events breaks a rule", () => {
  it.each(SCENARIOS)("$name", (scenario) => {
    const { states, isComplete, violations } = explore(scenario, plan, LIMIT);
    expect([...violations]).toEqual([]);
    expect(isComplete).toBe(true);
    // A world that hardly moves would prove nothing.
    expect(states).toBeGreaterThan(100);
  });
});

describe("exploration finds every planner with a bug", () => {
  it.each(Object.entries(MUTANTS))("%s", (_name, mutant) => {
    const found = SCENARIOS.some((scenario) => explore(scenario, mutant, LIMIT / 4, true).violations.size > 0);
    expect(found).toBe(true);
  });
});
