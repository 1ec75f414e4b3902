import { ANNOTATIONS } from "../contract/index.ts";
import type { AppIdentity, Grant, TopologyView } from "../plan/index.ts";
import type { JsonObject } from "../runtime/index.ts";

/** Says which objects in a member are made by Lockstep and not by the user. */
export const MANAGED_BY = { "app.kubernetes.io/managed-by": "lockstep" } as const;

export function topologyConfigMapName(workloadName: string): string {
  return `${workloadName}-topology`;
}

/** The contract's JSON; the keys in its own order, whatever order the view was built in. */
export function topologyText(view: TopologyView): string {
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

/** The topology as files, for pods: a StatefulSet's annotations do not reach them. */
export function topologyConfigMap(
  app: AppIdentity,
  grant: Grant,
  view: TopologyView,
  initialCluster: string,
): JsonObject {
  const addresses = view.clusters.flatMap((cluster) => cluster.addresses);
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
      "initial-cluster": initialCluster,
      "initial-cluster-state": grant.initialClusterState,
      peers: addresses.map((address) => `${address}\n`).join(""),
      "topology-version": String(view.version),
      "topology.json": topologyText(view),
    },
  };
}
