import { ANNOTATIONS, TOPOLOGY_PART_MAX_BYTES } from "../contract/index.ts";
import type { AppIdentity, Grant, TopologyView } from "../plan/index.ts";
import type { JsonObject } from "../runtime/index.ts";

/** Marks the objects in a member that Lockstep creates, as opposed to the user's. */
export const MANAGED_BY = { "app.kubernetes.io/managed-by": "lockstep" } as const;

export function topologyConfigMapName(workloadName: string): string {
  return `${workloadName}-topology`;
}

/** Every cluster gets the same view: its text, half a megabyte for 5,000 instances, is created once for all of them. */
const TEXTS = new WeakMap<TopologyView, string>();

/** The contract's JSON, with the keys in a fixed order. */
export function topologyText(view: TopologyView): string {
  const known = TEXTS.get(view) ?? textOf(view);
  TEXTS.set(view, known);
  return known;
}

function textOf(view: TopologyView): string {
  return JSON.stringify(
    view.clusters.map(({ cluster, replicas, ordinals, instances, addresses, states }) => ({
      cluster,
      replicas,
      ordinals,
      instances,
      addresses,
      states,
    })),
  );
}

/**
 * [I11] The topology as files for pods, because a StatefulSet's annotations do not reach them. Files that would be
 * larger than one part of a reference are replaced by the reference. If there is no reference, the files are small.
 */
export function topologyConfigMap(
  app: AppIdentity,
  grant: Grant,
  view: TopologyView,
  initialCluster: string,
  ref: string,
): JsonObject {
  const addresses = view.clusters.flatMap((cluster) => cluster.addresses);
  const files = {
    "initial-cluster": initialCluster,
    peers: addresses.map((address) => `${address}\n`).join(""),
    "topology.json": topologyText(view),
  };
  const bytes = Object.values(files).reduce((sum, file) => sum + Buffer.byteLength(file), 0);
  const isReferenced = ref !== "" && bytes > TOPOLOGY_PART_MAX_BYTES;
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: {
      name: topologyConfigMapName(app.name),
      namespace: app.namespace,
      labels: { ...MANAGED_BY },
      annotations: { [ANNOTATIONS.cluster]: grant.cluster, [ANNOTATIONS.topologyVersion]: String(view.version) },
    },
    data: {
      cluster: grant.cluster,
      "cluster-token": app.clusterToken,
      "initial-cluster-state": grant.initialClusterState,
      "topology-version": String(view.version),
      ...(isReferenced ? { "topology-ref": ref } : files),
    },
  };
}
