/** A forecast as lines. Pure. */
import type { CrossClusterStatefulsetSpec } from "../../../api/index.ts";
import { type Forecast, type ForecastEvent, isBlocked } from "../../preview/forecast.ts";
import type { ObjectDiff } from "../../preview/rendering.ts";
import { duration, type Style } from "../../terminal/output.ts";

export interface ClusterDiff {
  readonly cluster: string;
  readonly objects: readonly ObjectDiff[];
}

/** One cluster that would be adopted unchanged. */
export interface Adoption {
  readonly cluster: string;
  readonly revision: string;
  readonly replicas: number;
  /** From what runs to what is requested; empty: they are equal. */
  readonly objects: readonly ObjectDiff[];
}

export interface PlanView {
  readonly name: string;
  readonly spec: CrossClusterStatefulsetSpec;
  readonly forecast: Forecast;
  readonly from: string | null;
  readonly adoptions: readonly Adoption[];
  readonly diffs: readonly ClusterDiff[];
  readonly notes: readonly string[];
}

type Step = Extract<ForecastEvent, { kind: "step" }>;

export function planLines(view: PlanView, style: Style): string[] {
  const { name, forecast, from, adoptions, diffs, notes } = view;
  const { problems, events, blockedBy, remains, figures, writes } = forecast;
  const to = figures.targetRevision ?? "none";
  const lines = [
    `${style.bold(name)}  ${from === null || from === to ? `revision ${to}` : `revision ${from} -> ${to}`}, ${figures.desired} instances`,
  ];
  for (const note of notes) lines.push(style.dim(`note: ${note}`));
  for (const [cluster, { instances, evidence }] of Object.entries(forecast.rooms)) {
    if (cluster in forecast.ledger.clusters)
      lines.push(style.dim(`room: ${cluster}: ${more(instances)} (${evidence})`));
  }
  for (const { severity, field, message, remedy } of problems) {
    const paint = severity === "error" ? style.bad : style.busy;
    lines.push(`${paint(severity)}: spec.${field}: ${message}. ${remedy}`);
  }
  lines.push(...adoptionLines(adoptions, to, style));
  const steps = events.filter((event) => event.kind === "step");
  lines.push("");
  if (events.length === 0 && blockedBy.length === 0) lines.push("Nothing would move.");
  for (const event of events) lines.push(...eventLines(event, from, to, style));
  if (steps.length > 0) {
    const count = steps.length === 1 ? "1 step" : `${steps.length} steps`;
    lines.push("", `${count}, ${writes} writes. Time: ${timeOf(forecast)}.`);
  }
  for (const { cluster, message } of remains)
    lines.push(`Unchanged: ${cluster === undefined ? "" : `${cluster}: `}${message}`);
  for (const { clusters, objects } of alike(diffs)) {
    lines.push("", style.bold(`${clusters.join(", ")}: now -> then`), ...diffLines(objects, style));
  }
  lines.push("");
  if (isBlocked(forecast)) {
    lines.push(style.bad("It would be blocked:"));
    for (const { code, cluster, message, remedy } of blockedBy) {
      lines.push(`  ${style.bold(code)}${cluster === undefined ? "" : ` ${cluster}`}: ${message}. ${remedy}`.trimEnd());
    }
    if (blockedBy.length === 0) lines.push("  the settings listed as errors above can never be met");
    return lines;
  }
  lines.push(style.good("It would complete, if every cluster carries out its grants."));
  const stops = stopsOf(view, steps);
  if (stops.length > 0) lines.push("It would stop and report the reason if", ...stops.map((line) => `  - ${line}`));
  return lines;
}

function more(instances: number): string {
  return instances === 1 ? "1 more instance" : `${instances} more instances`;
}

function adoptionLines(adoptions: readonly Adoption[], to: string, style: Style): string[] {
  if (adoptions.length === 0) return [];
  const width = Math.max(...adoptions.map(({ cluster }) => cluster.length));
  const lines = ["", "Already running; it would be adopted unchanged, and nothing moves:"];
  for (const { cluster, revision, replicas, objects } of adoptions) {
    const same = revision === to ? style.good("matches the template") : style.busy("differs from the template");
    const count = replicas === 1 ? "1 instance" : `${replicas} instances`;
    lines.push(`  ${style.bold(cluster.padEnd(width))}  ${count}  ${revision}  ${same}`);
    if (objects.length === 0 && revision !== to) lines.push("    only in fields that the API servers fill in");
  }
  for (const { clusters, objects } of alike(adoptions)) {
    lines.push("", style.bold(`${clusters.join(", ")}: runs -> template`), ...diffLines(objects, style));
  }
  return lines;
}

/** Clusters with the same difference are shown once. */
function alike(
  diffs: readonly ClusterDiff[],
): { readonly clusters: readonly string[]; readonly objects: readonly ObjectDiff[] }[] {
  const groups = new Map<string, { clusters: string[]; objects: readonly ObjectDiff[] }>();
  for (const { cluster, objects } of diffs) {
    if (objects.length === 0) continue;
    const key = JSON.stringify(objects);
    const group = groups.get(key);
    if (group) group.clusters.push(cluster);
    else groups.set(key, { clusters: [cluster], objects });
  }
  return [...groups.values()];
}

