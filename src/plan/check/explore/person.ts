import type { ClusterName, Intent } from "../../types/index.ts";
import type { Scenario } from "./scenario.ts";
import { memberOf, type State, withMember } from "./state.ts";

// What people and the fleet do to the intent.

/** The next edit of the scenario is made. */
export function edited(scenario: Scenario, state: State): State {
  const edit = scenario.edits[state.edits];
  if (!edit) return state;
  const intent = edit.apply(state.intent);
  const dropped = new Set(state.droppedWhileLost);
  for (const [cluster, { presence, instances }] of Object.entries(state.ledger.clusters)) {
    const wanted =
      intent.schedule.kind === "known"
        ? (intent.schedule.clusters.find((each) => each.cluster === cluster)?.replicas ?? 0)
        : instances.length;
    if (wanted >= instances.length) dropped.delete(cluster);
    else if (presence.kind === "lost") dropped.add(cluster);
  }
  const maxUnavailable = Math.max(state.maxUnavailable, allowedBy(intent));
  return { ...state, intent, edits: state.edits + 1, maxUnavailable, droppedWhileLost: [...dropped] };
}

/** [Q10] Computed as a reader of the rule would, independently of the planner. */
export function allowedBy({ update, schedule }: Intent): number {
  if (update.type === "OnDelete") return 1;
  const { maxUnavailable: given } = update;
  if (typeof given === "number") return given;
  const total = schedule.kind === "known" ? schedule.clusters.reduce((sum, each) => sum + each.replicas, 0) : 0;
  return Math.max(1, Math.ceil((Number(given.slice(0, -1)) / 100) * total));
}

/** The cluster cannot be reached, and the fleet says so. */
export function away(state: State, cluster: ClusterName, fact: "NotReady" | "Gone"): State {
  const fleet = { ...state.intent.fleet, [cluster]: { state: fact, sinceMs: state.nowMs } as const };
  const member = { ...memberOf(state, cluster), cut: true };
  return withMember({ ...state, intent: { ...state.intent, fleet } }, cluster, member);
}

export function mended(state: State, cluster: ClusterName): State {
  const member = memberOf(state, cluster);
  if (!member.cut) return state;
  const fleet = { ...state.intent.fleet, [cluster]: { state: "Ready" } as const };
  return withMember({ ...state, intent: { ...state.intent, fleet } }, cluster, { ...member, cut: false });
}
