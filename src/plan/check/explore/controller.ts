import { decodeInstances } from "../../identity/topology.ts";
import { foundGrantOf, parseFoundGrant, rebuildLedger } from "../../ledger/ledger.ts";
import type { ClusterName, Intent, Ledger, Observations, PlanResult, TimeMs } from "../../types/index.ts";
import type { Deed } from "./operator.ts";
import type { Scenario } from "./scenario.ts";
import { type Dispatched, observationsOf, type Place, placeOf, type State, withPlace } from "./state.ts";

/** What is explored: the planner, or a broken one. */
export type Planner = (intent: Intent, ledger: Ledger, observations: Observations, nowMs: TimeMs) => PlanResult;

/** A plan that was made, with the state that it was made in. */
export interface Planned {
  readonly before: State;
  readonly observations: Observations;
  readonly result: PlanResult;
  /** It moves nothing: no entry of the ledger is another, and nothing is deleted. */
  readonly idle: boolean;
  /** What was dispatched of it so far: the same object for the same grant. */
  readonly dispatches: Map<ClusterName, Dispatched>;
}

export function plannedOn(planner: Planner, before: State): Planned {
  const observations = observationsOf(before);
  const result = planner(before.intent, before.ledger, observations, before.nowMs);
  const { ledger, actions } = result;
  const idle =
    actions.length === 0 &&
    Object.entries(ledger.clusters).every(([cluster, entry]) => before.ledger.clusters[cluster] === entry);
  return { before, observations, result, idle, dispatches: new Map() };
}

/** Plans on a state as it stands; may answer from memory, and then for a state that differs in nothing that matters. */
export type PlanOn = (state: State) => Planned;

/** What came of a move. */
export interface Step {
  readonly state: State;
  /** What operators did to instances, each with the world as it was just before. */
  readonly deeds: readonly Deed[];
  readonly planned?: Planned;
}

/**
 * How a controller ends in the middle of its work: what it had dispatched by then, and whether the rest may still land.
 */
export interface CutShort {
  readonly only: readonly ClusterName[];
  readonly deposed: boolean;
}

/** Plans, writes the ledger, dispatches. */
export function planAndDispatch(
  scenario: Pick<Scenario, "dispatchFirst" | "unfenced" | "faults">,
  planOn: PlanOn,
  state: State,
  end?: CutShort,
): Step {
  const only = end?.only;
  const planned = planOn(state);
  const { before, result } = planned;
  const { ledger, actions, finished } = result;
  const places: Record<ClusterName, Place> = { ...before.places };
  // A new leader stamps every dispatch object before it plans: what a former one had in flight is refused from then on.
  const late: Record<ClusterName, Dispatched> = scenario.unfenced ? { ...before.late } : {};
  for (const cluster of changedBy(planned)) {
    const given = planned.dispatches.get(cluster) ?? dispatchOf(scenario, ledger, cluster);
    if (!given) continue;
    planned.dispatches.set(cluster, given);
    if (only && !only.includes(cluster)) {
      if (end?.deposed) late[cluster] = given;
      continue;
    }
    places[cluster] = { ...placeOf(before, cluster), given };
  }
  for (const cluster in places) {
    const place = places[cluster];
    if (!place?.given) continue;
    const released = actions.some((action) => action.kind === "release" && action.cluster === cluster);
    if (!only && (released || !ledger.clusters[cluster]?.grant)) places[cluster] = { ...place, given: null };
    // What a lost cluster took down counts as lost with it, and no longer as what Lockstep keeps down.
    const lost = ledger.clusters[cluster]?.presence.kind === "lost";
    const { member } = place;
    if (lost && !member.givenUp)
      places[cluster] = { ...(places[cluster] ?? place), member: { ...member, ownDown: {}, givenUp: true } };
  }
  const dispatchedFirst = scenario.dispatchFirst && only !== undefined;
  return {
    state: {
      ...before,
      ledger: dispatchedFirst ? before.ledger : ledger,
      places,
      late: Object.keys(late).length === 0 ? NOTHING_LATE : late,
      actions: only ? [] : actions,
      finished: only ? before.finished : finished,
    },
    deeds: [],
    planned,
  };
}

export const NOTHING_LATE: State["late"] = {};

/**
 * What a deposed leader had in flight still arrives, because the new leader has not stamped the dispatch object yet.
 */
export function landed(state: State, cluster: ClusterName): Step {
  const { [cluster]: given, ...late } = state.late;
  if (!given) return { state, deeds: [] };
  const rest = Object.keys(late).length === 0 ? NOTHING_LATE : late;
  const deeds: Deed[] = [{ kind: "landed", cluster, epoch: given.grant.epoch }];
  return { state: withPlace({ ...state, late: rest }, cluster, { given }), deeds };
}

/** Clusters whose dispatch object is not what the plan says. */
export function changedBy({ before, result: { grants, actions } }: Planned): ClusterName[] {
  const gone = new Set<ClusterName>();
  for (const action of actions) if (action.kind !== "deletePods") gone.add(action.cluster);
  const changed: ClusterName[] = [];
  for (const { cluster, epoch } of grants) {
    if (!gone.has(cluster) && before.places[cluster]?.given?.grant.epoch !== epoch) changed.push(cluster);
  }
  return changed;
}

function dispatchOf(scenario: Pick<Scenario, "faults">, ledger: Ledger, cluster: ClusterName): Dispatched | undefined {
  const entry = ledger.clusters[cluster];
  if (!entry?.grant) return undefined;
  const { grant } = entry;
  const shape = ledger.topologies[String(grant.topologyVersion)]?.[cluster];
  // A cluster whose instances were removed from the application is in no topology any more, and keeps what it has.
  const instances = shape === undefined ? entry.instances : decodeInstances(shape);
  const ordinals = instances.filter((each) => each.state !== "leaving").map(({ ordinal }) => ordinal);
  const found = scenario.faults.rebuild > 0 ? (foundGrantOf(ledger, cluster) ?? null) : null;
  return { grant, ordinals, found };
}

/** Every grant of the ledger stands on the hub. Otherwise a crash lost a dispatch, and the next plan repeats it. */
export function isSynced({ ledger, places }: State): boolean {
  for (const cluster in ledger.clusters) {
    const grant = ledger.clusters[cluster]?.grant;
    if (grant && places[cluster]?.given?.grant.epoch !== grant.epoch) return false;
  }
  return true;
}

/** The ledger as the dispatch objects alone tell it. */
export function rebuilt(state: State): State {
  const found = Object.values(state.places).flatMap(({ given }) =>
    given?.found ? [parseFoundGrant(JSON.parse(JSON.stringify(given.found)))] : [],
  );
  return { ...state, ledger: rebuildLedger(found) };
}
