/** The proposal's XlineCluster: its kind, how it is read, and the proposal's own manifest. */
import { type KubeObject, resource } from "../../src/kube/index.ts";
import type { World } from "./world.ts";

export const XLINES = resource({
  apiVersion: "apps.my.io/v1alpha1",
  kind: "XlineCluster",
  plural: "xlineclusters",
  namespaced: true,
});
/** The custom kind of the proposal: the members' operators act on it, the hub only stores it. */
export function xlineCrd() {
  const anything = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "xlineclusters.apps.my.io" },
    spec: {
      group: "apps.my.io",
      names: { kind: "XlineCluster", plural: "xlineclusters", singular: "xlinecluster" },
      scope: "Namespaced",
      versions: [
        {
          name: "v1alpha1",
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: "object", properties: { spec: anything, status: anything } } },
          subresources: { status: {} },
        },
      ],
    },
  };
}

/** How it is read: word for word the way a user would write it. */
const customization = {
  apiVersion: "config.karmada.io/v1alpha1",
  kind: "ResourceInterpreterCustomization",
  metadata: { name: "xline" },
  spec: {
    target: { apiVersion: "apps.my.io/v1alpha1", kind: "XlineCluster" },
    customizations: {
      replicaResource: {
        luaScript: "function GetReplicas(obj)\n  return obj.spec.replicas, nil\nend",
      },
      replicaRevision: {
        luaScript:
          "function ReviseReplica(obj, desiredReplica)\n  obj.spec.replicas = desiredReplica\n  return obj\nend",
      },
      healthInterpretation: {
        luaScript:
          "function InterpretHealth(obj)\n  if obj.status == nil then return false end\n  return obj.status.ready == obj.spec.replicas\nend",
      },
      statusReflection: {
        luaScript: "function ReflectStatus(obj)\n  return obj.status\nend",
      },
    },
  },
};

export function xline(image: string, name = "xline"): KubeObject {
  return {
    apiVersion: XLINES.apiVersion,
    kind: XLINES.kind,
    metadata: { name, namespace: "default" },
    spec: { replicas: 3, image },
  };
}

export const SEED_MANIFEST = {
  apiVersion: "apps.karmada.io/v1alpha1",
  kind: "CrossClusterStatefulset",
  metadata: { name: "xline", namespace: "default" },
  spec: {
    resourceSelector: { apiVersion: "apps.my.io/v1alpha1", kind: "XlineCluster", name: "xline", namespace: "default" },
    updateStrategy: { type: "RollingUpdate" },
  },
};

/** Installs the kind on the hub and in every member, and how it is read. */
export async function installXline(world: World): Promise<void> {
  const crd = xlineCrd();
  await world.stack.hub.apply(crd);
  for (const api of world.stack.members.values()) await api.apply(crd);
  await world.stage.prepareKind(world);
  await describeXline(world);
}

/** How the hub reads it. */
export async function describeXline(world: World): Promise<void> {
  await world.stack.hub.apply(customization);
}
