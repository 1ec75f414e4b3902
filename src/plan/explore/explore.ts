import { emptyLedger } from "../ledger.ts";
import { plan } from "../plan.ts";
import { keyOf } from "./key.ts";
import type { Deed } from "./member.ts";
import { kubelet } from "./member.ts";
import {
  arrive,
  edited,
  isDeliverable,
  lookEverywhere,
  mended,
  movesOf,
  operate,
  type Planned,
  type Planner,
  planNow,
  type Step,
} from "./moves.ts";
import type { Property } from "./properties/property.ts";
import { COSTLY_PROPERTIES, PROPERTIES } from "./properties.ts";
import { askedFor } from "./rest.ts";
import type { Scenario } from "./scenario.ts";
import { clustersOf, memberOf, NO_FAULTS, type State, withMember } from "./state.ts";
import { describe } from "./trace.ts";

/** Every so many plans the costly properties are checked too. */
const COSTLY_EVERY = 7;
/** Fair rounds after which an application that has not come to rest never will: each round finishes what one plan started. */
const ROUNDS_MAX = 150;
/** Acts of one cluster within one round; more means that an operator runs in circles. */
const ACTS_MAX = 60;

export interface Outcome {
  readonly states: number;
  readonly transitions: number;
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

interface Node {
  readonly state: State;
  readonly parent: number;
  readonly label: string;
  readonly depth: number;
  /** What led to a start, told. */
  readonly prefix?: readonly string[];
}

/** Thrown inside when a property does not hold; carries what was found to where the path is known. */
class Broken extends Error {
  readonly property: Pick<Property, "rule" | "name">;
  constructor(property: Pick<Property, "rule" | "name">, what: string) {
    super(what);
    this.property = property;
  }
}

export const LIVENESS = { rule: "U2 S1", name: "when faults end, all comes to rest as asked for" } as const;
export const PURITY = { rule: "R2", name: "inputs are never changed" } as const;

/** Visits states from the nearest to the farthest, so the first violation found has the shortest path. */
export class Explorer {
  readonly #scenario: Scenario;
  #planner: Planner;
  readonly #dangers: Record<string, number> = {};
  readonly #comesToRest = new Set<string>();
  readonly #watched: ReadonlySet<string> | undefined;
  #plans = 0;
  /** Set while a counterexample is told. */
  #told: string[] | null = null;

  /** `watched`: only these properties are checked. */
  constructor(scenario: Scenario, planner: Planner, watched?: ReadonlyArray<Pick<Property, "name">>) {
    this.#scenario = scenario;
    this.#watched = watched && new Set(watched.map(({ name }) => name));
    this.#planner = (intent, ledger, observations, nowMs) => {
      try {
        return planner(deepFreeze(intent), deepFreeze(ledger), deepFreeze(observations), nowMs);
      } catch (error) {
        // A planner that changes its inputs fails here: they are frozen.
        if (!(error instanceof TypeError) || !/read only|not extensible|Cannot (add|delete)/.test(error.message))
          throw error;
        throw new Broken(PURITY, error.message);
      }
    };
    for (const { name } of [...PROPERTIES, ...COSTLY_PROPERTIES, LIVENESS]) this.#dangers[name] = 0;
  }

