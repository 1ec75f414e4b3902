/** A forecast as lines. Pure. */
import { type Forecast, type ForecastEvent, isBlocked } from "./forecast.ts";
import { duration, type Style } from "./output.ts";
import type { ObjectDiff } from "./rendering.ts";

export interface ClusterDiff {
  readonly cluster: string;
  readonly objects: readonly ObjectDiff[];
}

export interface PlanView {
  readonly name: string;
  readonly forecast: Forecast;
  readonly from: string | null;
  readonly diffs: readonly ClusterDiff[];
  readonly notes: readonly string[];
}

export function planLines({ name, forecast, from, diffs, notes }: PlanView, style: Style): string[] {
  const { problems, events, blockedBy, remains, figures, writes } = forecast;
  const to = figures.targetRevision ?? "none";
  const lines = [
    `${style.bold(name)}  ${from === null || from === to ? `revision ${to}` : `revision ${from} -> ${to}`}, ${figures.desired} instances`,
  ];
  for (const note of notes) lines.push(style.dim(`note: ${note}`));
  for (const { severity, field, message, remedy } of problems) {
    const paint = severity === "error" ? style.bad : style.busy;
    lines.push(`${paint(severity)}: spec.${field}: ${message}. ${remedy}`);
  }
  const steps = events.filter(({ kind }) => kind === "step").length;
  lines.push("");
  if (events.length === 0 && blockedBy.length === 0) lines.push("Nothing would move.");
  for (const event of events) lines.push(...eventLines(event, style));
  if (steps > 0) lines.push("", `${steps} steps, ${writes} writes. Time: ${timeOf(forecast)}.`);
  for (const { cluster, message } of remains)
    lines.push(`Stays as it is: ${cluster === undefined ? "" : `${cluster}: `}${message}`);
  for (const { cluster, objects } of diffs) {
    lines.push("", style.bold(`${cluster}: now -> then`));
    for (const { object, change, lines: changed } of objects) {
      lines.push(
        change === "changed"
          ? `  ${object}`
          : `  ${object}: ${change === "new" ? style.good("new") : style.bad("removed")}`,
      );
      for (const line of changed) lines.push(`    ${paintDiff(line, style)}`);
    }
  }
  lines.push("");
  if (!isBlocked(forecast)) {
    lines.push(style.good("It would come to its end, if every cluster does what it is given."));
    return lines;
  }
  lines.push(style.bad("It would be blocked:"));
  for (const { code, cluster, message, remedy } of blockedBy) {
    lines.push(`  ${style.bold(code)}${cluster === undefined ? "" : ` ${cluster}`}: ${message}. ${remedy}`.trimEnd());
  }
  if (blockedBy.length === 0) lines.push("  the settings named above as errors can never be met");
  return lines;
}

function eventLines(event: ForecastEvent, style: Style): string[] {
  switch (event.kind) {
    case "step": {
      const { number, cluster, step, why, from, to, figures, expectedMs } = event;
      const took = expectedMs === null ? "time unknown" : `about ${duration(expectedMs)}`;
      const { ready, voters, majority, unavailable, pending, maxUnavailable } = figures;
      return [
        `${String(number).padStart(3)}. ${style.bold(cluster)}  ${step}  ${grantText(from, to)}  ${style.dim(took)}`,
        `     why: ${why}`,
        `     quorum: ${ready} of ${voters} ready, ${majority} needed; budget: ${unavailable} unavailable + ${pending} that may go down, of ${maxUnavailable}`,
      ];
    }
    case "remove": {
      const volumes = event.volumes === "Delete" ? "deleted" : "kept";
      return [`     ${style.bold(event.cluster)}  its objects are removed, volumes are ${volumes}`];
    }
    case "wait":
      return [style.busy(`     ... ${duration(event.forMs)}: ${event.code}: ${event.message}`)];
    case "person":
      return [style.busy(`     ... needs a person: ${event.code}: ${event.message}. ${event.remedy}`)];
  }
}

type Step = Extract<ForecastEvent, { kind: "step" }>;

function grantText(from: Step["from"], to: Step["to"]): string {
  const parts: string[] = [];
  if (from === null || from.revision !== to.revision)
    parts.push(from === null ? to.revision : `${from.revision} -> ${to.revision}`);
  if (from === null) parts.push(`${to.replicas} instance${to.replicas === 1 ? "" : "s"}`);
  else if (from.replicas !== to.replicas) parts.push(`${from.replicas} -> ${to.replicas} instances`);
  if (to.partition > 0) parts.push(`the first ${to.partition} stay old`);
  return parts.length === 0 ? "unchanged content" : parts.join(", ");
}

function timeOf({ knownMs, stepsOfUnknownTime, events }: Forecast): string {
  const persons = events.filter(({ kind }) => kind === "person").length;
  const parts = [
    ...(knownMs > 0 ? [`${duration(knownMs)} known`] : []),
    ...(stepsOfUnknownTime > 0 ? [`${stepsOfUnknownTime} steps unknown (no history)`] : []),
    ...(persons > 0 ? [`${persons} waits for a person`] : []),
  ];
  return parts.join(", ") || "none";
}

function paintDiff(line: string, style: Style): string {
  if (line.startsWith("+")) return style.good(line);
  return line.startsWith("-") ? style.bad(line) : line;
}
