/** What a pod template asks of a cluster: resources and nodes, and objects beside it. */
import type { JsonObject } from "../../runtime/index.ts";
import { objectAt, objectsAt, textAt } from "../fields.ts";
import type { Dependency, ReplicaRequirements } from "../operations.ts";
import { sortedDependencies } from "../results.ts";

/** Placeholder until the quantity arithmetic is there. */
export function podRequirements(_template: JsonObject): ReplicaRequirements | undefined {
  return undefined;
}

/** ConfigMaps, Secrets, claims and the service account that the template names, of the owner's namespace. */
export function podDependencies(template: JsonObject, namespace: string | undefined): Dependency[] {
  const spec = objectAt(template, "spec") ?? {};
  const containers = ["initContainers", "containers", "ephemeralContainers"].flatMap((list) => objectsAt(spec, list));
  const volumes = objectsAt(spec, "volumes");
  const found: [kind: string, name: string | undefined][] = [];

  for (const container of containers) {
    for (const source of objectsAt(container, "envFrom")) {
      found.push(
        ["ConfigMap", textAt(source, "configMapRef", "name")],
        ["Secret", textAt(source, "secretRef", "name")],
      );
    }
    for (const variable of objectsAt(container, "env")) {
      found.push(
        ["ConfigMap", textAt(variable, "valueFrom", "configMapKeyRef", "name")],
        ["Secret", textAt(variable, "valueFrom", "secretKeyRef", "name")],
      );
    }
  }
  for (const volume of volumes) {
    found.push(["ConfigMap", textAt(volume, "configMap", "name")]);
    found.push(["PersistentVolumeClaim", textAt(volume, "persistentVolumeClaim", "claimName")]);
    for (const path of VOLUME_SECRETS) found.push(["Secret", textAt(volume, ...path)]);
    for (const source of objectsAt(volume, "projected", "sources")) {
      found.push(["ConfigMap", textAt(source, "configMap", "name")], ["Secret", textAt(source, "secret", "name")]);
    }
  }
  for (const secret of objectsAt(spec, "imagePullSecrets")) found.push(["Secret", textAt(secret, "name")]);
  const account = textAt(spec, "serviceAccountName");
  if (account !== "default") found.push(["ServiceAccount", account]);

  return sortedDependencies(
    found.flatMap(([kind, name]): Dependency[] =>
      name ? [{ apiVersion: "v1", kind, ...(namespace && { namespace }), name }] : [],
    ),
  );
}

/** Where the kinds of volume name a Secret. */
const VOLUME_SECRETS: readonly (readonly string[])[] = [
  ["secret", "secretName"],
  ["azureFile", "secretName"],
  ["csi", "nodePublishSecretRef", "name"],
  ...["cephfs", "cinder", "flexVolume", "rbd", "scaleIO", "iscsi", "storageos"].map((kind) => [
    kind,
    "secretRef",
    "name",
  ]),
];
