import { ANNOTATIONS } from "../contract/index.ts";
import type { AppIdentity, Grant, TopologyView } from "../plan/index.ts";
import type { JsonObject } from "../runtime/index.ts";

/** Says which objects in a member are made by Lockstep and not by the user. */
export const MANAGED_BY = { "app.kubernetes.io/managed-by": "lockstep" } as const;

export function topologyConfigMapName(workloadName: string): string {
  return `${workloadName}-topology`;
}

/**
 * `name=address` of every instance of the view, in the global order: the existing members, those about to leave (they
 * still vote) and the one that joins. In a static deployment everybody joins, and so everybody is listed.
 */
export function initialCluster(view: TopologyView): string {
  return peers(view).join(",");
}

function peers(view: TopologyView): string[] {
  return view.clusters.flatMap(({ instances, addresses }) =>
    instances.flatMap((instance, index) => {
      const address = addresses[index];
      return address === undefined ? [] : [`${instance}=${address}`];
    }),
  );
}

/** The topology as files, for pods: a StatefulSet's annotations do not reach them. */
export function topologyConfigMap(app: AppIdentity, grant: Grant, view: TopologyView): JsonObject {
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
      "initial-cluster": initialCluster(view),
      "initial-cluster-state": grant.initialClusterState,
      peers: peers(view)
        .map((peer) => `${peer}\n`)
        .join(""),
      "topology-version": String(view.version),
      "topology.json": JSON.stringify(view.clusters),
    },
  };
}