function diffLines(objects: readonly ObjectDiff[], style: Style): string[] {
  return objects.flatMap(({ object, change, lines }) => [
    change === "changed"
      ? `  ${object}`
      : `  ${object}: ${change === "new" ? style.good("new") : style.bad("removed")}`,
    ...lines.map((line) => `    ${paintDiff(line, style)}`),
  ]);
}

/** The planner's reason ends with numbers, which have a separate line here. */
const FIGURES = / \([^()]*\bready\b[^()]*\)$/;

function eventLines(event: ForecastEvent, from: string | null, to: string, style: Style): string[] {
  switch (event.kind) {
    case "step": {
      const { number, cluster, step, why, instances, figures, expectedMs } = event;
      const took = expectedMs === null ? "time unknown" : `about ${duration(expectedMs)}`;
      const parts = [
        `${String(number).padStart(3)}. ${style.bold(cluster)}`,
        step,
        instances.join(", "),
        grantText(event, from, to),
        style.dim(took),
      ];
      return [
        parts.filter((part) => part !== "").join("  "),
        `     why: ${why.replace(FIGURES, "")}`,
        // An adoption moves nothing, so quorum and budget do not matter.
        ...(step === "adopt" ? [] : [weighed(figures)]),
      ];
    }
    case "remove": {
      const volumes = event.volumes === "Delete" ? "deleted" : "kept";
      return [`     ${style.bold(event.cluster)}  its objects are removed, volumes are ${volumes}`];
    }
    case "wait":
      return [style.busy(`     ... ${duration(event.forMs)}: ${event.code}: ${event.message}`)];
    case "person":
      return [style.busy(`     ... needs a user: ${event.code}: ${event.message}. ${event.remedy}`)];
  }
}

function weighed({ ready, voters, majority, unavailable, pending, maxUnavailable }: Step["figures"]): string {
  return `     quorum: ${ready} of ${voters} ready, ${majority} needed; budget: ${unavailable} unavailable + ${pending} that may go down, of ${maxUnavailable}`;
}

/** What the heading does not show. */
function grantText({ from, to }: Step, current: string | null, target: string): string {
  const parts: string[] = [];
  if (from !== null && from.revision !== to.revision && (from.revision !== current || to.revision !== target))
    parts.push(`${from.revision} -> ${to.revision}`);
  if (from === null && to.revision !== target) parts.push(to.revision);
  if (from !== null && from.replicas !== to.replicas) parts.push(`${from.replicas} -> ${to.replicas} instances`);
  if (to.partition > 0) parts.push(`the first ${to.partition} stay on the old revision`);
  return parts.join(", ");
}

function timeOf({ knownMs, stepsOfUnknownTime, events }: Forecast): string {
  const persons = events.filter(({ kind }) => kind === "person").length;
  const parts = [
    ...(knownMs > 0 ? [`about ${duration(knownMs)}, based on earlier steps and waits`] : []),
    ...(stepsOfUnknownTime > 0 ? [`unknown for ${stepsOfUnknownTime} steps (no history)`] : []),
    ...(persons > 0 ? [`${persons} waits for a user`] : []),
  ];
  return parts.join(", ") || "none";
}

/** What the settings do if something goes wrong. Only what may happen to these steps. */
function stopsOf({ spec, forecast, from }: PlanView, steps: readonly Step[]): string[] {
  if (steps.length === 0) return [];
  const { maxUnavailable, voters, majority, desired } = forecast.figures;
  const { progressDeadlineSeconds, onFailure, maintenanceWindows } = spec.updateStrategy.rollingUpdate;
  const replaces = steps.some(({ step }) => step === "update" || step === "rollback");
  const lines: string[] = [];
  if (replaces) {
    const one = maxUnavailable === 1;
    const others = one ? "another instance is" : `${maxUnavailable} other instances are`;
    const wait = `it waits for ${one ? "it" : "them"}`;
    if (maxUnavailable < desired) lines.push(`${others} not ready (maxUnavailable ${maxUnavailable}): ${wait}`);
    if (spec.quorum === "Majority" && voters > 2) {
      lines.push(`fewer than ${majority + 1} of ${voters} are ready (majority ${majority}): it takes nothing down`);
    }
    const back = `it rolls back${from === null ? "" : ` to ${from}`}`;
    const then = onFailure === "Rollback" ? back : "it stops until a user undoes or resumes";
    const patience = duration(progressDeadlineSeconds * 1000);
    lines.push(`a step makes no progress for ${patience}: ${then} (onFailure ${onFailure})`);
  } else if (steps.some(({ step }) => step === "deploy" || step === "grow")) {
    lines.push("a joining instance does not become ready: no other joins before it is");
  }
  if ((maintenanceWindows?.length ?? 0) > 0) lines.push("the maintenance window closes: steps in progress complete");
  const { policy, afterSeconds } = spec.failover;
  lines.push(
    `a cluster becomes unreachable: it waits ${duration(afterSeconds * 1000)}, then continues without it (failover ${policy})`,
  );
  return lines;
}

function paintDiff(line: string, style: Style): string {
  if (line.startsWith("+")) return style.good(line);
  return line.startsWith("-") ? style.bad(line) : line;
}
