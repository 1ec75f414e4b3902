import type { Evidence, Waits } from "./reasons.ts";
import type { ClusterName, FleetFact } from "./types.ts";

interface Fleet {
  /** A cluster that is named nowhere in it is not known to be in maintenance. */
  readonly fleet: Readonly<Record<ClusterName, FleetFact>>;
}

/** [C11] A person drains it for maintenance. What cannot be reached has other worries. */
export function isInMaintenance({ fleet }: Fleet, cluster: ClusterName): boolean {
  const fact = Object.hasOwn(fleet, cluster) ? fleet[cluster] : undefined;
  return fact?.state === "Ready" && fact.maintenance === true;
}

/** [C11] Something is due there, and does not start. */
export function waitForMaintenance(waits: Waits, fleet: Fleet, cluster: ClusterName, what: string): void {
  waits.wait(
    "WaitingForMaintenance",
    cluster,
    `it is drained for maintenance; ${what} when that is over`,
    remedy(cluster),
    evidence(fleet, cluster),
  );
}

/** [C11] Nothing is due there: it is said all the same, or people wonder later why nothing starts. */
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
