import type { Evidence, Waits } from "./reasons.ts";
import type { ClusterName, FleetFact } from "./types.ts";

interface Fleet {
  /** A cluster that is named nowhere in it is not known to be in maintenance. */
  readonly fleet: Readonly<Record<ClusterName, FleetFact>>;
}

/** [C11] A user drains it for maintenance. A cluster that is not Ready does not count: other rules cover it. */
export function isInMaintenance({ fleet }: Fleet, cluster: ClusterName): boolean {
  const fact = Object.hasOwn(fleet, cluster) ? fleet[cluster] : undefined;
  return fact?.state === "Ready" && fact.maintenance === true;
}

/** [C11] A step is due in this cluster; it does not start. */
export function waitForMaintenance(waits: Waits, fleet: Fleet, cluster: ClusterName, what: string): void {
  waits.wait(
    "WaitingForMaintenance",
    cluster,
    `it is drained for maintenance; ${what} when that is over`,
    remedy(cluster),
    evidence(fleet, cluster),
  );
}

/** [C11] No step is due in this cluster. Reported anyway, so that users know why a later step does not start. */
export function reportInMaintenance(waits: Waits, fleet: Fleet, cluster: ClusterName, addition: string): void {
  waits.wait(
    "InMaintenance",
    cluster,
    `it is drained for maintenance: no step starts there${addition}`,
    remedy(cluster),
    evidence(fleet, cluster),
  );
}

function remedy(cluster: ClusterName): string {
  return `Run 'lockstep undrain ${cluster}' when the maintenance is over.`;
}

function evidence({ fleet }: Fleet, cluster: ClusterName): Evidence[] {
  const fact = fleet[cluster];
  const value = fact?.state === "Ready" ? (fact.cordoned ?? "maintenance") : "maintenance";
  return [{ object: `cluster ${cluster}`, field: "spec.taints", value }];
}
