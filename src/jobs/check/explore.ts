import { keyOf } from "./canon.ts";
import { MODEL_INTENT, type Mutation, type Scenario, type State, start, steps, violation } from "./model.ts";

export interface Explored {
  readonly states: number;
  readonly isComplete: boolean;
  /** The first violation, with the steps that lead to it. */
  readonly found?: { readonly what: string; readonly trace: readonly string[] };
  /** How many states were followed to their end. */
  readonly followed: number;
}

interface Node {
  readonly state: State;
  readonly step: string;
  readonly from: Node | undefined;
}

/** So many fair rounds suffice from any state to the end of the work. */
const FAIR_ROUNDS = 60;
/** Following every state to its end would take hours; each so many-th is followed. */
const FOLLOW_EACH = 97;

/** Visits every state that can be reached, in every order of events, breadth first. */
export function explore(scenario: Scenario, mutation: Mutation = {}, maxStates = 400_000): Explored {
  const guarantee = scenario.intent?.guarantee ?? MODEL_INTENT.guarantee;
  const first: Node = { state: start(scenario), step: "start", from: undefined };
  const known = new Set([keyOf(first.state)]);
  let layer = [first];
  let followed = 0;
  const report = (what: string, node: Node): Explored => ({
    states: known.size,
    isComplete: false,
    found: { what, trace: traceOf(node) },
    followed,
  });
  while (layer.length > 0) {
    const next: Node[] = [];
    for (const node of layer) {
      let possible: ReturnType<typeof steps>;
      try {
        possible = steps(node.state, scenario, mutation);
      } catch (error) {
        return report(error instanceof Error ? error.message : String(error), node);
      }
      for (const { name, to } of possible) {
        const reached: Node = { state: to, step: name, from: node };
        const wrong = violation(node.state, to, guarantee);
        if (wrong !== undefined) return report(wrong, reached);
        const key = keyOf(to);
        if (known.has(key)) continue;
        known.add(key);
        if (known.size % FOLLOW_EACH === 0) {
          followed++;
          if (!endsFairly(to, scenario, mutation)) return report("the work never ends", reached);
        }
        next.push(reached);
        if (known.size >= maxStates) return { states: known.size, isComplete: false, followed };
      }
    }
    layer = next;
  }
  return { states: known.size, isComplete: true, followed };
}

/** Whether the work ends when no fault happens any more and every other step gets its turn. */
function endsFairly(from: State, scenario: Scenario, mutation: Mutation): boolean {
  let state = structuredClone(from);
  for (let round = 0; round < FAIR_ROUNDS && state.ledger.end === null; round++) {
    const done = new Set<string>();
    for (;;) {
      const step = steps(state, scenario, mutation).find(
        ({ name, isFault }) => !isFault && name !== "tick" && !name.startsWith("mend") && !done.has(name),
      );
      if (!step) break;
      done.add(step.name);
      state = step.to;
    }
    state = steps(state, scenario, mutation).find(({ name }) => name === "tick")?.to ?? state;
  }
  return state.ledger.end !== null;
}

function traceOf(node: Node): string[] {
  const trace: string[] = [];
  for (let each: Node | undefined = node; each; each = each.from) trace.unshift(each.step);
  return trace;
}
