import { foundGrantOf, parseFoundGrant, rebuildLedger } from "../ledger.ts";
import { decodeInstances } from "../topology.ts";
import type { ClusterName, Intent, Ledger, Observation, Observations, PlanResult, TimeMs } from "../types.ts";
import { act, type Deed, deliver, kubelet, look, takeDown } from "./member.ts";
import type { Scenario } from "./scenario.ts";
import type { Dispatched, Faults, Member, Pod, State } from "./state.ts";
import { clustersOf, memberOf, withMember } from "./state.ts";

/** What is explored: the planner, or a broken one. */
export type Planner = (intent: Intent, ledger: Ledger, observations: Observations, nowMs: TimeMs) => PlanResult;

/** Somebody does one small thing. `run` says what came of it. */
export interface Move {
  readonly label: string;
  readonly run: () => Step;
}

export interface Step {
  readonly state: State;
  /** What operators did to instances, each with the world as it was just before. */
  readonly deeds: readonly Deed[];
  /** The plan that was made, with the state that it was made in. */
  readonly planned?: Planned;
}

export interface Planned {
  readonly before: State;
  readonly observations: Observations;
  readonly result: PlanResult;
}

/** Every move that changes something, in a fixed order. */
export function movesOf(scenario: Scenario, planner: Planner, state: State): Move[] {
  const moves: Move[] = [];
  const clusters = clustersOf(state);
  for (const cluster of clusters) {
    pushMember(scenario, state, cluster, moves);
    pushLooks(scenario, planner, state, cluster, moves);
    pushFaults(scenario, planner, state, cluster, moves);
  }
  moves.push({ label: "look everywhere", run: () => lookEverywhere(scenario, planner, state) });
  const edit = scenario.edits[state.edits];
  if (edit)
    moves.push({ label: `edit: ${edit.label}`, run: () => planNow(scenario, planner, edited(scenario, state)) });
  const { faults } = state;
  if (faults.wait > 0) {
    const nowMs = state.requeueAtMs ?? state.nowMs + scenario.waitMs;
    const later = spend({ ...state, nowMs }, "wait");
    moves.push({ label: `time passes: ${nowMs - state.nowMs} ms`, run: () => planNow(scenario, planner, later) });
  }
  if (faults.rebuild > 0 && Object.keys(state.hub).length > 0) {
    moves.push({
      label: "the ledger is lost and rebuilt",
      run: () => planNow(scenario, planner, spend(rebuilt(state), "rebuild")),
    });
  }
  if (faults.leader > 0 && state.leader !== null) {
    for (const cluster of clusters) {
      if (cluster === state.leader || !memberOf(state, cluster).pods.some(({ phase }) => phase === "ready")) continue;
      moves.push({
        label: `the leader moves to ${cluster}`,
        run: () => still(spend({ ...state, leader: cluster }, "leader")),
      });
    }
  }
  return moves;
}

function still(state: State): Step {
  return { state, deeds: [] };
}

function spend(state: State, fault: keyof Faults): State {
  return { ...state, faults: { ...state.faults, [fault]: state.faults[fault] - 1 } };
}

function pushMember(scenario: Scenario, state: State, cluster: ClusterName, moves: Move[]): void {
  const member = memberOf(state, cluster);
  if (isDeliverable(state, cluster)) {
    moves.push({ label: `${cluster}: the dispatch arrives`, run: () => arrive(state, cluster) });
  }
  if (scenario.protocol === "contract" && member.live !== member.read) {
    moves.push({
      label: `${cluster}: the operator reads`,
      run: () => still(withMember(state, cluster, { ...member, read: member.live })),
    });
  }
  if (act(scenario, state, cluster)) {
    moves.push({ label: `${cluster}: the operator acts`, run: () => operate(scenario, state, cluster) });
  }
  const moved = kubelet(scenario, member);
  if (moved)
    moves.push({
      label: `${cluster}: an instance moves on`,
      run: () => still(withLeader(withMember(state, cluster, moved))),
    });
}

