import { describe, expect, test } from "vitest";
import { plan } from "../plan.ts";
import { Explorer, type Outcome } from "./explore.ts";
import { COSTLY_PROPERTIES, PROPERTIES } from "./properties.ts";
import type { Scenario } from "./scenario.ts";
import { SCENARIOS } from "./scenarios.ts";
import { LIVENESS } from "./watch.ts";

/** Each scenario is explored once, whichever test asks first. */
const explored = new Map<Scenario, Outcome>();
function outcomeOf(scenario: Scenario): Outcome {
  const known = explored.get(scenario);
  if (known) return known;
  const outcome = new Explorer(scenario, plan).explore();
  explored.set(scenario, outcome);
  return outcome;
}

describe("every state that can be reached keeps the rules", () => {
  for (const scenario of SCENARIOS) {
    test(scenario.name, () => {
      const { violation } = outcomeOf(scenario);
      expect(violation?.trace).toBeUndefined();
    });
  }

  test("and every rule met its danger", { timeout: 120_000 }, () => {
    const dangers = new Map<string, number>();
    let states = 0;
    let transitions = 0;
    for (const scenario of SCENARIOS) {
      const outcome = outcomeOf(scenario);
      states += outcome.states;
      transitions += outcome.transitions;
      for (const [name, count] of Object.entries(outcome.dangers)) dangers.set(name, (dangers.get(name) ?? 0) + count);
    }
    process.stdout.write(`${SCENARIOS.length} scenarios, ${states} states, ${transitions} transitions\n`);
    for (const { rule, name } of [...PROPERTIES, ...COSTLY_PROPERTIES, LIVENESS]) {
      process.stdout.write(`  ${String(dangers.get(name) ?? 0).padStart(8)}  [${rule}] ${name}\n`);
      expect(dangers.get(name), `[${rule}] ${name}`).toBeGreaterThan(0);
    }
  });
});
