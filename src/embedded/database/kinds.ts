import type { KubeObject } from "../../apiserver/index.ts";

/** The custom kind of one example. */
export interface DatabaseKind {
  readonly apiVersion: string;
  readonly kind: string;
  readonly plural: string;
}

export const XLINE: DatabaseKind = {
  apiVersion: "apps.my.io/v1alpha1",
  kind: "XlineCluster",
  plural: "xlineclusters",
};
export const ETCD: DatabaseKind = { apiVersion: "example.io/v1alpha1", kind: "EtcdCluster", plural: "etcdclusters" };

export function groupOf({ apiVersion }: DatabaseKind): string {
  return apiVersion.split("/")[0] ?? "";
}

/** The hub stores it as a template, the members' operators act on it. */
export function definitionOf(kind: DatabaseKind): KubeObject {
  const group = groupOf(kind);
  const anything = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  const spec = {
    type: "object",
    required: ["image"],
    properties: {
      replicas: { type: "integer", minimum: 0, description: "Instances in this cluster; on the hub, in all." },
      image: { type: "string" },
      args: { type: "array", items: { type: "string" }, description: "Flags that the database is started with." },
    },
  };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${kind.plural}.${group}` },
    spec: {
      group,
      names: {
        kind: kind.kind,
        listKind: `${kind.kind}List`,
        plural: kind.plural,
        singular: kind.kind.toLowerCase(),
      },
      scope: "Namespaced",
      versions: [
        {
          name: kind.apiVersion.split("/")[1] ?? "",
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: "object", properties: { spec, status: anything } } },
          subresources: { status: {} },
          additionalPrinterColumns: [
            { name: "Image", type: "string", jsonPath: ".spec.image" },
            { name: "Replicas", type: "integer", jsonPath: ".status.replicas" },
            { name: "Ready", type: "integer", jsonPath: ".status.readyReplicas" },
            { name: "Leader", type: "string", jsonPath: ".status.leader" },
          ],
        },
      ],
    },
  };
}

/** How Karmada and Lockstep read the kind, as one of Karmada's own customizations. */
export function customizationOf(kind: DatabaseKind): KubeObject {
  return {
    apiVersion: "config.karmada.io/v1alpha1",
    kind: "ResourceInterpreterCustomization",
    metadata: { name: kind.kind.toLowerCase() },
    spec: {
      target: { apiVersion: kind.apiVersion, kind: kind.kind },
      customizations: {
        replicaResource: { luaScript: "function GetReplicas(obj)\n  return obj.spec.replicas, nil\nend\n" },
        replicaRevision: {
          luaScript:
            "function ReviseReplica(obj, desiredReplica)\n  obj.spec.replicas = desiredReplica\n  return obj\nend\n",
        },
        healthInterpretation: {
          luaScript:
            "function InterpretHealth(obj)\n  if obj.status == nil then return false end\n  return obj.status.readyReplicas == obj.spec.replicas\nend\n",
        },
        statusReflection: { luaScript: "function ReflectStatus(obj)\n  return obj.status\nend\n" },
      },
    },
  };
}