function pushLooks(scenario: Scenario, planner: Planner, state: State, cluster: ClusterName, moves: Move[]): void {
  // Planning again on what was planned on changes nothing, and a property says so; unless a crash lost the dispatch.
  const isSynced = Object.values(state.ledger.clusters).every(
    ({ grant }) => !grant || state.hub[grant.cluster]?.grant.epoch === grant.epoch,
  );
  const shown = JSON.stringify(state.seen[cluster]);
  const whats = scenario.twoWatches ? (["object", "pods", "both"] as const) : (["both"] as const);
  for (const what of whats) {
    const seen = look(scenario, state, cluster, what);
    if (isSynced && JSON.stringify(seen) === shown) continue;
    const looked = { ...state, seen: { ...state.seen, [cluster]: seen } };
    const label = `${cluster}: ${what === "both" ? "seen" : `${what} seen`}, plan`;
    moves.push({ label, run: () => planNow(scenario, planner, looked) });
    if (state.faults.crash > 0 && what === "both") pushCrashes(scenario, planner, looked, label, moves);
  }
}

/** The controller dies after the ledger's write: nothing, or only one of several grants, was dispatched. */
function pushCrashes(scenario: Scenario, planner: Planner, looked: State, label: string, moves: Move[]): void {
  const { result } = calculate(planner, looked);
  const changed = result.grants.filter(({ cluster, epoch }) => looked.hub[cluster]?.grant.epoch !== epoch);
  if (changed.length === 0) return;
  const subsets: ClusterName[][] = [[], ...(changed.length > 1 ? changed.map(({ cluster }) => [cluster]) : [])];
  for (const only of subsets) {
    moves.push({
      label: `${label}, crash after dispatch to [${only}]`,
      run: () => planNow(scenario, planner, spend(looked, "crash"), only),
    });
  }
}

function pushFaults(scenario: Scenario, planner: Planner, state: State, cluster: ClusterName, moves: Move[]): void {
  const { faults } = state;
  const member = memberOf(state, cluster);
  if (faults.accident > 0) {
    const ready = member.pods.filter(({ phase }) => phase === "ready");
    for (const pod of new Set([ready[0], ready.at(-1)])) {
      if (!pod) continue;
      const phase: Pod["phase"] = scenario.accident === "evict" ? "terminating" : "starting";
      const pods = member.pods.flatMap((each) => {
        if (each !== pod) return each;
        return scenario.accident === "kill" ? [] : { ...pod, phase };
      });
      moves.push({
        label: `${cluster}: ${pod.ordinal} is down by accident (${scenario.accident})`,
        run: () => still(withLeader(spend(withMember(state, cluster, { ...member, pods }), "accident"))),
      });
    }
  }
  if (faults.cut > 0 && !member.cut) {
    moves.push({
      label: `${cluster} is cut off`,
      run: () => planNow(scenario, planner, spend(cut(state, cluster), "cut")),
    });
  }
  if (member.cut)
    moves.push({ label: `${cluster} is back`, run: () => planNow(scenario, planner, mended(state, cluster)) });
  if (faults.mute > 0 && !member.mute) {
    moves.push({
      label: `${cluster}: its health becomes unknown`,
      run: () => still(spend(withMember(state, cluster, { ...member, mute: true }), "mute")),
    });
  }
  if (member.mute) {
    moves.push({
      label: `${cluster}: its health is known again`,
      run: () => still(withMember(state, cluster, { ...member, mute: false })),
    });
  }
}

function cut(state: State, cluster: ClusterName): State {
  const fleet = { ...state.intent.fleet, [cluster]: { state: "NotReady", sinceMs: state.nowMs } as const };
  return withMember({ ...state, intent: { ...state.intent, fleet } }, cluster, {
    ...memberOf(state, cluster),
    cut: true,
  });
}

