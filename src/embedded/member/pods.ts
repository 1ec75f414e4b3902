/** What Kubernetes' StatefulSet controller reads from a pod, and how it creates one. */
import type { KubeObject } from "../../apiserver/index.ts";
import { isJsonObject, type JsonObject } from "../../runtime/index.ts";
import { conditionOf, isDeleting, numberAt, objectAt, objectsAt, textAt } from "../values.ts";

export const REVISION_LABEL = "controller-revision-hash";
const POD_NAME_LABEL = "statefulset.kubernetes.io/pod-name";
const POD_INDEX_LABEL = "apps.kubernetes.io/pod-index";

export function ordinalOf(pod: KubeObject): number {
  const match = /-(\d+)$/.exec(pod.metadata.name);
  return match ? Number(match[1]) : -1;
}

export function revisionOf(pod: KubeObject): string {
  return pod.metadata.labels?.[REVISION_LABEL] ?? "";
}

/** Also while it is terminating: `readyReplicas` counts terminating pods, as in Kubernetes. */
export function isRunningAndReady(pod: KubeObject): boolean {
  return textAt(pod, "status", "phase") === "Running" && conditionOf(pod, "Ready")?.status === "True";
}

/** When the pod has been ready for long enough; undefined while it is not ready. */
export function availableAtMs(pod: KubeObject, minReadySeconds: number): number | undefined {
  if (!isRunningAndReady(pod)) return undefined;
  if (minReadySeconds === 0) return 0;
  return Date.parse(textAt(conditionOf(pod, "Ready"), "lastTransitionTime")) + minReadySeconds * 1000;
}

export function isAvailable(pod: KubeObject, minReadySeconds: number, nowMs: number): boolean {
  const atMs = availableAtMs(pod, minReadySeconds);
  return atMs !== undefined && atMs <= nowMs;
}

export function hasEnded(pod: KubeObject): boolean {
  const phase = textAt(pod, "status", "phase");
  return phase === "Failed" || phase === "Succeeded";
}

export function isUnavailable(pod: KubeObject | undefined, minReadySeconds: number, nowMs: number): boolean {
  return pod === undefined || isDeleting(pod) || !isAvailable(pod, minReadySeconds, nowMs);
}

export function claimName(claim: JsonObject, set: KubeObject, ordinal: number): string {
  return `${textAt(claim, "metadata", "name")}-${set.metadata.name}-${ordinal}`;
}

export function ownerReference(
  owner: KubeObject,
): JsonObject & { uid: string; kind: string; name: string; apiVersion: string } {
  const { apiVersion, kind, metadata } = owner;
  return { apiVersion, kind, name: metadata.name, uid: metadata.uid ?? "", controller: true, blockOwnerDeletion: true };
}

/** The pod of one ordinal, from a revision's template. */
export function podFor(set: KubeObject, ordinal: number, revision: { name: string; template: JsonObject }): KubeObject {
  const name = `${set.metadata.name}-${ordinal}`;
  const { template } = revision;
  const labels = { ...stringMap(objectAt(template, "metadata", "labels")) };
  labels[REVISION_LABEL] = revision.name;
  labels[POD_NAME_LABEL] = name;
  labels[POD_INDEX_LABEL] = String(ordinal);
  const annotations = stringMap(objectAt(template, "metadata", "annotations"));
  const claims = objectsAt(set, "spec", "volumeClaimTemplates");
  const claimed = new Set(claims.map((claim) => textAt(claim, "metadata", "name")));
  const volumes = [
    ...objectsAt(template, "spec", "volumes").filter((volume) => !claimed.has(textAt(volume, "name"))),
    ...claims.map((claim) => ({
      name: textAt(claim, "metadata", "name"),
      persistentVolumeClaim: { claimName: claimName(claim, set, ordinal) },
    })),
  ];
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace: set.metadata.namespace ?? "",
      labels,
      ...(Object.keys(annotations).length > 0 && { annotations }),
      ownerReferences: [ownerReference(set)],
    },
    spec: {
      ...objectAt(template, "spec"),
      hostname: name,
      subdomain: textAt(set, "spec", "serviceName"),
      ...(volumes.length > 0 && { volumes }),
    },
  };
}

/** The claims of one ordinal; owned by the set if the retention policy deletes them with it. */
export function claimsFor(set: KubeObject, ordinal: number): KubeObject[] {
  const whenDeleted = textAt(set, "spec", "persistentVolumeClaimRetentionPolicy", "whenDeleted");
  const { controller: _none, blockOwnerDeletion: _neither, ...owner } = ownerReference(set);
  return objectsAt(set, "spec", "volumeClaimTemplates").map((claim) => ({
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: {
      name: claimName(claim, set, ordinal),
      namespace: set.metadata.namespace ?? "",
      labels: {
        ...stringMap(objectAt(claim, "metadata", "labels")),
        ...stringMap(objectAt(set, "spec", "selector", "matchLabels")),
      },
      ...(whenDeleted === "Delete" && { ownerReferences: [owner] }),
    },
    spec: objectAt(claim, "spec"),
  }));
}

export function startOf(set: KubeObject): number {
  return numberAt(set, "spec", "ordinals", "start") ?? 0;
}

export function replicasOf(set: KubeObject): number {
  return numberAt(set, "spec", "replicas") ?? 1;
}

export function isOwnedBy(object: KubeObject, uid: string): boolean {
  return (object.metadata.ownerReferences ?? []).some((owner) => owner.controller === true && owner.uid === uid);
}

function stringMap(map: JsonObject): Record<string, string> {
  const strings: Record<string, string> = {};
  for (const [key, value] of Object.entries(isJsonObject(map) ? map : {})) {
    if (typeof value === "string") strings[key] = value;
  }
  return strings;
}
