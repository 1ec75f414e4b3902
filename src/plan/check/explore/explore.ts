import type { Planner } from "./controller.ts";
import { Graph } from "./graph.ts";
import type { Move, MoveKind } from "./moves.ts";
import type { Property } from "./properties/property.ts";
import { Rest } from "./rest.ts";
import type { Scenario } from "./scenario.ts";
import { startOf } from "./start.ts";
import type { State } from "./state.ts";
import { type Ending, type Path, traceOf } from "./trace.ts";
import { Broken, LIVENESS, Watch } from "./watch.ts";
import { World } from "./world.ts";

export interface Outcome {
  readonly states: number;
  readonly transitions: number;
  /** Different inputs that the planner was given. */
  readonly plans: number;
  /** Moves from the start to the state that is farthest from it. */
  readonly depth: number;
  /** Nothing was left out: every state that can be reached was visited. */
  readonly complete: boolean;
  /** How often the danger of each property was there. */
  readonly dangers: Readonly<Record<string, number>>;
  readonly violation: Violation | null;
}

export interface Violation {
  readonly property: string;
  readonly rule: string;
  readonly what: string;
  readonly trace: string;
}

/** How far to look. */
export interface Bounds {
  /** At most so many states, those nearest to the start. */
  readonly atMost: number;
  /**
   * Not only from the beginning, but from every stage that an undisturbed run passes through after the first edit:
   * faults and the further edits meet each of them within few moves. For a part of a scenario that is too large to be
   * explored now.
   */
  readonly fromEveryStage: boolean;
}

/** A scenario that has more is not meant to be closed: memory and patience end. */
const EVERYTHING: Bounds = { atMost: 4_000_000, fromEveryStage: false };

interface Start {
  readonly state: State;
  /** What led there from the beginning, without faults. */
  readonly picks: readonly number[];
}

const BY_ITSELF: ReadonlySet<MoveKind> = new Set(["work", "look", "heal"]);

/** An undisturbed run has fewer moves; more means that it never ends, and the properties will say so. */
const STAGES_MAX = 400;

/** Visits states from the nearest to the farthest, so the first violation found has the shortest path. */
export class Explorer {
  readonly #scenario: Scenario;
  readonly #planner: Planner;
  readonly #watch: Watch;
  readonly #world: World;
  readonly #rest: Rest;

  /** `watched`: only these properties are checked. */
  constructor(scenario: Scenario, planner: Planner, watched?: ReadonlyArray<Pick<Property, "name">>) {
    this.#scenario = scenario;
    this.#planner = planner;
    this.#watch = new Watch(planner, watched);
    this.#world = new World(scenario, planner, this.#watch);
    this.#rest = new Rest(scenario, this.#world, this.#watch);
  }

  get dangers(): Readonly<Record<string, number>> {
    return this.#watch.dangers;
  }

