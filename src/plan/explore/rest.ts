import type { ClusterName } from "../types.ts";
import type { Scenario } from "./scenario.ts";
import { clustersOf, memberOf, type State } from "./state.ts";

/** Whether the world at rest is what was asked for. Says what is not. */
export function askedFor(scenario: Scenario, state: State): string | undefined {
  const { intent, ledger } = state;
  if (intent.deletion) return afterDeletion(state, intent.deletion.policy);
  if (intent.schedule.kind !== "known" || intent.revision.kind !== "ready") return undefined;
  const wanted = new Map<ClusterName, number>();
  for (const { cluster, replicas } of intent.schedule.clusters) wanted.set(cluster, replicas);
  let total = 0;
  for (const cluster of clustersOf(state)) {
    const { pods, live } = memberOf(state, cluster);
    const replicas = wanted.get(cluster) ?? 0;
    const ready = pods.filter(({ phase }) => phase === "ready").length;
    total += ready;
    if (ready < pods.length) return `${cluster}: ${pods.length - ready} instances are not ready`;
    if (!scenario.sizesMayDiffer && ready !== replicas)
      return `${cluster} runs ${ready} instances instead of ${replicas}`;
    if (replicas === 0 && live && !scenario.sizesMayDiffer) return `${cluster} still has an object`;
  }
  const asked = intent.schedule.clusters.reduce((sum, { replicas }) => sum + replicas, 0);
  if (total < asked) return `${total} instances run instead of ${asked}`;
  const { update, requests } = intent;
  const undone = requests.undo && ledger.undoHeard === requests.undo.id && ledger.override?.to === requests.undo.to;
  const to = undone ? requests.undo?.to : (ledger.override?.to ?? intent.revision.id);
  const partition = update.type === "RollingUpdate" && !ledger.override ? update.partition : 0;
  const all = clustersOf(state)
    .flatMap((cluster) => memberOf(state, cluster).pods)
    .sort((a, b) => a.ordinal - b.ordinal);
  const late = all.slice(partition).find(({ revision }) => revision !== to);
  if (update.type === "RollingUpdate" && late && (scenario.hasPartition || partition === 0)) {
    return `${late.ordinal} runs ${late.revision} instead of ${to}`;
  }
  return undefined;
}

function afterDeletion(state: State, policy: "Release" | "Teardown"): string | undefined {
  if (!state.finished) return `the ${policy} is not finished`;
  const running = clustersOf(state).filter((cluster) => memberOf(state, cluster).pods.length > 0);
  if (policy === "Teardown" && running.length > 0) return `${running} still run instances`;
  if (policy === "Release" && Object.keys(state.hub).length > 0) return "a dispatch object is left";
  return undefined;
}
