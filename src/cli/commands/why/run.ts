import { parseCrossClusterStatefulset } from "../../../api/index.ts";
import { findEngines } from "../../../engine/index.ts";
import { applicationName } from "../../applications/kind.ts";
import { whyApplication } from "../../applications/looking.ts";
import { getStatefulset, ledgerOf, withHub } from "../../hub/hub.ts";
import { placesOfStatefulset } from "../../hub/pod-places.ts";
import { type PodReports, podReports } from "../../hub/pod-reports.ts";
import { statusOf } from "../../hub/status.ts";
import type { GlobalOptions } from "../../options.ts";
import type { Io } from "../../terminal/io.ts";
import { age, formatOf, print, printData, type Style, styleOf } from "../../terminal/output.ts";
import type { OutputOption } from "../registry.ts";
import { type Why, whyOf } from "./view.ts";

export async function runWhy(io: Io, given: string, options: OutputOption & GlobalOptions): Promise<undefined> {
  const application = applicationName(given);
  if (application !== undefined) return whyApplication(io, application, options);
  const format = formatOf(options.output, ["json", "yaml"]);
  return withHub(io, options, async (hub) => {
    const object = await getStatefulset(hub, given);
    const parsed = parseCrossClusterStatefulset(object);
    const [engine] = await findEngines(hub.client, hub.request);
    const why = whyOf({
      program: io.program,
      engine,
      object,
      spec: parsed.ok ? parsed.value.spec : undefined,
      status: statusOf(object),
      ledger: ledgerOf(object),
    });
    const namespace = parsed.ok ? parsed.value.spec.resourceSelector.namespace : hub.namespace;
    const places = placesOfStatefulset(statusOf(object), namespace, why.cluster);
    const pods = await podReports(hub, { places, withLogs: true });
    if (format === "text") print(io, [...lines(io, why, pods, hub.clock.now())].join("\n"));
    else printData(io, format, { ...why, pods: pods.pods, notes: pods.notes });
    return undefined;
  });
}

function podLines({ pods, notes }: PodReports, style: Style): string[] {
  if (pods.length === 0 && notes.length === 0) return [];
  const result = ["", style.bold("Pods that are not ready")];
  for (const { cluster, name, reason, message, last, log } of pods) {
    const why = message === undefined ? "" : `: ${message}`;
    const ended = last === undefined ? "" : `; it last ended with exit code ${last.exitCode}${endOf(last)}`;
    result.push(`  ${style.bold(`${cluster} ${name}`)}  ${style.bad(reason)}${why}${ended}`);
    result.push(...log.map((line) => style.dim(`    | ${line}`)));
  }
  return [...result, ...notes.map((note) => `  ${note}`)];
}

function endOf({ reason, finishedAt }: { reason?: string; finishedAt?: string }): string {
  const word = reason === undefined ? "" : ` (${reason})`;
  return `${word}${finishedAt === undefined ? "" : `, at ${finishedAt}`}`;
}

function lines(io: Io, why: Why, pods: PodReports, nowMs: number): string[] {
  const style = styleOf(io);
  const result = [why.reason === undefined ? why.sentence : `${style.bold(why.reason)}  ${why.sentence}`];
  if (why.since !== undefined) result.push(style.dim(`For ${age(why.since, nowMs)}, since ${why.since}.`));
  if (why.evidence.length > 0) {
    result.push("", style.bold("Evidence"));
    for (const { object, field, value, since } of why.evidence) {
      const known = since === undefined ? "" : style.dim(`  since ${since} (${age(since, nowMs)})`);
      result.push(`  ${object}  ${field} = ${value}${known}`);
    }
  }
  result.push(...podLines(pods, style));
  if (why.remedy.length > 0) {
    result.push("", style.bold(why.needsPerson ? "Remedy" : "No action needed. If this takes too long, check:"));
    for (const command of why.remedy) result.push(`  ${command}`);
  }
  if (why.reason !== undefined) result.push("", `Read more: docs/runbook.md, ${why.reason}`);
  if (why.others.length > 0) result.push(`Also waiting: ${why.others.join(", ")}`);
  return result;
}
