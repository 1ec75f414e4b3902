import type { Scenario } from "./scenario.ts";
import { FAILURES } from "./scenarios/failure.ts";
import { LIVES } from "./scenarios/life.ts";
import { LOSSES } from "./scenarios/loss.ts";
import { SCALINGS } from "./scenarios/scale.ts";
import { SUPERSESSIONS, UPDATES } from "./scenarios/update.ts";

/**
 * Small fleets, each with what could go wrong in one corner of the rules. Together they meet every property's danger.
 */
export const SCENARIOS: readonly Scenario[] = [
  ...UPDATES,
  ...SUPERSESSIONS,
  ...SCALINGS,
  ...LOSSES,
  ...FAILURES,
  ...LIVES,
];
