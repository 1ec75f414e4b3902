/** One cluster of the fleet as the page shows it, on either engine. Pure. */
import { DRAIN_TAINT } from "../../engine/index.ts";
import type { KubeObject } from "../../kube/index.ts";
import { isJsonObject, type JsonObject } from "../../runtime/index.ts";
import type { FleetCluster, LoadView } from "../../web/index.ts";
import { given, listOf, textOf } from "./words.ts";

const OCM_AVAILABLE = "ManagedClusterConditionAvailable";
const REGION_CLAIM = "region.open-cluster-management.io";

export function fleetCluster(object: KubeObject): FleetCluster {
  const spec = isJsonObject(object.spec) ? object.spec : {};
  const status = isJsonObject(object.status) ? object.status : {};
  const ready = listOf(status.conditions).find(({ type }) => type === "Ready" || type === OCM_AVAILABLE);
  const taints = listOf(spec.taints).map(({ key, value, effect }) => `${key}${value ? `=${value}` : ""}:${effect}`);
  const nodes = isJsonObject(status.nodeSummary) ? status.nodeSummary.totalNum : undefined;
  const version = isJsonObject(status.version) ? status.version.kubernetes : status.kubernetesVersion;
  const claim = listOf(status.clusterClaims).find(({ name }) => name === REGION_CLAIM);
  return {
    name: object.metadata.name,
    uid: object.metadata.uid ?? "",
    health: ready?.status === "True" ? "Ready" : ready?.status === "False" ? "NotReady" : "Unknown",
    ...given("message", ready?.status === "True" ? undefined : textOf(ready?.message)),
    ...given("since", textOf(ready?.lastTransitionTime)),
    ...given("version", textOf(version)),
    ...given("region", textOf(spec.region) ?? textOf(claim?.value)),
    ...given("nodes", typeof nodes === "number" ? nodes : undefined),
    load: loadOf(status),
    taints: taints.filter((taint) => !taint.startsWith(DRAIN_TAINT)),
    draining: taints.some((taint) => taint.startsWith(DRAIN_TAINT)),
  };
}

const GIB = 2 ** 30;
const SHOWN: Readonly<Record<string, (amount: number) => string>> = {
  cpu: (cores) => `${round(cores)}`,
  memory: (bytes) => `${round(bytes / GIB)}`,
  pods: (pods) => `${Math.round(pods)}`,
};
const UNITS: Readonly<Record<string, string>> = { cpu: "cores", memory: "GiB", pods: "pods" };

/** Karmada reports what is requested of what there is; Open Cluster Management only what there is. */
function loadOf(status: JsonObject): LoadView[] {
  const summary = isJsonObject(status.resourceSummary) ? status.resourceSummary : {};
  const total = isJsonObject(summary.allocatable) ? summary.allocatable : status.allocatable;
  const used = isJsonObject(summary.allocated) ? summary.allocated : {};
  if (!isJsonObject(total)) return [];
  return Object.entries(SHOWN).flatMap(([resource, show]): LoadView[] => {
    const of = amountOf(total[resource]);
    const taken = amountOf(used[resource]);
    if (of === undefined || of === 0) return [];
    const text = `${taken === undefined ? "" : `${show(taken)} of `}${show(of)} ${UNITS[resource]}`;
    return [{ resource, ...given("used", taken), of, text }];
  });
}

const FACTORS: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  "": 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
};

/** A Kubernetes quantity, roughly: it is drawn, nothing is decided from it. */
function amountOf(value: unknown): number | undefined {
  const match = /^([0-9.]+)([a-zA-Z]{0,2})$/.exec(String(value ?? ""));
  const factor = FACTORS[match?.[2] ?? ""];
  const amount = Number(match?.[1]);
  return match && factor !== undefined && Number.isFinite(amount) ? amount * factor : undefined;
}

function round(amount: number): number {
  return amount < 10 ? Math.round(amount * 10) / 10 : Math.round(amount);
}