export function mended(state: State, cluster: ClusterName): State {
  const fleet = { ...state.intent.fleet, [cluster]: { state: "Ready" } as const };
  return withMember({ ...state, intent: { ...state.intent, fleet } }, cluster, {
    ...memberOf(state, cluster),
    cut: false,
  });
}

/** The next edit of the scenario is made. */
export function edited(scenario: Scenario, state: State): State {
  const edit = scenario.edits[state.edits];
  if (!edit) return state;
  const intent = edit.apply(state.intent);
  const dropped = new Set(state.droppedWhileLost);
  for (const [cluster, { lostAtMs, instances }] of Object.entries(state.ledger.clusters)) {
    const wanted =
      intent.schedule.kind === "known"
        ? (intent.schedule.clusters.find((each) => each.cluster === cluster)?.replicas ?? 0)
        : instances.length;
    if (wanted >= instances.length) dropped.delete(cluster);
    else if (lostAtMs !== null) dropped.add(cluster);
  }
  const allowed = intent.update.type === "RollingUpdate" ? Number(intent.update.maxUnavailable) : 1;
  const maxUnavailable = Math.max(state.maxUnavailable, allowed);
  return { ...state, intent, edits: state.edits + 1, maxUnavailable, droppedWhileLost: [...dropped] };
}

function rebuilt(state: State): State {
  const found = Object.values(state.hub).map(({ found }) => parseFoundGrant(JSON.parse(JSON.stringify(found))));
  return { ...state, ledger: rebuildLedger(found) };
}

/** An application elects anew when its leader is down. */
function withLeader(state: State): State {
  if (state.leader === null || memberOf(state, state.leader).pods[0]?.phase === "ready") return state;
  const next = clustersOf(state).find((cluster) =>
    memberOf(state, cluster).pods.some(({ phase }) => phase === "ready"),
  );
  return next === undefined ? state : { ...state, leader: next };
}

// ---------------------------------------------------------------------------------------------------------------------
// What the controller does.

/** The same object for the same observation, so that two plans on it can be told to be two plans on one thing. */
export function observationsOf(state: State): Observations {
  const clusters: Record<ClusterName, Observation> = {};
  for (const [cluster, { observation }] of Object.entries(state.seen)) clusters[cluster] = observation;
  return { clusters };
}

function calculate(planner: Planner, state: State): Planned {
  const observations = observationsOf(state);
  return { before: state, observations, result: planner(state.intent, state.ledger, observations, state.nowMs) };
}

/** Plans, writes the ledger, dispatches. `only`: the controller dies when no more than these are dispatched. */
export function planNow(
  scenario: Pick<Scenario, "dispatchFirst">,
  planner: Planner,
  state: State,
  only?: readonly ClusterName[],
): Step {
  const planned = calculate(planner, state);
  const { ledger, actions, grants, finished, requeueAt } = planned.result;
  const hub: Record<ClusterName, Dispatched> = { ...state.hub };
  const gone = new Set(actions.filter(({ kind }) => kind !== "deletePods").map(({ cluster }) => cluster));
  for (const grant of grants) {
    const { cluster, epoch } = grant;
    if (gone.has(cluster) || hub[cluster]?.grant.epoch === epoch || (only && !only.includes(cluster))) continue;
    const found = foundGrantOf(ledger, cluster);
    if (!found) continue;
    const ordinals = decodeInstances(ledger.topologies[String(grant.topologyVersion)]?.[cluster] ?? "")
      .filter((each) => each.state !== "leaving")
      .map(({ ordinal }) => ordinal);
    hub[cluster] = { grant, ordinals, found };
  }
  for (const cluster of Object.keys(hub)) {
    const released = actions.some((action) => action.kind === "release" && action.cluster === cluster);
    if (!only && (released || !ledger.clusters[cluster]?.grant)) delete hub[cluster];
  }
  const dispatchedFirst = scenario.dispatchFirst && only !== undefined;
  return {
    state: {
      ...state,
      ledger: dispatchedFirst ? state.ledger : ledger,
      hub,
      actions: only ? [] : actions,
      finished: only ? state.finished : finished,
      requeueAtMs: requeueAt,
      members: membersAfter(state, planned.result),
    },
    deeds: [],
    planned,
  };
}

