import {
  ALLOWED_CLUSTERS,
  type AllowedClustersRule,
  forbiddenClusters,
  type ParsedCrossClusterStatefulset,
} from "../../../api/index.ts";
import type { Found } from "../../common/hub/hub-readings.ts";

/** Why spec.topology is not followed at present. */
export interface TopologyRefusal {
  readonly message: string;
  readonly remedy: string;
}

/**
 * Admission refuses a topology that the namespace may not use. This sees what admission cannot: an annotation that was
 * narrowed later, and objects that are older than the policy. Undefined: the topology may be followed, or there is
 * none. `selected`: what the engine selects for spec.topology.placementRef.
 */
export function topologyRefusal(
  { metadata, spec }: ParsedCrossClusterStatefulset,
  namespace: Found,
  rule: AllowedClustersRule,
  selected: readonly string[] = [],
): TopologyRefusal | undefined {
  if (spec.topology === undefined) return undefined;
  const own = metadata.namespace;
  if (namespace.kind === "unknown" && namespace.notServed === undefined) {
    return {
      message: `which clusters namespace ${own} may use is not known yet: ${namespace.message}`,
      remedy: "If this does not end, let the controller read namespaces: 'lockstep install --apply' grants that right.",
    };
  }
  const object = namespace.kind === "present" ? namespace.object : { metadata: {} };
  const { placementRef } = spec.topology;
  // A Placement's clusters change without a write of this object, so admission never sees them.
  const clusters = placementRef ? selected.map((name) => ({ name })) : spec.topology.clusters;
  const refused = forbiddenClusters(object, clusters, rule);
  if (refused.length === 0) return undefined;
  if (placementRef) {
    return {
      message: `spec.topology.placementRef: Placement ${placementRef.name} selects ${refused.join(", ")}, which namespace ${own} may not use`,
      remedy: `Narrow the Placement's predicates, or have an administrator of the hub add them to the annotation ${ALLOWED_CLUSTERS} of namespace ${own}.`,
    };
  }
  return {
    message: `spec.topology: namespace ${own} may not use ${refused.join(", ")}`,
    remedy:
      "Remove them from spec.topology, or have an administrator of the hub add them to the " +
      `annotation ${ALLOWED_CLUSTERS} of namespace ${own}.`,
  };
}
