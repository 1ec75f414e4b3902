/** All applications and the fleet as the page shows them, from one moment. Pure. */
import { parseCrossClusterStatefulset } from "../../api/index.ts";
import type { KubeObject } from "../../kube/index.ts";
import type { ApplicationRow, AppType, FleetCluster, OverviewView } from "../../web/index.ts";
import { statusOf } from "../hub/status.ts";
import { kindOf } from "./application.ts";
import { distributionStatus } from "./distribution.ts";
import { fleetCluster } from "./fleet-cluster.ts";
import { jobStatus, kindOfWork } from "./job.ts";
import { given, needsPerson } from "./words.ts";

/** What a row needs of an object; kept instead of the object, so that a thousand of them cost little. */
export interface Digest {
  readonly row: ApplicationRow;
  /** Instances, objects or attempts by cluster. */
  readonly placed: readonly { readonly cluster: string; readonly count: number }[];
}

export function overviewView(
  digests: readonly Digest[],
  clusters: readonly KubeObject[],
  problems: readonly string[],
  nowMs: number,
  mayDrain?: boolean,
): OverviewView {
  const running = new Map<string, FleetCluster["applications"][number][]>();
  for (const { row, placed } of digests) {
    for (const { cluster, count } of placed) {
      const list = running.get(cluster) ?? [];
      list.push({ type: row.type, namespace: row.namespace, name: row.name, count });
      running.set(cluster, list);
    }
  }
  return {
    atMs: nowMs,
    applications: digests.map(({ row }) => row).sort(urgentFirst),
    clusters: clusters
      .map((object) => fleetCluster(object, running.get(object.metadata.name) ?? []))
      .sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true })),
    ...given("mayDrain", mayDrain),
    problems,
  };
}

/** What needs a user first, then what moves or waits, then the rest by name. */
function urgentFirst(a: ApplicationRow, b: ApplicationRow): number {
  return rank(a) - rank(b) || a.namespace.localeCompare(b.namespace) || a.name.localeCompare(b.name);
}

function rank({ needsPerson: urgent, phase }: ApplicationRow): number {
  if (urgent || phase === "Halted" || phase === "Invalid") return 0;
  return phase === "Settled" || phase === "Complete" ? 2 : 1;
}

export const DIGESTS: Readonly<Record<AppType, (object: KubeObject) => Digest>> = {
  ccs: statefulsetDigest,
  dapp: distributionDigest,
  ccj: jobDigest,
};

function statefulsetDigest(object: KubeObject): Digest {
  const { name, namespace = "default" } = object.metadata;
  const parsed = parseCrossClusterStatefulset(object);
  const status = statusOf(object);
  const rows = status.clusters ?? [];
  const reasons = [status.reason, ...rows.map(({ reason }) => reason)];
  const urgent = reasons.find(needsPerson);
  const reason = urgent ?? status.reason;
  const message = rows.find((row) => row.reason === reason && reason !== undefined)?.message ?? status.message;
  const desired = status.desiredReplicas ?? 0;
  const placed = rows
    .map(({ name: cluster, granted }) => ({ cluster, count: granted?.replicas ?? 0 }))
    .filter(({ count }) => count > 0);
  return {
    row: {
      type: "ccs",
      namespace,
      name,
      kind: kindOf(parsed.ok ? parsed.value.spec : undefined, status),
      phase: status.phase ?? "Pending",
      ...given("reason", reason),
      ...given("message", reason === undefined ? undefined : message),
      ...given("since", status.since),
      needsPerson: urgent !== undefined,
      ready: Math.min(status.readyReplicas ?? 0, desired),
      desired,
      updated: Math.min(status.updatedReplicas ?? 0, desired),
      clusters: placed.map(({ cluster }) => cluster),
      ...given("step", status.step?.cluster),
    },
    placed,
  };
}

function distributionDigest(object: KubeObject): Digest {
  const { name, namespace = "default" } = object.metadata;
  const status = distributionStatus(object);
  const { phase = "Pending", reason, message, since, revision } = status;
  const rows = status.clusters ?? [];
  const sum = (of: "objects" | "ready") => rows.reduce((total, row) => total + (row[of] ?? 0), 0);
  const desired = sum("objects");
  const done = rows.filter((row) => row.deployed === revision).reduce((total, row) => total + (row.objects ?? 0), 0);
  const placed = rows
    .map(({ name: cluster, objects = 0 }) => ({ cluster, count: objects }))
    .filter(({ count }) => count > 0);
  return {
    row: {
      type: "dapp",
      namespace,
      name,
      kind: "DistributedApplication",
      phase,
      ...given("reason", reason),
      ...given("message", reason === undefined ? undefined : message),
      ...given("since", since),
      needsPerson: needsPerson(reason) || phase === "Halted" || phase === "Invalid",
      ready: sum("ready"),
      desired,
      updated: done,
      clusters: placed.map(({ cluster }) => cluster),
    },
    placed,
  };
}

/** An attempt in one of these states may have pods. */
const ALIVE: ReadonlySet<string> = new Set(["Starting", "Running", "Stopping"]);

function jobDigest(object: KubeObject): Digest {
  const { name, namespace = "default" } = object.metadata;
  const status = jobStatus(object);
  const { phase = "Pending", waiting = [] } = status;
  const main = waiting.find((one) => needsPerson(one.reason)) ?? waiting[0];
  const reason = main?.reason ?? status.reason;
  const byCluster = new Map<string, number>();
  for (const { cluster, state } of status.attempts ?? []) {
    if (ALIVE.has(state)) byCluster.set(cluster, (byCluster.get(cluster) ?? 0) + 1);
  }
  const placed = [...byCluster].map(([cluster, count]) => ({ cluster, count }));
  const succeeded = status.succeeded ?? 0;
  return {
    row: {
      type: "ccj",
      namespace,
      name,
      kind: kindOfWork(object),
      phase,
      ...given("reason", reason),
      ...given("message", reason === undefined ? undefined : (main?.message ?? status.message)),
      needsPerson: needsPerson(reason) || phase === "Failed" || phase === "Invalid",
      ready: succeeded,
      desired: status.completions ?? Math.max(1, succeeded),
      clusters: placed.map(({ cluster }) => cluster),
    },
    placed,
  };
}
