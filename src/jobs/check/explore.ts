import { type Random, seededRandom } from "../../runtime/index.ts";
import { keyOf } from "./canon.ts";
import { MODEL_INTENT, type Mutation, type Scenario, type State, type Step, start, steps, violation } from "./model.ts";

export interface Explored {
  readonly states: number;
  /** Every state that can be reached was visited. */
  readonly isComplete: boolean;
  /** The first violation, with the steps that lead to it. */
  readonly found?: { readonly what: string; readonly trace: readonly string[] };
}

interface Node {
  readonly state: State;
  readonly step: string;
  readonly from: Node | undefined;
}

/**
 * Visits every state that can be reached, in every order of events, breadth first. Work that loses its clusters again and
 * again has attempts without end: what comes after `maxAttempts` of them is not followed.
 */
export function explore(
  scenario: Scenario,
  maxStates: number,
  maxAttempts = Number.POSITIVE_INFINITY,
  mutation: Mutation = {},
): Explored {
  const guarantee = scenario.intent?.guarantee ?? MODEL_INTENT.guarantee;
  const first: Node = { state: start(scenario), step: "start", from: undefined };
  const known = new Set([keyOf(first.state)]);
  const open = [first];
  const report = (what: string, node: Node): Explored => ({
    states: known.size,
    isComplete: false,
    found: { what, trace: traceOf(node) },
  });
  for (const node of open) {
    for (const { name, take } of steps(node.state, scenario, mutation)) {
      const to = attempt(take);
      if (typeof to === "string") return report(to, { state: node.state, step: name, from: node });
      if (!to) continue;
      const reached: Node = { state: to, step: name, from: node };
      const wrong = violation(node.state, to, guarantee);
      if (wrong !== undefined) return report(wrong, reached);
      const key = keyOf(to);
      if (known.has(key)) continue;
      known.add(key);
      if (to.ledger.nextAttempt <= maxAttempts + 1) open.push(reached);
      if (known.size >= maxStates) return { states: known.size, isComplete: false };
    }
  }
  return { states: known.size, isComplete: true };
}

/** A walk takes so many steps with faults, then continues without them until the work has ended. */
const STEPS = 70;
const FAIR_STEPS = 4_000;
/**
 * Time passes less often than everything else happens; otherwise nothing would happen in time. Some mistakes need that
 * much happens within one step of the clock, others that several steps pass: the seeds take turns.
 */
const TICK_SHARES = [0.16, 0.07] as const;
/** Faults and what takes long are seldom chosen: otherwise few attempts would live long enough for anything to go wrong. */
const SELDOM = /^(?:succeed|mend|ended|deadline) /;
const SELDOM_WEIGHT = 0.15;

/** Random walks, each from its seed: as deep as a breadth-first search never comes. */
export function walk(scenario: Scenario, seeds: number, mutation: Mutation = {}, fairSteps = FAIR_STEPS): Explored {
  const guarantee = scenario.intent?.guarantee ?? MODEL_INTENT.guarantee;
  let states = 0;
  for (let seed = 1; seed <= seeds; seed++) {
    const random = seededRandom(seed);
    let state = start(scenario);
    const trace: string[] = [`seed ${seed}`];
    for (let at = 0; at < STEPS + fairSteps; at++) {
      const isFair = at >= STEPS;
      if (isFair && state.ledger.end) break;
      const tickShare = TICK_SHARES[seed % TICK_SHARES.length] ?? TICK_SHARES[0];
      const next = randomStep(state, scenario, mutation, random, isFair ? undefined : tickShare);
      if (!next) continue;
      trace.push(next.name);
      const report = (what: string): Explored => ({ states, isComplete: false, found: { what, trace } });
      if (typeof next.to === "string") return report(next.to);
      const wrong = violation(state, next.to, guarantee);
      if (wrong !== undefined) return report(wrong);
      state = next.to;
      states++;
      if (fairSteps > 0 && at === STEPS + fairSteps - 1 && !state.ledger.end) return report("the work never ends");
    }
  }
  return { states, isComplete: false };
}

/** Takes the named steps in their order, those that are possible. Returns what goes wrong; undefined: nothing. */
export function play(scenario: Scenario, names: readonly string[], mutation: Mutation = {}): string | undefined {
  const guarantee = scenario.intent?.guarantee ?? MODEL_INTENT.guarantee;
  let state = start(scenario);
  for (const name of names) {
    const step = steps(state, scenario, mutation).find((each) => each.name === name);
    const to = step && attempt(step.take);
    if (typeof to === "string") return to;
    if (!to) continue;
    const wrong = violation(state, to, guarantee);
    if (wrong !== undefined) return wrong;
    state = to;
  }
  return undefined;
}

function randomStep(
  state: State,
  scenario: Scenario,
  mutation: Mutation,
  random: Random,
  tickShare: number | undefined,
) {
  const isFair = tickShare === undefined;
  const all = steps(state, scenario, mutation).filter(({ isFault }) => !(isFair && isFault));
  const tick = all.find(({ name }) => name === "tick");
  const others = all.filter(({ name }) => name !== "tick");
  if (tick && random.next() < (tickShare ?? TICK_SHARES[0])) return { name: "tick", to: attempt(tick.take) ?? state };
  const weightOf = ({ name, isFault }: Step) => (!isFair && (isFault || SELDOM.test(name)) ? SELDOM_WEIGHT : 1);
  let at = random.next() * others.reduce((sum, step) => sum + weightOf(step), 0);
  const chosen = others.find((step) => {
    at -= weightOf(step);
    return at < 0;
  });
  const to = chosen && attempt(chosen.take);
  return chosen && to !== undefined ? { name: chosen.name, to } : undefined;
}

/** The text: what a check inside the step found. */
function attempt(take: () => State | undefined): State | string | undefined {
  try {
    return take();
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function traceOf(node: Node): string[] {
  const trace: string[] = [];
  for (let each: Node | undefined = node; each; each = each.from) trace.unshift(each.step);
  return trace;
}
