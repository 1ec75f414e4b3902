/** What people see of an application: its tree, why it waits, its history, and waiting until it has settled. */
import type { DistributedApplicationStatus } from "../../api/index.ts";
import { findEngines } from "../../engine/index.ts";
import type { JsonObject } from "../../runtime/index.ts";
import { guideOf } from "../commands/why/reasons.ts";
import { CommandError } from "../errors.ts";
import { withHub } from "../hub/hub.ts";
import { recordIn, recordLines } from "../hub/record.ts";
import type { GlobalOptions } from "../options.ts";
import { durationOption } from "../terminal/duration-option.ts";
import type { Io } from "../terminal/io.ts";
import { age, duration, formatOf, print, printData, type Style, styleOf } from "../terminal/output.ts";
import { describeApplication, getApplication, readApplication } from "./kind.ts";
import { remedyOf } from "./remedies.ts";

type Output = GlobalOptions & { readonly output?: string };
const LOOK_MS = 500;
/** Members say what is in these fields: no more than a line of them is shown, and no control characters. */
const SHOWN_FIELDS = 4;
const SHOWN_CHARS = 60;

export function applicationStatus(io: Io, name: string, options: Output): Promise<undefined> {
  const format = formatOf(options.output, ["json", "yaml", "name"]);
  return withHub(io, options, async (hub) => {
    const object = await getApplication(hub, name);
    if (format === "json" || format === "yaml") printData(io, format, object);
    else if (format === "name") print(io, `distributedapplication.apps.karmada.io/${name}`);
    else
      print(
        io,
        tree(describeApplication(object), readApplication(object, name).status, styleOf(io), hub.clock.now()).join(
          "\n",
        ),
      );
    return undefined;
  });
}

/** Exported for tests: the tree of clusters and objects. */
export function tree(
  title: string,
  status: DistributedApplicationStatus | undefined,
  style: Style,
  nowMs: number,
): string[] {
  if (!status) return [`${title}: no status yet; is the controller running?`];
  const { phase = "?", display, revision, message, clusters = [], objects = [], workloads = [] } = status;
  const lines = [
    `${style.bold(title)}  ${phase}  clusters ${display?.clusters ?? "?"}, objects ${display?.ready ?? "?"} healthy`,
  ];
  if (revision !== undefined)
    lines.push(`revision ${revision}${status.rejectedRevision ? `, rejected ${status.rejectedRevision}` : ""}`);
  if (status.expiresAt !== undefined) lines.push(`ends by itself at ${status.expiresAt}`);
  if (message !== undefined) lines.push(`${style.bold(status.reason ?? "")}  ${message}`);
  for (const [index, cluster] of clusters.entries()) {
    const branch = index === clusters.length - 1 && objects.length === 0 ? "└─" : "├─";
    const where = cluster.phase === "Settled" ? "" : (cluster.stage ?? "");
    const why =
      cluster.reason === undefined || cluster.phase === "Settled" ? "" : `  ${cluster.reason}: ${cluster.message}`;
    lines.push(
      `${branch} ${style.bold(cluster.name)}  ${cluster.phase}  ${cluster.ready ?? 0}/${cluster.objects ?? 0}  ${cluster.deployed ?? "-"}  ${where}${why} ${style.dim(age(cluster.since, nowMs))}`.trimEnd(),
    );
  }
  for (const [index, object] of objects.entries()) {
    const branch = index === objects.length - 1 ? "└─" : "├─";
    const health = object.health === "Healthy" ? "Healthy" : style.bad(object.health ?? "Unknown");
    lines.push(
      `${branch} ${object.kind}/${object.name}  ${health}  in ${object.clusters ?? 0} ${object.clusters === 1 ? "cluster" : "clusters"}${object.message ? `  ${object.message}` : ""}${style.dim(fieldsOf(object.status))}`,
    );
  }
  for (const { kind, name, total, ready, clusters: shares = [] } of workloads) {
    lines.push(
      `   ${kind}/${name}: ${ready}/${total} ready (${shares.map((share) => `${share.name} ${share.ready}/${share.replicas}`).join(", ")})`,
    );
  }
  return lines;
}

/** The first plain fields of an object's own status; `-o yaml` shows all of them. */
function fieldsOf(status: JsonObject | undefined): string {
  const plain = Object.entries(status ?? {}).filter(([, value]) => value !== null && typeof value !== "object");
  return plain
    .slice(0, SHOWN_FIELDS)
    .map(([name, value]) => `  ${name}: ${value}`.replaceAll(/\p{Cc}/gu, " ").slice(0, SHOWN_CHARS))
    .join("");
}

