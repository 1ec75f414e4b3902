import type { KubeObject } from "../../kube/index.ts";
import { isJsonObject } from "../../runtime/index.ts";
import { conditionsOf } from "../dispatch-objects.ts";
import type { EngineOwner, EngineSchedule } from "../port.ts";

/** What a Placement needs before it selects anything, and a common reason for an empty selection. */
const NO_BINDING = "NoManagedClusterSetBindings";

/**
 * The clusters that a Placement has selected. Its decisions come in slices: they belong to one decision only if their
 * sum is the Placement's own count. A Placement's conditions have no generation, so a decision that is about to change
 * looks like any other; the change is then news.
 */
export function readPlacement(
  app: Pick<EngineOwner, "namespace" | "placement">,
  placement: KubeObject | undefined,
  decisions: readonly KubeObject[],
): EngineSchedule {
  if (app.placement === undefined) {
    return {
      kind: "unknown",
      message: "this engine does not divide instances: set the number of instances of each cluster in spec.topology",
    };
  }
  const what = `Placement ${app.namespace}/${app.placement}`;
  if (!placement) {
    return {
      kind: "unknown",
      message: `${what} does not exist, or has not been seen yet; spec.topology.placementRef names a Placement of the same namespace`,
    };
  }
  const conditions = conditionsOf(placement);
  const misconfigured = conditions.find(({ type, status }) => type === "PlacementMisconfigured" && status === "True");
  if (misconfigured) return { kind: "unknown", message: `${what} is misconfigured: ${misconfigured.message}` };
  const satisfied = conditions.find(({ type }) => type === "PlacementSatisfied");
  if (satisfied?.reason === NO_BINDING) {
    return {
      kind: "unknown",
      message: `${what}: ${satisfied.message}. A Placement selects only from sets that a ManagedClusterSetBinding in namespace ${app.namespace} names; the set global has all clusters`,
    };
  }
  if (!satisfied || decisions.length === 0) return { kind: "unknown", message: `${what} has decided nothing yet` };
  const clusters = [...new Set(decisions.flatMap(selectedBy))];
  const status = isJsonObject(placement.status) ? placement.status : {};
  const counted = typeof status.numberOfSelectedClusters === "number" ? status.numberOfSelectedClusters : 0;
  if (clusters.length !== counted) {
    return {
      kind: "unknown",
      message: `${what} counts ${counted} selected clusters, its decisions name ${clusters.length}: it is deciding`,
    };
  }
  if (clusters.length === 0) {
    return {
      kind: "unknown",
      message: `${what} selects no cluster: ${satisfied.message}. See its predicates and tolerations`,
    };
  }
  return { kind: "known", clusters: clusters.map((cluster) => ({ cluster, replicas: 1 })), isSelection: true };
}

function selectedBy({ status }: KubeObject): string[] {
  const decisions = isJsonObject(status) && Array.isArray(status.decisions) ? status.decisions : [];
  return decisions.flatMap((decision) =>
    isJsonObject(decision) && typeof decision.clusterName === "string" && decision.clusterName !== ""
      ? [decision.clusterName]
      : [],
  );
}
