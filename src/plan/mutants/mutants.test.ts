import { describe, expect, test } from "vitest";
import { Explorer } from "../explore/explore.ts";
import { SCENARIOS } from "../explore/scenarios.ts";
import { MUTANTS } from "./mutants.ts";

/** States in which a mutant must have given itself away. */
const STATES_MAX = 20_000;

describe("a broken planner is caught", () => {
  for (const { name, make, scenario, caughtBy, dispatchFirst = false } of MUTANTS) {
    test(name, () => {
      const given = SCENARIOS.find((each) => each.name.startsWith(scenario));
      if (!given) throw new Error(`no scenario begins with '${scenario}'`);
      const { violation } = new Explorer({ ...given, dispatchFirst, limit: STATES_MAX }, make(), caughtBy).explore();
      expect(violation, "nobody noticed").not.toBeNull();
      expect(caughtBy.map((each) => each.name)).toContain(violation?.property);
      expect(violation?.trace).toContain(given.name);
    });
  }
});