export function whyApplication(io: Io, name: string, options: Output): Promise<undefined> {
  const format = formatOf(options.output, ["json", "yaml"]);
  return withHub(io, options, async (hub) => {
    const object = await getApplication(hub, name);
    const what = describeApplication(object);
    const { status, spec, metadata } = readApplication(object, what);
    const waiting = (status?.clusters ?? []).filter(({ phase, reason }) => phase !== "Settled" && reason !== undefined);
    const { reason, message, since } = status ?? {};
    const isFresh = status?.observedGeneration === object.metadata.generation;
    const [engine = "karmada"] = await findEngines(hub.client, hub.request);
    const remedy =
      reason === undefined
        ? []
        : remedyOf(reason, {
            program: io.program,
            engine,
            namespace: metadata.namespace,
            name,
            serviceAccount: spec.serviceAccountName,
            cluster: waiting.find((row) => row.reason === reason)?.name,
          });
    const needsPerson = reason !== undefined && guideOf(reason)?.needsPerson === true;
    if (format !== "text") {
      printData(io, format, { reason, message, since, needsPerson, remedy, clusters: waiting });
      return undefined;
    }
    const style = styleOf(io);
    if (!isFresh) {
      print(
        io,
        `${what} has a change that the controller has not processed yet. If this persists: ${io.program} doctor`,
      );
    }
    if (reason === undefined) {
      if (isFresh) print(io, `${what} is ${status?.phase ?? "not reported yet"}: nothing is waited for`);
      return undefined;
    }
    print(io, `${style.bold(reason)}  ${message}\n${style.dim(`For ${age(since, hub.clock.now())}.`)}`);
    for (const row of waiting)
      print(io, `  ${row.name}  ${row.reason}  ${row.stage === undefined ? "" : `${row.stage}: `}${row.message}`);
    print(io, ["", style.bold(needsPerson ? "Remedy" : "No action needed. If this takes too long, check:")].join("\n"));
    for (const command of remedy) print(io, `  ${command}`);
    print(io, `\nRead more: docs/runbook.md, ${reason}`);
    return undefined;
  });
}

export function applicationHistory(
  io: Io,
  name: string,
  options: Output & { readonly revision?: string },
): Promise<undefined> {
  const format = formatOf(options.output, ["json", "yaml"]);
  return withHub(io, options, async (hub) => {
    const object = await getApplication(hub, name);
    const { status } = readApplication(object, describeApplication(object));
    const all = status?.history ?? [];
    const wanted = options.revision;
    const history = all.filter(
      ({ revision, number }) => wanted === undefined || revision === wanted || String(number) === wanted,
    );
    if (wanted !== undefined && history.length === 0) {
      const names = all.map(({ number }) => number).join(", ") || "none";
      throw new CommandError(`${describeApplication(object)} has no revision '${wanted}'; there are: ${names}`);
    }
    const state = (revision: string) =>
      revision === status?.rejectedRevision
        ? "rejected"
        : revision === status?.currentRevision
          ? "current"
          : revision === status?.revision
            ? "being rolled out"
            : "";
    if (format !== "text")
      printData(
        io,
        format,
        history.map((each) => ({ ...each, state: state(each.revision) })),
      );
    else if (history.length === 0) io.stderr.write(`${describeApplication(object)} has no revisions yet.\n`);
    else
      for (const { revision, number, createdAt } of history) {
        print(io, `${number}  ${revision}  ${age(createdAt, hub.clock.now())}  ${state(revision)}`.trimEnd());
        const account = wanted === undefined ? [] : recordLines(recordIn(history, revision));
        if (account.length > 0) print(io, account.join("\n"));
      }
    return undefined;
  });
}

export function waitForApplication(
  io: Io,
  name: string,
  options: GlobalOptions & { readonly timeout: string },
): Promise<number> {
  const timeoutMs = durationOption("--timeout", options.timeout);
  return withHub(io, options, async (hub) => {
    const startedMs = hub.clock.monotonicMs();
    for (;;) {
      const object = await getApplication(hub, name);
      const what = describeApplication(object);
      const { status } = readApplication(object, what);
      const isFresh = status?.observedGeneration === object.metadata.generation;
      if (isFresh && status?.phase === "Settled") {
        print(io, `${what} is settled`);
        return 0;
      }
      const waitedMs = hub.clock.monotonicMs() - startedMs;
      if (waitedMs >= timeoutMs) {
        const why = isFresh
          ? `${status?.reason ?? status?.phase ?? "no status"}: ${status?.message ?? ""}`
          : "its status is from before the last edit";
        throw new CommandError(`${what} after ${duration(waitedMs)} is still not settled. ${why}`, { exitCode: 1 });
      }
      await hub.clock.sleep(Math.min(LOOK_MS, timeoutMs - waitedMs));
    }
  });
}
