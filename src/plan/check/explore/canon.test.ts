import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { plan } from "../../plan.ts";
import { plannedOn } from "./controller.ts";
import { Moves } from "./moves.ts";
import type { Scenario } from "./scenario.ts";
import { SCENARIOS } from "./scenarios.ts";
import { startOf } from "./start.ts";
import { Watch } from "./watch.ts";
import { World } from "./world.ts";

/** Enough that a time, epoch or version which counts and is left out shows itself within a second or two. */
const RUNS = 250;

/** More time passes than the scenario allows, so that every deadline is met from both sides. */
const WAITS = 4;

/**
 * The same way twice: through states as they are, and through canonical ones. Both must offer the same moves and lead
 * to the same state, or else two states were taken for one that are not.
 */
function sideBySide(scenario: Scenario, picks: readonly number[]): void {
  const given = { ...scenario, faults: { ...scenario.faults, wait: WAITS } };
  const world = new World(given, plan, new Watch(plan, []));
  const plainly = new Moves(given, (state) => plannedOn(plan, state));
  let plain = { ...startOf(given), faults: given.faults };
  let canonical = world.canonical(plain);
  for (const pick of picks) {
    const moves = world.moves.of(canonical);
    const plainMoves = plainly.of(plain);
    expect(plainMoves.map(({ label }) => label)).toEqual(moves.map(({ label }) => label));
    const chosen = pick % moves.length;
    const move = moves[chosen];
    const plainMove = plainMoves[chosen];
    if (!move || !plainMove) return;
    plain = plainMove.run().state;
    canonical = world.canonical(move.run().state);
    const key = world.key(world.canonical(plain));
    if (key !== world.key(canonical)) expect(world.canonical(plain), move.label).toEqual(canonical);
    expect(key).toBe(world.key(canonical));
  }
}

describe("canonical states", () => {
  it("lead where the states lead that they stand for", { timeout: 120_000 }, () => {
    fc.assert(fc.property(fc.constantFrom(...SCENARIOS), fc.array(fc.nat(10_000), { maxLength: 60 }), sideBySide), {
      numRuns: RUNS,
      seed: 21,
    });
  });
});
