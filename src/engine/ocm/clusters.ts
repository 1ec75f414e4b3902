import type { KubeObject } from "../../kube/index.ts";
import { isJsonObject, type JsonObject } from "../../runtime/index.ts";
import { conditionsOf } from "../dispatch-objects.ts";
import { DRAIN_TAINT } from "../drain.ts";
import { quantities } from "../headroom.ts";
import type { EngineCluster } from "../port.ts";

/** Taints that OCM derives from a cluster's availability, which `state` already reports. */
export const DERIVED_TAINTS = new Set([
  "cluster.open-cluster-management.io/unreachable",
  "cluster.open-cluster-management.io/unavailable",
]);

/** The condition that a cluster's agent and the hub's lease controller write. */
export const AVAILABLE = "ManagedClusterConditionAvailable";

/** In place of a taint: what is being detached gets no instance. */
const DETACHING = "lockstep.karmada.io/detaching:NoSelect";

const REGION_CLAIM = "region.open-cluster-management.io";
const PLATFORM_CLAIM = "platform.open-cluster-management.io";
const REGION_LABEL = "topology.kubernetes.io/region";
const ZONE_LABEL = "topology.kubernetes.io/zone";

/** A cluster that the hub has accepted and that has joined; undefined for one that has not. */
export function readManagedCluster(cluster: KubeObject): EngineCluster | undefined {
  const spec = isJsonObject(cluster.spec) ? cluster.spec : {};
  const condition = (type: string) => conditionsOf(cluster).find((each) => each.type === type);
  if (condition("ManagedClusterJoined")?.status !== "True") return undefined;
  const available = condition(AVAILABLE);
  const sinceMs = Date.parse(String(available?.lastTransitionTime ?? ""));
  const labels = cluster.metadata.labels ?? {};
  const claims = claimsOf(cluster);
  const cordoned = isDetaching(cluster) ? DETACHING : cordonOf(spec);
  const provider = claims.get(PLATFORM_CLAIM) ?? labels.cloud;
  const region = claims.get(REGION_CLAIM) ?? labels[REGION_LABEL] ?? labels.region;
  const zone = labels[ZONE_LABEL];
  return {
    name: cluster.metadata.name,
    state: stateOf(spec.hubAcceptsClient === true, available?.status),
    ...(Number.isFinite(sinceMs) && { sinceMs }),
    ...(cordoned !== undefined && { cordoned }),
    ...capacityOf(cluster),
    labels,
    ...(provider !== undefined && { provider }),
    ...(region !== undefined && { region }),
    zones: zone === undefined ? [] : [zone],
  };
}

/** OCM sums up what the nodes offer, and does not tell what is taken of it. */
function capacityOf({ status }: KubeObject): Pick<EngineCluster, "capacity"> {
  const allocatable = quantities(isJsonObject(status) ? status.allocatable : undefined);
  return Object.keys(allocatable).length === 0 ? {} : { capacity: { allocatable } };
}

/** Its ManagedCluster is being deleted: OCM deletes every ManifestWork of the cluster at once, and any that follows. */
export function isDetaching({ metadata }: KubeObject): boolean {
  return metadata.deletionTimestamp !== undefined;
}

/**
 * It is Ready, and OCM has also removed the taints that it puts on clusters which are not: as long as one is there, a
 * Placement may leave the cluster out for it.
 */
export function isWell(cluster: KubeObject): boolean {
  if (isDetaching(cluster) || readManagedCluster(cluster)?.state !== "Ready") return false;
  return !taintsOf(isJsonObject(cluster.spec) ? cluster.spec : {}).some(({ key }) => DERIVED_TAINTS.has(String(key)));
}

/** A cluster that is no longer accepted cannot report to the hub, so its last report does not count. */
function stateOf(isAccepted: boolean, available: unknown): EngineCluster["state"] {
  if (!isAccepted || available === "False") return "NotReady";
  return available === "True" ? "Ready" : "Unknown";
}

function taintsOf({ taints }: JsonObject): JsonObject[] {
  return Array.isArray(taints) ? taints.filter(isJsonObject) : [];
}

function cordonOf(spec: JsonObject): string | undefined {
  const found = taintsOf(spec).filter(
    ({ key, effect }) => (effect === "NoSelect" || effect === "NoSelectIfNew") && !DERIVED_TAINTS.has(String(key)),
  );
  // Any of them repels new instances; a user's drain requests more.
  const taint = found.find(({ key }) => key === DRAIN_TAINT) ?? found[0];
  return taint && `${taint.key}:${taint.effect}`;
}

function claimsOf({ status }: KubeObject): Map<string, string> {
  const claims = isJsonObject(status) && Array.isArray(status.clusterClaims) ? status.clusterClaims : [];
  return new Map(
    claims.flatMap((claim) =>
      isJsonObject(claim) && typeof claim.name === "string" && typeof claim.value === "string"
        ? [[claim.name, claim.value] as const]
        : [],
    ),
  );
}
