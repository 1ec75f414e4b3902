/** Applications as rows of the list. Pure. */
import { parseCrossClusterStatefulset } from "../../api/index.ts";
import type { KubeObject } from "../../kube/index.ts";
import type { ApplicationRow, AppType } from "../../web/index.ts";
import { workOf } from "../hub/pod-places.ts";
import { statusOf } from "../hub/status.ts";
import { kindOf } from "./application.ts";
import { distributionStatus } from "./distribution.ts";
import { jobStatus } from "./job.ts";
import { given, isInHand, needsPerson } from "./words.ts";

export const ROWS: Readonly<Record<AppType, (object: KubeObject) => ApplicationRow>> = {
  ccs: statefulsetRow,
  dapp: distributionRow,
  ccj: jobRow,
};

function statefulsetRow(object: KubeObject): ApplicationRow {
  const { name, namespace = "default" } = object.metadata;
  // One check of an object by its schema is most of what a row costs.
  const parsed = parseCrossClusterStatefulset(object);
  const status = parsed.ok ? (parsed.value.status ?? {}) : statusOf(object);
  const rows = status.clusters ?? [];
  const reasons = [status.reason, ...rows.map(({ reason }) => reason)];
  const urgent = reasons.find(needsPerson);
  const inHand = rows.find((row) => isInHand(row.reason))?.reason;
  const reason = urgent ?? status.reason ?? inHand;
  const message = rows.find((row) => row.reason === reason && reason !== undefined)?.message ?? status.message;
  const desired = status.desiredReplicas ?? 0;
  const placed = rows
    .map(({ name: cluster, granted }) => ({ name: cluster, count: granted?.replicas ?? 0 }))
    .filter(({ count }) => count > 0);
  return {
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
    updated: { done: Math.min(status.updatedReplicas ?? 0, desired), of: desired },
    clusters: placed,
    ...given("step", status.step?.cluster),
  };
}

function distributionRow(object: KubeObject): ApplicationRow {
  const { name, namespace = "default" } = object.metadata;
  const status = distributionStatus(object);
  const { phase = "Pending", reason, message, since, revision } = status;
  const rows = status.clusters ?? [];
  const sum = (of: "objects" | "ready") => rows.reduce((total, row) => total + (row[of] ?? 0), 0);
  const desired = sum("objects");
  const placed = rows
    .map(({ name: cluster, objects = 0 }) => ({ name: cluster, count: objects }))
    .filter(({ count }) => count > 0);
  return {
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
    // Clusters: one that has nothing yet has no objects to count.
    updated: {
      done: rows.filter((row) => revision !== undefined && row.deployed === revision).length,
      of: rows.length,
    },
    clusters: placed,
  };
}

/** An attempt in one of these states may have pods. */
const ALIVE: ReadonlySet<string> = new Set(["Starting", "Running", "Suspended", "Stopping"]);

function jobRow(object: KubeObject): ApplicationRow {
  const { name, namespace = "default" } = object.metadata;
  const status = jobStatus(object);
  const { phase = "Pending", waiting = [] } = status;
  const main = waiting.find((one) => needsPerson(one.reason)) ?? waiting[0];
  const reason = main?.reason ?? status.reason;
  const byCluster = new Map<string, number>();
  for (const { cluster, state } of status.attempts ?? []) {
    if (ALIVE.has(state)) byCluster.set(cluster, (byCluster.get(cluster) ?? 0) + 1);
  }
  const placed = [...byCluster].map(([cluster, count]) => ({ name: cluster, count }));
  const succeeded = status.succeeded ?? 0;
  return {
    type: "ccj",
    namespace,
    name,
    kind: workOf(object).kind,
    phase,
    ...given("reason", reason),
    ...given("message", reason === undefined ? undefined : (main?.message ?? status.message)),
    needsPerson: needsPerson(reason) || phase === "Failed" || phase === "Invalid",
    ready: succeeded,
    desired: status.completions ?? Math.max(1, succeeded),
    clusters: placed,
  };
}
