import type { ClusterName } from "../../types/index.ts";
import { electable, nameOf, withLeader } from "./cluster.ts";
import { landed, rebuilt, type Step } from "./controller.ts";
import type { Move, MoveKind } from "./moves.ts";
import { changed } from "./operator.ts";
import { away, mended } from "./person.ts";
import type { Scenario } from "./scenario.ts";
import {
  clustersOf,
  type Faults,
  type Live,
  type Member,
  memberOf,
  NO_LEADER,
  type Pod,
  placeOf,
  type State,
  withMember,
} from "./state.ts";

/** Adds a move in which a controller plans on the state that a fault leaves behind. */
export type PushPlan = (kind: MoveKind, label: string, state: State) => void;

export function still(state: State): Step {
  return { state, deeds: [] };
}

export function spend(state: State, fault: keyof Faults): State {
  return { ...state, faults: { ...state.faults, [fault]: state.faults[fault] - 1 } };
}

/** What may go wrong in one cluster, and how it ends. */
export function pushClusterFaults(
  scenario: Scenario,
  state: State,
  cluster: ClusterName,
  moves: Move[],
  pushPlan: PushPlan,
): void {
  const { faults } = state;
  const member = memberOf(state, cluster);
  const push = (kind: MoveKind, label: string, next: State) =>
    moves.push({ kind, label: `${cluster}: ${label}`, run: () => still(next) });
  if (faults.accident > 0) pushAccidents(scenario, state, cluster, moves);
  if (faults.drift > 0 && member.live && !member.cut) {
    const drifted = spend(withMember(state, cluster, driftOf(scenario, member, member.live)), "drift");
    push("fault", `another client writes its object (${scenario.drift})`, drifted);
  }
  if (faults.cut > 0 && !member.cut) {
    pushPlan("fault", `${cluster} is cut off`, spend(away(state, cluster, "NotReady"), "cut"));
  }
  if (faults.gone > 0 && !member.cut) {
    pushPlan("fault", `${cluster} leaves the fleet`, spend(away(state, cluster, "Gone"), "gone"));
  }
  if (member.cut) pushPlan("heal", `${cluster} is back`, mended(state, cluster));
  if (faults.expel > 0 && member.cut && state.app) pushExpulsion(state, cluster, push);
  if (faults.mute > 0 && !member.mute) {
    push("fault", "its health becomes unknown", spend(withMember(state, cluster, { ...member, mute: true }), "mute"));
  }
  if (member.mute) push("heal", "its health is known again", withMember(state, cluster, { ...member, mute: false }));
  if (faults.fail > 0 && !member.failing && member.read?.processor) {
    push("fault", "its operator fails", spend(withMember(state, cluster, { ...member, failing: true }), "fail"));
  }
  if (member.failing) push("heal", "its operator recovers", withMember(state, cluster, { ...member, failing: false }));
}

function pushAccidents(scenario: Scenario, state: State, cluster: ClusterName, moves: Move[]): void {
  const { accident } = scenario;
  const member = memberOf(state, cluster);
  const ready = member.pods.filter(({ phase }) => phase === "ready");
  for (const pod of new Set([ready[0], ready.at(-1)])) {
    if (!pod) continue;
    const phase: Pod["phase"] = accident === "crash" ? "starting" : "terminating";
    const evicted = accident === "evict" ? ({ evicted: true } as const) : {};
    const pods = member.pods.flatMap((each) => {
      if (each !== pod) return each;
      return accident === "kill" ? [] : { ...changed(scenario, pod), ...evicted, phase };
    });
    const next = spend(withMember(state, cluster, { ...member, pods }), "accident");
    moves.push({
      kind: "fault",
      label: `${cluster}: ${pod.ordinal} is down by accident (${accident})`,
      run: () => still(withLeader(scenario, next)),
    });
  }
}

/** The member after another client has written its object. */
function driftOf({ drift }: Scenario, member: Member, live: Live): Member {
  switch (drift) {
    case "annotations": {
      const { epoch: _, topologyVersion: __, transferLeaderTo: ___, ...bare } = live;
      return { ...member, live: { ...bare, processor: false } };
    }
    case "restored":
      return live.epoch === undefined ? member : { ...member, live: { ...live, epoch: live.epoch - 1 } };
    case "turn":
      return { ...member, live: { ...live, processor: true, foreign: true } };
    case "shrunk":
      return { ...member, live: { ...live, replicas: Math.max(0, live.replicas - 1), foreign: true }, observed: false };
    case "deleted": {
      const pods = member.pods.map((pod): Pod => ({ ...pod, phase: "terminating" }));
      return { ...member, live: null, read: null, status: null, report: null, observed: false, pods };
    }
  }
}

function pushExpulsion(
  state: State,
  cluster: ClusterName,
  push: (kind: MoveKind, label: string, next: State) => void,
): void {
  const { app } = state;
  if (!app) return;
  const names = memberOf(state, cluster).pods.map(({ ordinal }) => nameOf(ordinal));
  const out = app.members.filter((name) => names.includes(name));
  if (out.length === 0) return;
  const members = app.members.filter((name) => !out.includes(name));
  const expelled = [...app.expelled, ...out].sort();
  push(
    "fault",
    "the application puts its members out",
    spend({ ...state, app: { ...app, members, expelled } }, "expel"),
  );
}

/** What may go wrong with the controller, the leader and time. */
export function pushFleetFaults(
  scenario: Scenario,
  state: State,
  moves: Move[],
  pushPlan: PushPlan,
  wakesInMs: () => number | undefined,
): void {
  const { faults } = state;
  if (faults.wait > 0) {
    const waitMs = wakesInMs() ?? scenario.waitMs;
    pushPlan("time", `time passes: ${waitMs} ms`, spend({ ...state, nowMs: state.nowMs + waitMs }, "wait"));
  }
  if (faults.rebuild > 0 && clustersOf(state).some((cluster) => placeOf(state, cluster).given)) {
    pushPlan("fault", "the ledger is lost and rebuilt", spend(rebuilt(state), "rebuild"));
  }
  for (const cluster of Object.keys(state.late)) {
    moves.push({
      kind: "work",
      label: `${cluster}: what the former leader sent lands`,
      run: () => landed(state, cluster),
    });
  }
  if (state.leader === NO_LEADER) {
    for (const cluster of electable(state)) {
      moves.push({ kind: "work", label: `${cluster} is elected`, run: () => still({ ...state, leader: cluster }) });
    }
  }
  if (faults.leader === 0 || state.leader === null || state.leader === NO_LEADER) return;
  for (const cluster of electable(state)) {
    if (cluster === state.leader) continue;
    const moved = spend({ ...state, leader: cluster }, "leader");
    moves.push({ kind: "fault", label: `the leader moves to ${cluster}`, run: () => still(moved) });
  }
}
