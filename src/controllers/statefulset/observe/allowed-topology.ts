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
 * none.
 */
export function topologyRefusal(
  { metadata, spec }: ParsedCrossClusterStatefulset,
  namespace: Found,
  rule: AllowedClustersRule,
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
  const refused = forbiddenClusters(object, spec.topology.clusters, rule);
  if (refused.length === 0) return undefined;
  return {
    message: `spec.topology: namespace ${own} may not use ${refused.join(", ")}`,
    remedy:
      "Remove them from spec.topology, or have an administrator of the hub add them to the " +
      `annotation ${ALLOWED_CLUSTERS} of namespace ${own}.`,
  };
}
