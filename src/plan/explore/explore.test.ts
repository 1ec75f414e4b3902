import { describe, expect, test } from "vitest";
import { plan } from "../plan.ts";
import { Explorer, type Outcome } from "./explore.ts";
import { COSTLY_PROPERTIES, PROPERTIES } from "./properties.ts";
import type { Scenario } from "./scenario.ts";
import { SCENARIOS } from "./scenarios.ts";
import { LIVENESS } from "./watch.ts";

/** LOCKSTEP_EXPLORE=full: those that take minutes, too. */
const CHOSEN = SCENARIOS.filter(({ full }) => !full || process.env.LOCKSTEP_EXPLORE === "full");

/** Each scenario is explored once, whichever test asks first. */
const explored = new Map<Scenario, Outcome>();
function outcomeOf(scenario: Scenario): Outcome {
  const known = explored.get(scenario);
  if (known) return known;
  const outcome = new Explorer(scenario, plan).explore();
  explored.set(scenario, outcome);
  return outcome;
}

function row(states: number | string, transitions: number | string, plans: number | string, rest: string): string {
  return `${String(states).padStart(9)} ${String(transitions).padStart(12)} ${String(plans).padStart(8)}  ${rest}\n`;
}

function table(): string {
  const lines = [row("states", "transitions", "plans", "visited  scenario")];
  const sums = { all: [0, 0, 0], some: [0, 0, 0] };
  for (const scenario of CHOSEN) {
    const { states, transitions, plans, complete } = outcomeOf(scenario);
    const visited = complete ? "all" : "some";
    for (const [i, count] of [states, transitions, plans].entries()) sums[visited][i] = (sums[visited][i] ?? 0) + count;
    lines.push(row(states, transitions, plans, `${visited.padEnd(7)}  ${scenario.name}`));
  }
  const scenarios = (visited: string) =>
    CHOSEN.filter((each) => outcomeOf(each).complete === (visited === "all")).length;
  for (const visited of ["all", "some"] as const) {
    const [states = 0, transitions = 0, plans = 0] = sums[visited];
    const why = visited === "some" ? "; the others have too many, since several clusters act at once" : "";
    const what = `${scenarios(visited)} scenarios, ${visited} of their states${why}`;
    lines.push(row(states, transitions, plans, `${visited.padEnd(7)}  ${what}`));
  }
  return lines.join("");
}

describe("every state that can be reached keeps the rules", () => {
  for (const scenario of CHOSEN) {
    test(scenario.name, { timeout: 300_000 }, () => {
      const { violation, complete } = outcomeOf(scenario);
      expect(violation?.trace).toBeUndefined();
      if (scenario.limit === undefined) expect(complete, "every state was visited").toBe(true);
    });
  }

  test("and every rule met its danger", { timeout: 600_000 }, () => {
    const dangers = new Map<string, number>();
    for (const scenario of CHOSEN) {
      for (const [name, count] of Object.entries(outcomeOf(scenario).dangers))
        dangers.set(name, (dangers.get(name) ?? 0) + count);
    }
    process.stdout.write(table());
    for (const { rule, name } of [...PROPERTIES, ...COSTLY_PROPERTIES, LIVENESS]) {
      process.stdout.write(`${String(dangers.get(name) ?? 0).padStart(9)} times  [${rule}] ${name}\n`);
      expect(dangers.get(name), `[${rule}] ${name}`).toBeGreaterThan(0);
    }
  });
});
