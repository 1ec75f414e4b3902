/** The objects that the contract puts on a hub and its members. */
import { type KubeObject, resource } from "../../../kube/index.ts";
import { isJsonObject, type JsonObject } from "../../../runtime/index.ts";
import type { EngineApp } from "../../port.ts";

export const STATEFULSETS = resource({
  apiVersion: "apps/v1",
  kind: "StatefulSet",
  plural: "statefulsets",
  namespaced: true,
});
export const CLAIMS = resource({
  apiVersion: "v1",
  kind: "PersistentVolumeClaim",
  plural: "persistentvolumeclaims",
  namespaced: true,
});

export const NAMESPACE = "default";
export const CLUSTERS = ["member1", "member2", "member3"];
export const MANAGER = { fieldManager: "contract", force: true };

export function statefulSet(name: string, replicas: number, image: string): KubeObject {
  return {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { name, namespace: NAMESPACE },
    spec: {
      replicas,
      serviceName: name,
      selector: { matchLabels: { app: name } },
      template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: "app", image }] } },
    },
  };
}

export function configMap(name: string, part: string): KubeObject {
  const metadata = { name, namespace: NAMESPACE };
  return { apiVersion: "v1", kind: "ConfigMap", metadata, immutable: true, data: { part } };
}

export function appOf(name: string): EngineApp {
  return {
    namespace: NAMESPACE,
    name,
    template: { apiVersion: "apps/v1", kind: "StatefulSet", namespace: NAMESPACE, name },
    placement: name,
  };
}

export function specOf({ spec }: KubeObject): JsonObject {
  return isJsonObject(spec) ? spec : {};
}
