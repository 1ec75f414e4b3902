import type { KubeClient } from "../../kube/index.ts";
import type { StreamOptions } from "../members/streams.ts";

/** Clients for members through the hub's cluster proxy. The hub has every kind that it propagates. */
export function throughProxy(hub: KubeClient): Pick<StreamOptions, "client" | "findKind"> {
  return {
    client: (cluster) => hub.below("apis", "cluster.karmada.io", "v1alpha1", "clusters", cluster, "proxy"),
    findKind: (_cluster, apiVersion, kind, signal) => hub.discovery.resource(apiVersion, kind, { signal }),
  };
}
