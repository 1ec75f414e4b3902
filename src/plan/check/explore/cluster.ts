import type { Action, ClusterName } from "../../types/index.ts";
import type { Step } from "./controller.ts";
import { type Act, type Deed, deliver, takeDown } from "./operator.ts";
import { APP, type Scenario } from "./scenario.ts";
import {
  clustersOf,
  type Member,
  memberOf,
  NEW_MEMBER,
  NO_LEADER,
  placeOf,
  type State,
  withMember,
  withPlace,
} from "./state.ts";

// What happens in a cluster, each as one small step.

export function isDeliverable(state: State, cluster: ClusterName): boolean {
  const { member, given } = placeOf(state, cluster);
  if (member.cut) return false;
  if (state.actions.some((action) => action.cluster === cluster && isPending(action, member))) return true;
  return given !== null && member.applied !== given.grant.epoch;
}

function isPending(action: Action, member: Member): boolean {
  if (action.kind === "remove") return member.live !== null;
  return action.kind === "deletePods" && action.pods.some((named) => podOf(member, named) !== undefined);
}

type PodNamed = Extract<Action, { kind: "deletePods" }>["pods"][number];

/** Deletion names a pod by uid, and by version if it is to be as it was seen; it touches no other. */
function podOf({ pods }: Member, { uid, version }: PodNamed): Member["pods"][number] | undefined {
  return pods.find(({ ordinal, phase, since }) => {
    const meant = since === "same" || (since === "changed" && version === undefined);
    return meant && phase !== "terminating" && String(ordinal) === uid;
  });
}

/** Deletions are carried out, or the grant of the dispatch object is applied. */
export function arrive(scenario: Scenario, state: State, cluster: ClusterName): Step {
  const { given } = placeOf(state, cluster);
  let member = memberOf(state, cluster);
  const deeds: Deed[] = [];
  for (const action of state.actions) {
    if (action.cluster !== cluster || !isPending(action, member)) continue;
    if (action.kind === "deletePods") {
      for (const named of action.pods) {
        const pod = podOf(member, named);
        if (!pod) continue;
        const taken = takeDown(cluster, member, pod, "update");
        member = taken.member;
        deeds.push(...taken.deeds);
      }
      return { state: withLeader(scenario, withMember(state, cluster, member)), deeds };
    }
    deeds.push({ kind: "removed", cluster, pods: member.pods.length });
    const volumes = action.kind === "remove" && action.volumes === "Delete" ? [] : member.volumes;
    const emptied: Member = { ...NEW_MEMBER, volumes, mute: member.mute };
    const names = new Set(member.volumes.map(nameOf));
    const app = state.app && { ...state.app, expelled: state.app.expelled.filter((name) => !names.has(name)) };
    return { state: { ...withPlace(state, cluster, { given: null, member: emptied }), app }, deeds };
  }
  return { state: given ? withMember(state, cluster, deliver(scenario, member, given)) : state, deeds };
}

/** An operator's act, and where the leader is afterwards. */
export function operate(
  scenario: Scenario,
  state: State,
  cluster: ClusterName,
  { member, deeds, leaderTo }: Act,
): Step {
  const acted = withMember(state, cluster, member);
  const to = takesOver(acted, leaderTo);
  return { state: withLeader(scenario, to === undefined ? acted : { ...acted, leader: to }), deeds };
}

/** Where the instance is that the leader was asked to move to, if it is ready to take over. */
export function takesOver(state: State, leaderTo: string | undefined): ClusterName | undefined {
  if (leaderTo === undefined) return undefined;
  return clustersOf(state).find((each) =>
    memberOf(state, each).pods.some(({ ordinal, phase }) => phase === "ready" && leaderTo.endsWith(`-${ordinal}`)),
  );
}

/** If its leader is down, an application elects another: at once, or in a separate move. */
export function withLeader(scenario: Scenario, state: State): State {
  const { leader } = state;
  if (leader === null || leader === NO_LEADER || memberOf(state, leader).pods[0]?.phase === "ready") return state;
  const [next] = electable(state);
  if (next === undefined || next === leader) return state;
  return { ...state, leader: scenario.elections ? NO_LEADER : next };
}

export function electable(state: State): ClusterName[] {
  return clustersOf(state).filter((cluster) => memberOf(state, cluster).pods.some(({ phase }) => phase === "ready"));
}

/** An instance that has come up is a member of the application, unless it was put out. */
export function withJoined(state: State, cluster: ClusterName): State {
  const { app } = state;
  if (!app) return state;
  const ready = memberOf(state, cluster).pods.filter(({ phase }) => phase === "ready");
  const joined = ready
    .map(({ ordinal }) => nameOf(ordinal))
    .filter((name) => !app.members.includes(name) && !app.expelled.includes(name));
  return joined.length === 0 ? state : { ...state, app: { ...app, members: [...app.members, ...joined].sort() } };
}

export function nameOf(ordinal: number): string {
  return `${APP}-${ordinal}`;
}

/** Members that have left their cluster, and that the application still lists. */
export function leftBehind(state: State): string[] {
  const { app } = state;
  if (!app) return [];
  const kept = new Set<string>();
  for (const cluster of clustersOf(state)) {
    const { live, pods, cut } = memberOf(state, cluster);
    for (const { ordinal } of pods) kept.add(nameOf(ordinal));
    for (const ordinal of live?.ordinals ?? []) kept.add(nameOf(ordinal));
    // What a cluster does while it is away is not known.
    if (cut) return [];
  }
  return app.members.filter((name) => !kept.has(name));
}
