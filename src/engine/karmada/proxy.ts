import { type KubeClient, UnknownKindError } from "../../kube/index.ts";
import type { StreamOptions } from "../members/streams.ts";
import type { ObjectRef } from "../port.ts";

/**
 * Clients for members through the hub's cluster proxy. The hub serves every kind that Karmada itself propagates; a kind
 * that came with a chart may be known to the member only.
 */
export function throughProxy(hub: KubeClient): Pick<StreamOptions, "client" | "findKind"> {
  const client = (cluster: string) => hub.below("apis", "cluster.karmada.io", "v1alpha1", "clusters", cluster, "proxy");
  return {
    client,
    findKind: async (cluster, apiVersion, kind, signal) => {
      const options = signal && { signal };
      try {
        return await hub.discovery.resource(apiVersion, kind, options);
      } catch (error) {
        if (!(error instanceof UnknownKindError)) throw error;
        return client(cluster).discovery.resource(apiVersion, kind, options);
      }
    },
  };
}

/** Neither the hub nor the member knows the kind: then the member has no object of it. */
export async function isUnserved(hub: KubeClient, cluster: string, { apiVersion, kind }: ObjectRef): Promise<boolean> {
  try {
    await throughProxy(hub).findKind(cluster, apiVersion, kind);
    return false;
  } catch (error) {
    if (error instanceof UnknownKindError) return true;
    throw error;
  }
}
