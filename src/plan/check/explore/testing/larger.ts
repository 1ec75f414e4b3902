import { describe, expect, it } from "vitest";
import { exploring, tableOf } from "../report.ts";
import type { Scenario } from "../scenario.ts";
import { SCENARIOS } from "../scenarios.ts";

/** In `npm test`: enough that every stage of an undisturbed run is left by a few moves. */
const FEW_STATES = 300;

/** How many states of each are visited. `all`, as in `npm run test:explore:long`, takes many minutes. */
const STATES = process.env.LOCKSTEP_EXPLORE_STATES ?? String(FEW_STATES);
const IS_FULL = STATES === "all";
const PART = { atMost: Number(STATES), fromEveryStage: true };

/** The larger scenarios, shared out over several files because each file has a core of its own. */
export function describeLarger(isMine: (scenario: Scenario) => boolean): void {
  const outcomeOf = exploring(IS_FULL ? undefined : PART);
  const scenarios = SCENARIOS.filter((scenario) => scenario.large && isMine(scenario));

  describe(`${IS_FULL ? "every state" : "a part of the states"} of a larger scenario keeps the rules`, () => {
    for (const scenario of scenarios) {
      it(scenario.name, { timeout: 900_000 }, () => {
        const { violation, complete, states } = outcomeOf(scenario);
        expect(violation?.trace).toBeUndefined();
        expect(complete || (!IS_FULL && states >= PART.atMost), "as many states as asked for were visited").toBe(true);
      });
    }

    it("prints the number of states of each scenario", { timeout: 1_800_000 }, () => {
      process.stdout.write(tableOf(scenarios, outcomeOf));
      for (const scenario of scenarios) expect(outcomeOf(scenario).states).toBeGreaterThan(1);
    });
  });
}
