import { initialCluster, topologyView } from "../../identity/topology.ts";
import type { Problem } from "../../limits/preflight.ts";
import type { Action, ClusterName, Figures, Grant, Ledger, PlanResult, TimeMs } from "../../types/index.ts";

/** Steps and actions of one plan; with `reasons`, also what waits and when to look again. */
export function planLines(result: PlanResult, nowMs: TimeMs, reasons: boolean): string[] {
  const lines: string[] = [];
  const why = new Map<ClusterName, string>();
  for (const step of result.steps) why.set(step.cluster, `${step.kind}: ${step.why}`);
  for (const grant of result.grants) {
    const started = why.get(grant.cluster);
    if (started !== undefined) lines.push(`${grantLine(grant)}  ${started}`);
  }
  for (const action of result.actions) lines.push(actionLine(action));
  if (!reasons) return lines;
  for (const { cluster, code, message } of result.waiting) lines.push(`${cluster ?? "*"} waits ${code}: ${message}`);
  if (result.requeueAt !== undefined) lines.push(`* again in ${(result.requeueAt - nowMs) / 1000} s`);
  if (result.steps.length === 0 && result.waiting.length === 0 && result.actions.length === 0) lines.push("at rest");
  if (result.finished) lines.push("finished");
  return lines;
}

export function grantLine(grant: Grant): string {
  const { cluster, epoch, revision, replicas, partition, processor, topologyVersion, transferLeaderTo } = grant;
  const parts = [`${cluster} epoch=${epoch} revision=${revision} replicas=${replicas}`];
  if (partition > 0) parts.push(`partition=${partition}`);
  if (grant.onDelete) parts.push("onDelete");
  parts.push(`processor=${processor} topology=${topologyVersion}`);
  if (transferLeaderTo !== undefined) parts.push(`transferLeaderTo=${transferLeaderTo}`);
  return parts.join(" ");
}

function actionLine(action: Action): string {
  switch (action.kind) {
    case "remove":
      return `${action.cluster} action remove volumes=${action.volumes}`;
    case "release":
      return `${action.cluster} action release`;
    case "deletePods":
      return `${action.cluster} action deletePods ${action.pods.map(podText).join(" ")}`;
  }
}

/** What one cluster's topology says about the others. */
export function topologyLines(ledger: Ledger, grant: Grant): string[] {
  const view = topologyView(ledger, grant.topologyVersion);
  return [
    `version ${view.version}`,
    ...view.clusters.map(
      ({ cluster, instances, states }) =>
        `${cluster}: ${instances.map((name, i) => `${name} ${states[i]}`).join(", ")}`,
    ),
    `initial-cluster-state ${grant.initialClusterState}`,
    ...initialCluster(ledger, grant)
      .split(",")
      .map((part) => `  ${part}`),
  ];
}

export function viewLines({ topologies, clusters }: Ledger): string[] {
  const told = Object.entries(clusters).flatMap(([cluster, { grant }]) =>
    grant ? [`${cluster} ${grant.topologyVersion}`] : [],
  );
  return [`held: ${Object.keys(topologies).join(", ")}`, `told: ${told.join(", ")}`];
}

/** Those that are asked for; without names, all. */
export function figureLines(figures: Figures | undefined, names: readonly string[]): string[] {
  const all = Object.entries(figures ?? {}).map(([key, value]) => [key, `${key} ${value ?? "-"}`] as const);
  const unknown = names.find((name) => !all.some(([key]) => key === name));
  if (unknown !== undefined) throw new Error(`there is no figure '${unknown}'`);
  return all.filter(([key]) => names.length === 0 || names.includes(key)).map(([, line]) => line);
}

/** [R1] Reasons in full: the message, what it rests on, what a person can do. */
export function whyLines(result: PlanResult | undefined, cluster: ClusterName): string[] {
  const found = (result?.waiting ?? []).filter((each) => (each.cluster ?? "*") === cluster);
  return found.flatMap(({ code, message, evidence, remedy }) => [
    `${cluster} waits ${code}: ${message}`,
    ...evidence.map(({ object, field, value }) => `  seen: ${object}: ${field} = ${value}`),
    `  do: ${remedy}`,
  ]);
}

export function problemLines(problems: readonly Problem[]): string[] {
  if (problems.length === 0) return ["nothing is impossible"];
  return problems.map(({ severity, code, field, message }) => `${severity} ${code} spec.${field}: ${message}`);
}

function podText({ name, uid }: { readonly name: string; readonly uid?: string }): string {
  return `${name}/${uid ?? "?"}`;
}
