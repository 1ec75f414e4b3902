import type { Observation } from "../../types/index.ts";
import { type Planner, plannedOn, type Step } from "./controller.ts";
import { Moves } from "./moves.ts";
import type { Deed } from "./operator.ts";
import { Rest } from "./rest.ts";
import type { Scenario } from "./scenario.ts";
import { memberOf, type State } from "./state.ts";
import { Watch } from "./watch.ts";
import { World } from "./world.ts";

/**
 * A way through a scenario: which move was picked each time. `before`: without faults, on the way to where they begin.
 */
export interface Path {
  readonly from: State;
  readonly before: readonly number[];
  readonly picks: readonly number[];
}

/**
 * Where a violation was found at the end of a path: on the path, while the next moves were searched, in a further move,
 * while the fleet settled, or in a cycle of so many moves.
 */
export type Ending = "start" | "moves" | "rest" | number | { readonly circle: number };

/** Goes the way again, this time telling what happens, with times and epochs as they would really be. */
export function traceOf(scenario: Scenario, planner: Planner, { from, before, picks }: Path, ending: Ending): string[] {
  const lines: string[] = [];
  const moves = new Moves(scenario, (state) => plannedOn(planner, state));
  let state = from;
  const go = (pick: number): void => {
    const move = moves.of(state)[pick];
    if (!move) throw new Error(`the way cannot be gone again: there is no move ${pick} after\n${lines.join("\n")}`);
    lines.push(`- ${move.label}`);
    const step = move.run();
    lines.push(...describe(state, step));
    state = step.state;
  };
  for (const pick of before) go(pick);
  state = { ...state, faults: scenario.faults };
  for (const pick of picks) go(pick);
  if (typeof ending === "number") go(ending);
  if (ending === "rest") {
    lines.push("- faults end (epochs, versions and times count from the newest now)");
    const watch = new Watch(planner, []);
    new Rest(scenario, new World(scenario, planner, watch), watch).check(state, (was, step) => {
      lines.push(...describe(was, step));
    });
  }
  if (typeof ending === "object") lines.push(`- and so on in a circle of ${ending.circle} moves`);
  return lines;
}

/** What a move did, for a person who reads a counterexample. */
export function describe(before: State, { state, deeds, planned }: Step): string[] {
  const lines: string[] = [];
  for (const deed of deeds) lines.push(`    ${deed.cluster}: ${toldOf(deed)}`);
  for (const cluster of Object.keys(state.places)) {
    if (memberOf(state, cluster).pods === memberOf(before, cluster).pods) continue;
    const pods = memberOf(state, cluster).pods.map(({ ordinal, revision, phase }) => `${ordinal}:${revision}:${phase}`);
    lines.push(`    ${cluster} runs ${pods.join(" ") || "nothing"}`);
  }
  if (!planned) return lines;
  for (const [cluster, { seen }] of Object.entries(planned.before.places)) {
    const observation = seen?.observation;
    if (observation && observation !== before.places[cluster]?.seen?.observation)
      lines.push(`    sees ${cluster}: ${shown(observation)}`);
  }
  const { result } = planned;
  for (const { cluster, kind, epoch, why } of result.steps) {
    const grant = result.grants.find((each) => each.cluster === cluster);
    const content = grant
      ? `${grant.revision} x${grant.replicas} partition ${grant.partition} processor ` +
        `${grant.processor} topology ${grant.topologyVersion}`
      : "";
    lines.push(`    grants ${cluster} ${kind} @${epoch}: ${content} (${why})`);
  }
  for (const { kind, cluster } of result.actions) lines.push(`    acts: ${kind} ${cluster}`);
  for (const { code, cluster, message } of result.waiting)
    lines.push(`    waits: ${cluster ?? ""} ${code}: ${message}`);
  for (const [cluster, entry] of Object.entries(result.ledger.clusters)) {
    const was = planned.before.ledger.clusters[cluster];
    if (was && was.turn === entry.turn && was.done === entry.done && was.instances === entry.instances) continue;
    const held = entry.instances.map((each) => `${each.ordinal}:${each.state}`).join(" ");
    lines.push(`    ledger ${cluster}: turn ${entry.turn}, done ${entry.done}, base ${entry.baseRevision}, ${held}`);
  }
  return lines;
}

function toldOf(deed: Deed): string {
  switch (deed.kind) {
    case "removed":
      return "its object is removed";
    case "landed":
      return `epoch ${deed.epoch} lands`;
    default:
      return `${deed.ordinal} ${deed.kind}`;
  }
}

function shown(seen: Observation): string {
  if (seen.kind !== "present") return seen.kind;
  const { live, counts, report, health } = seen;
  const counted =
    `replicas ${counts.replicas} ready ${counts.ready} updated ${counts.updated} ` +
    `terminating ${counts.terminating}`;
  const observed = `generation ${seen.generation} observed ${seen.observedGeneration}`;
  const said = report
    ? `, reports @${report.epoch} ${report.revision} ${report.phase} ready ${report.ready} updated ${report.updated}`
    : "";
  const pods = seen.instances?.map(
    (each) => `${each.ordinal}${each.updated ? "+" : "-"}${each.terminating ? "T" : each.ready ? "R" : "s"}`,
  );
  return (
    `@${live.epoch} ${live.revision} x${live.replicas}, ${observed}, ${counted}, ` +
    `${health}${said}${pods ? `, pods ${pods.join(" ")}` : ""}`
  );
}
