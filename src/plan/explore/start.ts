import { emptyLedger } from "../ledger.ts";
import { plan } from "../plan.ts";
import { allowedBy } from "./person.ts";
import { Rest } from "./rest.ts";
import type { Scenario } from "./scenario.ts";
import { NEW_PLACE, NO_FAULTS, type State } from "./state.ts";
import { Watch } from "./watch.ts";
import { World } from "./world.ts";

/** Any time will do. */
const BEGINNING_MS = 1_000_000_000;

/**
 * The application deployed and at rest, or nothing at all; without faults to come. How it was deployed is not in question
 * here, so even a mutant begins with a sound one.
 */
export function startOf(scenario: Scenario): State {
  const { intent, leader, start } = scenario;
  const empty: State = {
    nowMs: BEGINNING_MS,
    intent,
    ledger: emptyLedger(),
    places: Object.fromEntries(Object.keys(intent.fleet).map((cluster) => [cluster, NEW_PLACE])),
    actions: [],
    finished: false,
    leader,
    edits: 0,
    faults: NO_FAULTS,
    maxUnavailable: allowedBy(intent),
    droppedWhileLost: [],
  };
  if (start === "empty") return empty;
  const watch = new Watch(plan);
  return new Rest(scenario, new World(scenario, plan, watch), watch).calm(empty);
}
