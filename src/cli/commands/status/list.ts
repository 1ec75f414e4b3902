/** `status` without a name: everything of every kind, what needs a person first. */
import { CROSS_CLUSTER_JOB, CROSS_CLUSTER_STATEFULSET, DISTRIBUTED_APPLICATION } from "../../../api/index.ts";
import { ForbiddenError, type KubeObject, NotFoundError, type Resource } from "../../../kube/index.ts";
import { isJsonObject, type Json } from "../../../runtime/index.ts";
import { APPLICATIONS } from "../../applications/kind.ts";
import { type Hub, listStatefulsets } from "../../hub/hub.ts";
import { CROSS_CLUSTER_JOBS } from "../../hub/job.ts";
import { statusOf } from "../../hub/status.ts";
import type { Io } from "../../terminal/io.ts";
import { duration, print, printData, table } from "../../terminal/output.ts";
import { guideOf } from "../why/reasons.ts";
import { LIST_HEADS, listRow, WIDE_HEADS } from "./view.ts";

const KINDS = [CROSS_CLUSTER_STATEFULSET, DISTRIBUTED_APPLICATION, CROSS_CLUSTER_JOB];
/** Phases in which nothing happens until a person acts. */
const STUCK = new Set(["Failed", "Halted", "Invalid"]);

export async function listAll(
  io: Io,
  hub: Hub,
  allNamespaces: boolean,
  format: "text" | "json" | "yaml" | "wide" | "name",
): Promise<undefined> {
  const namespace = allNamespaces ? undefined : hub.namespace;
  const found = [
    ...(await listStatefulsets(hub, namespace)),
    ...(await listOthers(io, hub, APPLICATIONS, namespace)),
    ...(await listOthers(io, hub, CROSS_CLUSTER_JOBS, namespace)),
  ];
  const items = [...found.filter(needsPerson), ...found.filter((object) => !needsPerson(object))];
  if (format === "json" || format === "yaml") {
    printData(io, format, { apiVersion: "v1", kind: "List", items });
  } else if (format === "name") {
    for (const object of items) print(io, kubectlName(object));
  } else if (items.length === 0) {
    const kinds = "CrossClusterStatefulsets, DistributedApplications or CrossClusterJobs";
    io.stderr.write(`No ${kinds} found${allNamespaces ? "" : ` in namespace ${hub.namespace}`}.\n`);
  } else {
    const wide = format === "wide";
    const heads = wide ? WIDE_HEADS : LIST_HEADS;
    const rows = items.map((object) => [
      ...(allNamespaces ? [object.metadata.namespace ?? ""] : []),
      ...rowOf(object, wide, hub.clock.now()),
    ]);
    print(io, table(allNamespaces ? ["NAMESPACE", ...heads] : heads, rows).join("\n"));
    for (const object of items.filter(needsPerson)) {
      const { reason, message } = waitOf(object);
      const where = allNamespaces ? ` -n ${object.metadata.namespace}` : "";
      print(io, `\n${nameOf(object)} needs a person: ${reason}${message === undefined ? "" : `: ${message}`}`);
      print(io, `  ${io.program} why ${nameOf(object)}${where}`);
    }
  }
  return undefined;
}

export function kubectlName(object: KubeObject): string {
  const { singular, group } = KINDS.find(({ kind }) => kind === object.kind) ?? CROSS_CLUSTER_STATEFULSET;
  return `${singular}.${group}/${object.metadata.name}`;
}

/** A hub that does not serve the kind yet has none; a user without the right reads why. */
async function listOthers(io: Io, { client, request }: Hub, of: Resource, namespace: string | undefined) {
  try {
    const { items } = await client.listAll(of, { namespace, ...request });
    return items.map((object) => ({ ...object, apiVersion: of.apiVersion, kind: of.kind }));
  } catch (error) {
    if (error instanceof ForbiddenError) io.stderr.write(`note: ${of.kind}s are not shown: ${error.message}\n`);
    else if (!(error instanceof NotFoundError)) throw error;
    return [];
  }
}

interface Wait {
  readonly reason: string;
  readonly message: string | undefined;
}

function needsPerson(object: KubeObject): boolean {
  const status = isJsonObject(object.status) ? object.status : {};
  return STUCK.has(text(status.phase) ?? "") || guideOf(waitOf(object).reason)?.needsPerson === true;
}

/** What a person has to do something about; otherwise what the status says of all clusters. */
function waitOf({ status }: KubeObject): Wait {
  const { phase, reason, message, clusters, waiting } = isJsonObject(status) ? status : {};
  const rows = [clusters, waiting].flatMap((list) => (Array.isArray(list) ? list.filter(isJsonObject) : []));
  const asking = rows.find((row) => guideOf(text(row.reason) ?? "")?.needsPerson === true);
  const said =
    guideOf(text(reason) ?? "")?.needsPerson === true ? { reason, message } : (asking ?? { reason, message });
  return { reason: text(said.reason) ?? text(phase) ?? "", message: text(said.message) };
}

/** As commands take it. */
function nameOf({ kind, metadata }: KubeObject): string {
  if (kind === DISTRIBUTED_APPLICATION.kind) return `dapp/${metadata.name}`;
  return kind === CROSS_CLUSTER_JOB.kind ? `ccj/${metadata.name}` : metadata.name;
}

function rowOf(object: KubeObject, wide: boolean, nowMs: number): string[] {
  if (object.kind !== DISTRIBUTED_APPLICATION.kind && object.kind !== CROSS_CLUSTER_JOB.kind)
    return listRow({ object, status: statusOf(object) }, wide, nowMs);
  const status = isJsonObject(object.status) ? object.status : {};
  const { phase, revision, reason } = status;
  const display = isJsonObject(status.display) ? status.display : {};
  const created = Date.parse(text(object.metadata.creationTimestamp) ?? "");
  const row = [
    nameOf(object),
    text(display.ready) ?? text(display.completions) ?? "",
    text(display.clusters) ?? "",
    text(phase) ?? "",
    busyIn(status.clusters ?? status.attempts),
    Number.isFinite(created) ? duration(nowMs - created) : "",
  ];
  return wide ? [...row, "", text(revision) ?? "", text(reason) ?? ""] : row;
}

/** The clusters in which it works now. */
function busyIn(rows: Json | undefined): string {
  const busy = (Array.isArray(rows) ? rows.filter(isJsonObject) : []).filter(({ phase, state, finishedAt }) =>
    phase === undefined
      ? state !== undefined && finishedAt === undefined
      : !["Settled", "Pending"].includes(String(phase)),
  );
  return [...new Set(busy.map(({ name, cluster }) => text(name) ?? text(cluster) ?? ""))].join(",");
}

function text(value: Json | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}
