import { Canon } from "./canon.ts";
import { type Planned, type Planner, plannedOn, type Step } from "./controller.ts";
import { Moves } from "./moves.ts";
import type { Scenario } from "./scenario.ts";
import type { State } from "./state.ts";
import { Broken, PURITY, type Watch } from "./watch.ts";

type Memory = Omit<Planned, "before">;

/** A scenario in canonical states: every plan is made once, checked once, and remembered. */
export class World {
  readonly moves: Moves;
  readonly #canon: Canon;
  readonly #watch: Watch;
  readonly #planner: Planner;
  readonly #plans = new Map<string, Memory>();

  constructor(scenario: Scenario, planner: Planner, watch: Watch) {
    this.#canon = new Canon(scenario);
    this.#watch = watch;
    this.#planner = planner;
    this.moves = new Moves(scenario, (state) => this.#planOn(state), this.#canon);
  }

  /** How many different plans were made. */
  get plans(): number {
    return this.#plans.size;
  }

  canonical(state: State): State {
    return this.#canon.state(state);
  }

  key(state: State): string {
    return this.#canon.key(state);
  }

  /** The state that a move leads to, after every property was checked on the way. */
  after(before: State, step: Step): State {
    this.#watch.step(before, step);
    return this.#canon.state(step.state);
  }

  #planOn(state: State): Planned {
    const before = this.#canon.state(state);
    const key = this.#canon.planKey(before);
    const known = this.#plans.get(key);
    if (known) return { before, ...known };
    const planned = this.#planFrozen(before);
    this.#watch.plan(planned);
    const { observations, result, idle, dispatches } = planned;
    // The waits are not read again, and their texts are long.
    this.#plans.set(key, { observations, result: { ...result, waiting: [] }, idle, dispatches });
    return planned;
  }

  /** A planner that changes its inputs fails here: they are frozen. */
  #planFrozen(before: State): Planned {
    try {
      return plannedOn((intent, ledger, observations, nowMs) => {
        return this.#planner(deepFreeze(intent), deepFreeze(ledger), deepFreeze(observations), nowMs);
      }, before);
    } catch (error) {
      if (!(error instanceof TypeError) || !/read only|not extensible|Cannot (add|delete)/.test(error.message))
        throw error;
      throw new Broken(PURITY, error.message);
    }
  }
}

export function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const each of Object.values(value)) deepFreeze(each);
  }
  return value;
}