/** What a lost cluster took down counts as lost with it, and no longer as what Lockstep keeps down. */
function membersAfter({ members }: State, { ledger }: PlanResult): State["members"] {
  let after = members;
  for (const [cluster, member] of Object.entries(members)) {
    const lost = (ledger.clusters[cluster]?.lostAtMs ?? null) !== null;
    if (lost && Object.keys(member.ownDown).length > 0) after = { ...after, [cluster]: { ...member, ownDown: {} } };
  }
  return after;
}

export function lookEverywhere(scenario: Scenario, planner: Planner, state: State): Step {
  const seen = { ...state.seen };
  for (const cluster of clustersOf(state)) seen[cluster] = look(scenario, state, cluster, "both");
  return planNow(scenario, planner, { ...state, seen });
}

// ---------------------------------------------------------------------------------------------------------------------
// What happens in a cluster.

export function isDeliverable(state: State, cluster: ClusterName): boolean {
  const member = memberOf(state, cluster);
  if (member.cut) return false;
  if (state.actions.some((action) => action.cluster === cluster && isPending(action, member))) return true;
  const given = state.hub[cluster];
  return given !== undefined && (member.live === null || member.live.grant.epoch < given.grant.epoch);
}

function isPending(action: PlanResult["actions"][number], member: Member): boolean {
  if (action.kind === "remove") return member.live !== null;
  if (action.kind === "deletePods") {
    return action.pods.some(({ uid }) => member.pods.some((pod) => pod.phase !== "terminating" && uidOf(pod) === uid));
  }
  return false;
}

function uidOf(pod: { readonly ordinal: number; readonly life: number }): string {
  return `${pod.ordinal}.${pod.life}`;
}

/** Deletions are carried out, or the grant of the dispatch object is applied. */
export function arrive(state: State, cluster: ClusterName): Step {
  let member = memberOf(state, cluster);
  const deeds: Deed[] = [];
  for (const action of state.actions) {
    if (action.cluster !== cluster || !isPending(action, member)) continue;
    if (action.kind === "deletePods") {
      for (const { uid } of action.pods) {
        const pod = member.pods.find((each) => each.phase !== "terminating" && uidOf(each) === uid);
        if (!pod) continue;
        const taken = takeDown(cluster, member, pod, "update");
        member = taken.member;
        deeds.push(...taken.deeds);
      }
      return { state: withLeader(withMember(state, cluster, member)), deeds };
    }
    deeds.push({ kind: "removed", cluster, pods: member.pods.length });
    const volumes = action.kind === "remove" && action.volumes === "Delete" ? [] : member.volumes;
    const { [cluster]: _, ...hub } = state.hub;
    const emptied: Member = {
      ...member,
      live: null,
      read: null,
      status: null,
      report: null,
      pods: [],
      volumes,
      ran: {},
    };
    return { state: withMember({ ...state, hub }, cluster, emptied), deeds };
  }
  const given = state.hub[cluster];
  return given ? { state: withMember(state, cluster, deliver(member, given)), deeds } : { state, deeds };
}

export function operate(scenario: Scenario, state: State, cluster: ClusterName): Step {
  const done = act(scenario, state, cluster);
  if (!done) return { state, deeds: [] };
  const acted = withMember(state, cluster, done.member);
  const asked = done.leaderTo;
  const to =
    asked === undefined
      ? undefined
      : clustersOf(acted).find((each) =>
          memberOf(acted, each).pods.some(({ ordinal, phase }) => phase === "ready" && asked.endsWith(`-${ordinal}`)),
        );
  return { state: withLeader(to === undefined ? acted : { ...acted, leader: to }), deeds: done.deeds };
}
