import type { JsonObject } from "../../runtime/index.ts";

/** Manifests that several tests use. */
export const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
export const PODS = "/api/v1/namespaces/default/pods";
export const SETS = "/apis/apps/v1/namespaces/default/statefulsets";
export const CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
export const WIDGETS = "/apis/example.io/v1/namespaces/default/widgets";

export function configMap(name: string, data: Record<string, string> = {}, metadata: JsonObject = {}): JsonObject {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, ...metadata }, data };
}

export function pod(name: string, metadata: JsonObject = {}, spec: JsonObject = {}): JsonObject {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, ...metadata },
    spec: { containers: [{ name: "main", image: "app:1" }], ...spec },
  };
}

export function statefulSet(name: string, replicas = 3): JsonObject {
  return {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { name },
    spec: {
      replicas,
      serviceName: name,
      selector: { matchLabels: { app: name } },
      template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: "db", image: "db:1" }] } },
    },
  };
}

export function namespace(name: string): JsonObject {
  return { apiVersion: "v1", kind: "Namespace", metadata: { name } };
}

/** A CRD `widgets.example.io` with size, parts (a list by name), tags (a set) and both subresources. */
export function widgetCrd(change: { status?: boolean; versions?: JsonObject[]; names?: JsonObject } = {}): JsonObject {
  const version = (name: string, storage: boolean): JsonObject => ({
    name,
    served: true,
    storage,
    schema: {
      openAPIV3Schema: {
        type: "object",
        properties: {
          spec: {
            type: "object",
            properties: {
              size: { type: "integer", minimum: 0, default: 1 },
              color: { type: "string" },
              parts: {
                type: "array",
                items: {
                  type: "object",
                  required: ["name"],
                  properties: { name: { type: "string" }, weight: { type: "integer" } },
                },
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
              },
              tags: { type: "array", items: { type: "string" }, "x-kubernetes-list-type": "set" },
              labels: { type: "object", additionalProperties: { type: "string" } },
            },
          },
          status: { type: "object", properties: { ready: { type: "integer" }, selector: { type: "string" } } },
        },
      },
    },
    ...(change.status !== false && {
      subresources: {
        status: {},
        scale: {
          specReplicasPath: ".spec.size",
          statusReplicasPath: ".status.ready",
          labelSelectorPath: ".status.selector",
        },
      },
    }),
    selectableFields: [{ jsonPath: ".spec.color" }],
  });
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "widgets.example.io" },
    spec: {
      group: "example.io",
      scope: "Namespaced",
      names: { plural: "widgets", kind: "Widget", shortNames: ["wd"], ...change.names },
      versions: change.versions ?? [version("v1", true), version("v1beta1", false)],
    },
  };
}

export function widget(name: string, spec: JsonObject = {}, metadata: JsonObject = {}): JsonObject {
  return { apiVersion: "example.io/v1", kind: "Widget", metadata: { name, ...metadata }, spec };
}
