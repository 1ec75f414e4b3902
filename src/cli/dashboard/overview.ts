/** All applications and the fleet as the page shows them, from one moment. Pure. */
import { parseCrossClusterStatefulset } from "../../api/index.ts";
import { DRAIN_TAINT } from "../../engine/index.ts";
import type { KubeObject } from "../../kube/index.ts";
import { isJsonObject, type JsonObject } from "../../runtime/index.ts";
import type { ApplicationRow, FleetCluster, OverviewView } from "../../web/index.ts";
import { statusOf } from "../hub/status.ts";
import { given, kindOf, needsPerson } from "./application.ts";

/** What a row needs of an object; kept instead of the object, so that a thousand of them cost little. */
export interface Digest {
  readonly row: ApplicationRow;
  /** Instances by cluster. */
  readonly placed: readonly { readonly cluster: string; readonly instances: number }[];
}

export function overviewView(
  digests: readonly Digest[],
  clusters: readonly KubeObject[],
  problems: readonly string[],
  nowMs: number,
): OverviewView {
  const running = new Map<string, FleetCluster["applications"][number][]>();
  for (const { row, placed } of digests) {
    for (const { cluster, instances } of placed) {
      const list = running.get(cluster) ?? [];
      list.push({ namespace: row.namespace, name: row.name, instances });
      running.set(cluster, list);
    }
  }
  return {
    atMs: nowMs,
    applications: digests.map(({ row }) => row).sort(urgentFirst),
    clusters: clusters
      .map((object) => fleetCluster(object, running.get(object.metadata.name) ?? []))
      .sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true })),
    problems,
  };
}

/** What needs a user first, then what moves or waits, then the rest by name. */
function urgentFirst(a: ApplicationRow, b: ApplicationRow): number {
  return rank(a) - rank(b) || a.namespace.localeCompare(b.namespace) || a.name.localeCompare(b.name);
}

function rank({ needsPerson: urgent, phase }: ApplicationRow): number {
  if (urgent || phase === "Halted" || phase === "Invalid") return 0;
  return phase === "Settled" ? 2 : 1;
}

export function digestOf(object: KubeObject): Digest {
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
    .map(({ name: cluster, granted }) => ({ cluster, instances: granted?.replicas ?? 0 }))
    .filter(({ instances }) => instances > 0);
  return {
    row: {
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

function fleetCluster(object: KubeObject, applications: FleetCluster["applications"]): FleetCluster {
  const spec = isJsonObject(object.spec) ? object.spec : {};
  const status = isJsonObject(object.status) ? object.status : {};
  const ready = listOf(status.conditions).find(({ type }) => type === "Ready");
  const taints = listOf(spec.taints).map(({ key, value, effect }) => `${key}${value ? `=${value}` : ""}:${effect}`);
  const summary = isJsonObject(status.nodeSummary) ? status.nodeSummary : {};
  return {
    name: object.metadata.name,
    health: ready?.status === "True" ? "Ready" : ready?.status === "False" ? "NotReady" : "Unknown",
    ...given("message", ready?.status === "True" ? undefined : textOf(ready?.message)),
    ...given("since", textOf(ready?.lastTransitionTime)),
    ...given("version", textOf(status.kubernetesVersion)),
    ...given("region", textOf(spec.region)),
    ...given("nodes", typeof summary.totalNum === "number" ? summary.totalNum : undefined),
    taints: taints.filter((taint) => !taint.startsWith(DRAIN_TAINT)),
    draining: taints.some((taint) => taint.startsWith(DRAIN_TAINT)),
    applications,
  };
}

function listOf(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