  /**
   * Visits every state, unless bounds are given. Then no cycle may exist without external events, so that every path
   * ends in a state where nothing is left to do; from each of those, the fleet must settle as requested. With
   * `fromEveryStage`: from every visited state, one fair path must lead to a settled fleet.
   */
  explore({ atMost, fromEveryStage }: Bounds = EVERYTHING): Outcome {
    const world = this.#world;
    const graph = new Graph();
    const queue: Array<State | undefined> = [];
    const starts: Start[] = [];
    const first = startOf(this.#scenario);
    let transitions = 0;
    let at = 0;
    let ending: Ending = "start";
    const outcome = (violation: Violation | null): Outcome => ({
      states: graph.size,
      transitions,
      plans: world.plans,
      depth: graph.pathTo(graph.size - 1).picks.length,
      complete: violation === null && at === graph.size,
      dangers: this.#watch.dangers,
      violation,
    });
    const broken = (error: Broken, id: number, end: Ending): Outcome => {
      const { start, picks } = graph.pathTo(id);
      const path: Path = { from: first, before: starts[start]?.picks ?? [], picks };
      return outcome(this.#violation(error, path, end));
    };
    try {
      for (const start of fromEveryStage ? this.#stages(first) : [{ state: first, picks: [] }]) {
        const state = world.canonical({ ...start.state, faults: this.#scenario.faults });
        if (!graph.find(world.key(state), -1, 0).isNew) continue;
        queue.push(state);
        starts.push(start);
      }
      for (; at < graph.size && graph.size < atMost; at++) {
        const state = queue[at];
        queue[at] = undefined;
        if (!state) break;
        graph.expand();
        ending = "rest";
        if (fromEveryStage) this.#rest.check(state);
        ending = "moves";
        let goesOn = false;
        for (const [pick, move] of world.moves.of(state).entries()) {
          ending = pick;
          transitions++;
          const next = world.after(state, move.run());
          const { id, isNew } = graph.find(world.key(next), at, pick);
          if (isNew) queue.push(next);
          if (id === at || !BY_ITSELF.has(move.kind)) continue;
          goesOn = true;
          graph.edge(id);
        }
        ending = "rest";
        if (!fromEveryStage && !goesOn) this.#rest.check(state);
      }
    } catch (error) {
      if (!(error instanceof Broken)) throw error;
      return broken(error, at, ending);
    }
    const circle = at === graph.size && this.#watch.watches(LIVENESS) ? graph.circle() : undefined;
    if (circle) {
      const error = new Broken(LIVENESS, `${circle.length} states go in circles by themselves`);
      return broken(error, circle[0] ?? 0, { circle: circle.length });
    }
    return outcome(null);
  }

  /** Follows one path: each pick chooses among the moves. At its end all faults end, and the fleet must settle. */
  walk(picks: readonly number[]): Violation | null {
    return this.#go(picks.map((pick) => (moves) => pick % moves.length));
  }

  /** Goes one way only, by the moves' labels: a counterexample, kept. */
  follow(labels: readonly string[]): Violation | null {
    return this.#go(
      labels.map((label) => (moves) => {
        const found = moves.findIndex((move) => move.label === label);
        if (found >= 0) return found;
        const open = moves.map((move) => move.label).join("; ");
        throw new Error(`'${label}' cannot happen in '${this.#scenario.name}'; what can: ${open}`);
      }),
    );
  }

  #go(choices: ReadonlyArray<(moves: readonly Move[]) => number>): Violation | null {
    const world = this.#world;
    const from = startOf(this.#scenario);
    const gone: number[] = [];
    let ending: Ending = "start";
    try {
      let state = world.canonical({ ...from, faults: this.#scenario.faults });
      for (const choose of choices) {
        ending = "moves";
        const moves = world.moves.of(state);
        const chosen = choose(moves);
        const move = moves[chosen];
        if (!move) break;
        ending = chosen;
        state = world.after(state, move.run());
        gone.push(chosen);
      }
      ending = "rest";
      this.#rest.check(state);
      return null;
    } catch (error) {
      if (!(error instanceof Broken)) throw error;
      return this.#violation(error, { from, before: [], picks: gone }, ending);
    }
  }

  /** The beginning, and every stage of an undisturbed run. */
  #stages(first: State): Start[] {
    const world = this.#world;
    const starts: Start[] = [{ state: first, picks: [] }];
    let state = world.canonical(first);
    let picks: number[] = [];
    for (let stage = 0; stage < STAGES_MAX; stage++) {
      const moves = world.moves.of(state);
      const begins = stage === 0 && this.#scenario.start === "deployed";
      const pick = ["work", "look", ...(begins ? ["edit"] : [])]
        .map((kind) => moves.findLastIndex((move) => move.kind === kind))
        .find((found) => found >= 0);
      const move = pick === undefined ? undefined : moves[pick];
      if (!move || pick === undefined) break;
      state = world.after(state, move.run());
      picks = [...picks, pick];
      starts.push({ state, picks });
    }
    return starts;
  }

  #violation(error: Broken, path: Path, ending: Ending): Violation {
    const { rule, name } = error.property;
    const told = traceOf(this.#scenario, this.#planner, path, ending);
    const trace = [`[${rule}] ${name}`, `  broken: ${error.message}`, `  scenario: ${this.#scenario.name}`, ...told];
    return { rule, property: name, what: error.message, trace: trace.join("\n") };
  }
}