  explore(): Outcome {
    const nodes: Node[] = [];
    const seen = new Set<string>();
    let transitions = 0;
    const outcome = (violation: Violation | null): Outcome => ({
      states: nodes.length,
      transitions,
      depth: nodes.at(-1)?.depth ?? 0,
      complete: next >= nodes.length,
      dangers: this.#dangers,
      violation,
    });
    let next = 0;
    let label = "the start";
    try {
      for (const { state, prefix } of this.#starts()) {
        const key = keyOf(state);
        if (seen.has(key)) continue;
        seen.add(key);
        nodes.push({ state, parent: -1, label: "the start", depth: 0, prefix });
      }
      for (; next < nodes.length && nodes.length < this.#scenario.states; next++) {
        const node = nodes[next];
        if (!node) break;
        label = "faults end";
        this.#checkRest(node.state);
        for (const move of movesOf(this.#scenario, this.#planner, node.state)) {
          label = move.label;
          transitions++;
          const { state } = this.#check(node.state, move.run());
          const key = keyOf(state);
          if (seen.has(key)) continue;
          seen.add(key);
          nodes.push({ state, parent: next, label, depth: node.depth + 1 });
        }
      }
    } catch (error) {
      if (!(error instanceof Broken)) throw error;
      const { rule, name } = error.property;
      const path = pathTo(nodes, next);
      const labels = [...path.map((node) => node.label), label];
      return outcome({ rule, property: name, what: error.message, trace: this.#trace(labels, error, path[0]) });
    }
    return outcome(null);
  }

  /** Goes one way only: `choose` picks among the moves, by their number. Faults end with it, and all must come to rest. */
  walk(picks: readonly number[]): Violation | null {
    const labels: string[] = ["the start"];
    let label = "the start";
    try {
      let state = this.#start();
      for (const pick of picks) {
        const moves = movesOf(this.#scenario, this.#planner, state);
        const move = moves[pick % moves.length];
        if (!move) break;
        label = move.label;
        state = this.#check(state, move.run()).state;
        labels.push(label);
      }
      label = "faults end";
      this.#checkRest(state);
      return null;
    } catch (error) {
      if (!(error instanceof Broken)) throw error;
      const { rule, name } = error.property;
      return { rule, property: name, what: error.message, trace: this.#trace([...labels, label], error) };
    }
  }

  get dangers(): Readonly<Record<string, number>> {
    return this.#dangers;
  }

  /** The application deployed and at rest, or nothing at all. */
  #start(): State {
    const { intent, leader, start, faults } = this.#scenario;
    const given = intent.update.type === "RollingUpdate" ? Number(intent.update.maxUnavailable) : 1;
    const empty: State = {
      nowMs: 1_000_000,
      intent,
      ledger: emptyLedger(),
      hub: {},
      actions: [],
      finished: false,
      members: {},
      seen: {},
      leader,
      edits: 0,
      faults: NO_FAULTS,
      maxUnavailable: given,
      requeueAtMs: undefined,
      droppedWhileLost: [],
    };
    if (start === "empty") return { ...empty, faults };
    // How the application was deployed is not in question here, so even a mutant begins with a sound one.
    const planner = this.#planner;
    this.#planner = plan;
    const { state } = this.#calm(empty);
    this.#planner = planner;
    return { ...state, faults };
  }

  /**
   * Not only the beginning: every stage that an undisturbed run passes through after the first edit, so that faults and the
   * further edits meet each of them within few moves.
   */
  #starts(): Array<{ state: State; prefix: string[] }> {
    const first = this.#start();
    const starts = [{ state: first, prefix: [] as string[] }];
    const { edits, faults } = this.#scenario;
    if (!this.#scenario.stages || (edits.length === 0 && this.#scenario.start === "deployed")) return starts;
    const told: string[] = [];
    let state: State = { ...first, faults: NO_FAULTS };
    const go = (label: string, step: Step): void => {
      told.push(`- ${label}`, ...describe(state, step));
      state = this.#check(state, step).state;
      starts.push({ state: { ...state, faults }, prefix: [...told] });
    };
    const edit = edits[0];
    if (edit && this.#scenario.start === "deployed") {
      go(`edit: ${edit.label}`, planNow(this.#scenario, this.#planner, edited(this.#scenario, state)));
    }
    for (let round = 0; round < ROUNDS_MAX; round++) {
      const before = keyOf(state);
      for (let moves = 0; moves < ACTS_MAX; moves++) {
        const move = movesOf(this.#scenario, this.#planner, state).find(
          ({ label }) => label.includes(": the ") || label.includes(": an "),
        );
        if (!move) break;
        go(move.label, move.run());
      }
      go("look everywhere", lookEverywhere(this.#scenario, this.#planner, state));
      if (keyOf(state) !== before) continue;
      if (state.requeueAtMs === undefined) break;
      state = { ...state, nowMs: state.requeueAtMs };
    }
    return starts;
  }

  #check(before: State, step: Step): Step {
    this.#told?.push(...describe(before, step));
    for (const deed of step.deeds) this.#judge((property) => checkDeed(property, deed, before, step.state));
    const { planned } = step;
    if (planned) {
      this.#judge((property) => checkPlan(property, planned, this.#planner));
      if (this.#plans++ % COSTLY_EVERY === 0) {
        this.#judge((property) => checkPlan(property, planned, this.#planner), COSTLY_PROPERTIES);
      }
    }
    return step;
  }

  #judge(check: (property: Property) => ReturnType<Property["check"]>, properties = PROPERTIES): void {
    for (const property of properties) {
      if (this.#watched && !this.#watched.has(property.name)) continue;
      const verdict = check(property);
      if (verdict === "quiet") continue;
      this.#dangers[property.name] = (this.#dangers[property.name] ?? 0) + 1;
      if (verdict !== "danger") throw new Broken(property, verdict.broken);
    }
  }

  /** [U2] Faults end, people answer what they are asked, the remaining edits are made: then all must come to rest as asked. */
  #checkRest(from: State): void {
    const { intent } = from;
    const everybody = clustersOf(from);
    const waves = intent.update.type === "RollingUpdate" ? intent.update.waves : [];
    const revisions = ["A", "B", "C", "D"];
    let state: State = { ...from, faults: NO_FAULTS };
    for (const cluster of everybody) {
      state = mended(state, cluster);
      const member = memberOf(state, cluster);
      if (member.mute) state = withMember(state, cluster, { ...member, mute: false });
    }
    // First nobody answers: whatever is waited for is waited for in peace. Then people do what the remedies say.
    const quiet = this.#calm(state, true);
    const approvals = waves.flatMap((_, wave) => revisions.map((revision) => ({ revision, wave })));
    const answered = (one: State): State => ({
      ...one,
      intent: {
        ...one.intent,
        requests: { ...one.intent.requests, confirmedDrain: everybody, confirmedLost: [], resume: "end", approvals },
      },
    });
    const { path, state: rest, known } = quiet.known ? quiet : this.#calm(answered(quiet.state), true);
    if (path !== quiet.path) path.push(...quiet.path);
    if (!known) {
      this.#dangers[LIVENESS.name] = (this.#dangers[LIVENESS.name] ?? 0) + 1;
      const wrong = askedFor(this.#scenario, rest);
      if (wrong && (this.#watched?.has(LIVENESS.name) ?? true))
        throw new Broken(LIVENESS, `${wrong}; ${waitingText(this.#planner, rest)}`);
    }
    for (const key of path) this.#comesToRest.add(key);
  }

  /** Everybody does all that is left to do, round by round. `toTheEnd`: edits that are left are made on the way. */
  #calm(from: State, toTheEnd = false): { state: State; path: string[]; known: boolean } {
    const path: string[] = [];
    let state = from;
    for (let round = 0; round < ROUNDS_MAX; round++) {
      const key = keyOf(state);
      if (toTheEnd && this.#comesToRest.has(key)) return { state, path, known: true };
      path.push(key);
      const before = state;
      state = this.#check(state, lookEverywhere(this.#scenario, this.#planner, state)).state;
      for (const cluster of clustersOf(state)) state = this.#workIn(state, cluster);
      if (keyOf(state) !== keyOf(before)) continue;
      const isAnswered = state.intent.requests.resume !== undefined;
      if (toTheEnd && isAnswered && state.edits < this.#scenario.edits.length) {
        state = edited(this.#scenario, state);
      } else if (state.requeueAtMs !== undefined) {
        state = { ...state, nowMs: state.requeueAtMs };
        state = this.#check(state, planNow(this.#scenario, this.#planner, state)).state;
      } else if (toTheEnd && isAnswered && state.ledger.halt) {
        // A person looks at the halt and lets it go on.
        const { intent } = state;
        const requests = { ...intent.requests, resume: `${intent.requests.resume}+` };
        state = { ...state, intent: { ...intent, requests } };
      } else return { state, path, known: false };
    }
    const what = `not at rest after ${ROUNDS_MAX} fair rounds; ${waitingText(this.#planner, state)}`;
    if (this.#watched && !this.#watched.has(LIVENESS.name)) return { state, path: [], known: true };
    throw new Broken(LIVENESS, what);
  }

  #workIn(from: State, cluster: string): State {
    let state = from;
    for (let acts = 0; acts < ACTS_MAX; acts++) {
      const before = state;
      if (isDeliverable(state, cluster)) state = this.#check(state, arrive(state, cluster)).state;
      const member = memberOf(state, cluster);
      if (member.read !== member.live) state = withMember(state, cluster, { ...member, read: member.live });
      state = this.#check(state, operate(this.#scenario, state, cluster)).state;
      const moved = kubelet(this.#scenario, memberOf(state, cluster));
      if (moved) state = withMember(state, cluster, moved);
      if (state === before) break;
    }
    return state;
  }

  /** Plays the moves again, this time telling what happens. */
  #trace(labels: readonly string[], error: Broken, start?: Node): string {
    const { rule, name } = error.property;
    const lines = [`[${rule}] ${name}`, `  broken: ${error.message}`, `  scenario: ${this.#scenario.name}`];
    let state: State;
    if (start) {
      lines.push(...(start.prefix ?? []));
      state = start.state;
    } else {
      try {
        state = this.#start();
      } catch {
        return [...lines, "  on the way to the start"].join("\n");
      }
    }
    for (const label of labels.slice(1)) {
      lines.push(`- ${label}`);
      const move = movesOf(this.#scenario, this.#planner, state).find((each) => each.label === label);
      if (!move) {
        // Not a move: faults end, and everybody works to the end.
        this.#told = lines;
        try {
          this.#checkRest(state);
        } catch {}
        this.#told = null;
        break;
      }
      const step = move.run();
      lines.push(...describe(state, step));
      state = step.state;
    }
    return lines.join("\n");
  }
}

function checkDeed(property: Property, deed: Deed, before: State, after: State): ReturnType<Property["check"]> {
  return property.on === "deed" ? property.check(deed, before, after) : "quiet";
}

function checkPlan(property: Property, planned: Planned, planner: Planner): ReturnType<Property["check"]> {
  return property.on === "plan" ? property.check(planned, planner) : "quiet";
}

function pathTo(nodes: readonly Node[], last: number): Node[] {
  const path: Node[] = [];
  for (let at = nodes[last]; at; at = nodes[at.parent]) path.unshift(at);
  return path;
}

function waitingText(planner: Planner, state: State): string {
  const { waiting } = planNow({ dispatchFirst: false }, planner, state).planned?.result ?? { waiting: [] };
  return `waiting: ${waiting.map(({ cluster, code }) => `${cluster ?? ""} ${code}`).join(", ") || "for nothing"}`;
}

export function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const each of Object.values(value)) deepFreeze(each);
  }
  return value;
}
