import { plan } from "../../plan.ts";
import { type Bounds, Explorer, type Outcome } from "./explore.ts";
import type { Scenario } from "./scenario.ts";

/** Explores each scenario once, whichever test asks first. */
export function exploring(bounds?: Bounds): (scenario: Scenario) => Outcome {
  const explored = new Map<Scenario, Outcome>();
  return (scenario) => {
    const outcome = explored.get(scenario) ?? new Explorer(scenario, plan).explore(bounds);
    explored.set(scenario, outcome);
    return outcome;
  };
}

function row(states: number | string, transitions: number | string, plans: number | string, rest: string): string {
  return `${String(states).padStart(9)} ${String(transitions).padStart(12)} ${String(plans).padStart(8)}  ${rest}\n`;
}

/** How much of each scenario was visited, for a person who asks how far the word "every" goes. */
export function tableOf(scenarios: readonly Scenario[], outcomeOf: (scenario: Scenario) => Outcome): string {
  const explored = scenarios.map((scenario) => [scenario.name, outcomeOf(scenario)] as const);
  const lines = [row("states", "transitions", "plans", "visited  scenario")];
  for (const [name, { states, transitions, plans, complete }] of explored) {
    lines.push(row(states, transitions, plans, `${complete ? "all    " : "a part "}  ${name}`));
  }
  for (const isComplete of [true, false]) {
    const some = explored.filter(([, { complete }]) => complete === isComplete).map(([, outcome]) => outcome);
    if (some.length === 0) continue;
    const sum = (count: (outcome: Outcome) => number) => some.reduce((total, outcome) => total + count(outcome), 0);
    const what = isComplete ? "all of their states" : "a part of their states; all with npm run test:explore:long";
    const counts = [
      sum(({ states }) => states),
      sum(({ transitions }) => transitions),
      sum(({ plans }) => plans),
    ] as const;
    lines.push(row(...counts, `${isComplete ? "all    " : "a part "}  ${some.length} scenarios, ${what}`));
  }
  return lines.join("");
}
