/** What stories of DistributedApplications share. */
import { type KubeObject, resource } from "../../kube/index.ts";
import { isJsonObject, type JsonObject } from "../../runtime/index.ts";
import type { World } from "./world.ts";

export const DISTRIBUTED_APPLICATIONS = resource({
  apiVersion: "apps.karmada.io/v1alpha1",
  kind: "DistributedApplication",
  plural: "distributedapplications",
  namespaced: true,
});

export function application(name: string, spec: JsonObject): KubeObject {
  return {
    apiVersion: "apps.karmada.io/v1alpha1",
    kind: "DistributedApplication",
    metadata: { name, namespace: "default" },
    spec,
  };
}

export function configMap(name: string, data: Record<string, string>): JsonObject {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data };
}

export function inline(...objects: JsonObject[]): JsonObject {
  return { manifests: { inline: objects } };
}

export function statusOf(world: World, name: string): JsonObject {
  const status = world.fleet.hubObject("apps.karmada.io/distributedapplications", "default", name)?.status;
  return isJsonObject(status) ? status : {};
}

export function rows(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

/** Whether the status is of the newest spec, and everything has settled. */
function isSettled(world: World, name: string): boolean {
  const object = world.fleet.hubObject("apps.karmada.io/distributedapplications", "default", name);
  const { phase, observedGeneration } = statusOf(world, name);
  return phase === "Settled" && observedGeneration === object?.metadata.generation;
}

/** Lets time pass until everything has settled; otherwise says what the status says. */
export async function settle(world: World, name: string): Promise<void> {
  await world
    .until(`${name} is settled`, () => isSettled(world, name))
    .catch((error: unknown) => {
      throw new Error(`${String(error)}: ${JSON.stringify(statusOf(world, name), null, 1)}`);
    });
}
