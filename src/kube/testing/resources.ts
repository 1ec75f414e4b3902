import type { Json } from "../../runtime/index.ts";
import type { KubeObject } from "../object.ts";
import { resource } from "../resource.ts";

export const configMaps = resource({ apiVersion: "v1", kind: "ConfigMap", plural: "configmaps", namespaced: true });
export const leases = resource({
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  plural: "leases",
  namespaced: true,
});
export const nodes = resource({ apiVersion: "v1", kind: "Node", plural: "nodes", namespaced: false });

export function configMap(name: string, data: { [key: string]: Json } = {}, namespace = "default"): KubeObject {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace }, data };
}
