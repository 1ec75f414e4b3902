import { describe, expect, test } from "vitest";
import { exploring, tableOf } from "../report.ts";
import type { Scenario } from "../scenario.ts";
import { SCENARIOS } from "../scenarios.ts";

/** Every state of these is visited by `npm run test:explore`, which takes minutes; otherwise a part of them. */
const IS_FULL = process.env.LOCKSTEP_EXPLORE === "full";

/** Enough that every stage of an undisturbed run is left by a few moves. */
const PART = { atMost: 300, fromEveryStage: true } as const;

/** The larger scenarios, shared out over several files because each file has a core of its own. */
export function describeLarger(isMine: (scenario: Scenario) => boolean): void {
  const outcomeOf = exploring(IS_FULL ? undefined : PART);
  const scenarios = SCENARIOS.filter((scenario) => scenario.large && isMine(scenario));

  describe(`${IS_FULL ? "every state" : "a part of the states"} of a larger scenario keeps the rules`, () => {
    for (const scenario of scenarios) {
      test(scenario.name, { timeout: 900_000 }, () => {
        const { violation, complete } = outcomeOf(scenario);
        expect(violation?.trace).toBeUndefined();
        expect(complete, "every state was visited").toBe(IS_FULL);
      });
    }

    test("and it is told how many there are", { timeout: 1_800_000 }, () => {
      process.stdout.write(tableOf(scenarios, outcomeOf));
      for (const scenario of scenarios) expect(outcomeOf(scenario).states).toBeGreaterThan(1);
    });
  });
}
