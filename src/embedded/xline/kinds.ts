import type { KubeObject } from "../../apiserver/index.ts";

export const XLINE_API_VERSION = "apps.my.io/v1alpha1";
export const XLINE_KIND = "XlineCluster";
/** As the fleet's own controllers name it: `group/plural`. */
export const XLINES = "apps.my.io/xlineclusters";

/** The custom kind: the hub stores it as a template, the members' operators act on it. */
export function xlineDefinition(): KubeObject {
  const anything = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  const spec = {
    type: "object",
    required: ["image"],
    properties: { replicas: { type: "integer", minimum: 0 }, image: { type: "string" } },
  };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "xlineclusters.apps.my.io" },
    spec: {
      group: "apps.my.io",
      names: { kind: XLINE_KIND, listKind: `${XLINE_KIND}List`, plural: "xlineclusters", singular: "xlinecluster" },
      scope: "Namespaced",
      versions: [
        {
          name: "v1alpha1",
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: "object", properties: { spec, status: anything } } },
          subresources: { status: {} },
          additionalPrinterColumns: [
            { name: "Image", type: "string", jsonPath: ".spec.image" },
            { name: "Ready", type: "integer", jsonPath: ".status.readyReplicas" },
            { name: "Leader", type: "string", jsonPath: ".status.leader" },
          ],
        },
      ],
    },
  };
}

/** How Karmada and Lockstep read the kind, in the words of Karmada's own customizations. */
export function xlineCustomization(): KubeObject {
  return {
    apiVersion: "config.karmada.io/v1alpha1",
    kind: "ResourceInterpreterCustomization",
    metadata: { name: "xline" },
    spec: {
      target: { apiVersion: XLINE_API_VERSION, kind: XLINE_KIND },
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
