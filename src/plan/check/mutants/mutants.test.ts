import { describe, expect, it } from "vitest";
import { Explorer, type Violation } from "../explore/explore.ts";
import { COSTLY_PROPERTIES, PROPERTIES } from "../explore/properties.ts";
import { SCENARIOS } from "../explore/scenarios.ts";
import { LIVENESS, PURITY } from "../explore/watch.ts";
import type { Mutant } from "./bend.ts";
import { MUTANTS } from "./mutants.ts";

/** States in which a mutant must have given itself away. */
const STATES_MAX = 20_000;

const caught = new Map<Mutant, Violation | null>();
function violationOf(mutant: Mutant): Violation | null {
  const known = caught.get(mutant);
  if (known !== undefined) return known;
  const { make, scenario: name, stages, caughtBy, dispatchFirst = false, unfenced = false } = mutant;
  const given = SCENARIOS.find((each) => each.name.startsWith(name));
  if (!given) throw new Error(`no scenario begins with '${name}'`);
  const explorer = new Explorer({ ...given, dispatchFirst, unfenced }, make(), caughtBy);
  const { violation } = explorer.explore({ atMost: STATES_MAX, fromEveryStage: stages === true });
  caught.set(mutant, violation);
  return violation;
}

describe("a broken planner is caught", () => {
  for (const mutant of MUTANTS) {
    it(mutant.name, () => {
      const violation = violationOf(mutant);
      expect(violation, "no property noticed").not.toBeNull();
      expect(mutant.caughtBy.map((each) => each.name)).toContain(violation?.property);
      expect(violation?.trace).toContain(mutant.scenario);
    });
  }

  it("and every property catches at least one broken planner", () => {
    const caughtBy = new Set(MUTANTS.map((mutant) => violationOf(mutant)?.property));
    for (const { name } of [...PROPERTIES, ...COSTLY_PROPERTIES, LIVENESS, PURITY])
      expect(caughtBy, `nothing was caught by: ${name}`).toContain(name);
  });
});
