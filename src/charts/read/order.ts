import type { RenderedObject } from "../types.ts";

/**
 * Kinds in the order in which they are applied, and in reverse deleted: what others need comes first. Webhooks and
 * APIServices come last, because until their pods are ready they block what is applied after them.
 */
const ORDER = [
  "CustomResourceDefinition",
  "Namespace",
  "PriorityClass",
  "RuntimeClass",
  "StorageClass",
  "VolumeSnapshotClass",
  "IngressClass",
  "CSIDriver",
  "ResourceQuota",
  "LimitRange",
  "NetworkPolicy",
  "ServiceAccount",
  "ClusterRole",
  "ClusterRoleBinding",
  "Role",
  "RoleBinding",
  "Secret",
  "ConfigMap",
  "PersistentVolume",
  "PersistentVolumeClaim",
  "Service",
  "PodDisruptionBudget",
  "DaemonSet",
  "Pod",
  "ReplicationController",
  "ReplicaSet",
  "Deployment",
  "StatefulSet",
  "HorizontalPodAutoscaler",
  "Job",
  "CronJob",
  "Ingress",
];
const LAST = [
  "APIService",
  "ValidatingAdmissionPolicy",
  "ValidatingAdmissionPolicyBinding",
  "MutatingAdmissionPolicy",
  "MutatingAdmissionPolicyBinding",
  "MutatingWebhookConfiguration",
  "ValidatingWebhookConfiguration",
];

const RANK = new Map([
  ...ORDER.map((kind, index) => [kind, index] as const),
  ...LAST.map((kind, index) => [kind, ORDER.length + 1 + index] as const),
]);

/** Custom resources come after everything that may serve them, and before webhooks. */
function rankOf(kind: string): number {
  return RANK.get(kind) ?? ORDER.length;
}

/** Objects in apply order, then hooks in the order in which they run. */
export function inApplyOrder(objects: readonly RenderedObject[]): RenderedObject[] {
  return objects.toSorted(
    (a, b) =>
      Number(a.hook !== undefined) - Number(b.hook !== undefined) ||
      (a.hook && b.hook ? a.hook.weight - b.hook.weight : rankOf(a.object.kind) - rankOf(b.object.kind)) ||
      (a.hook ? 0 : compare(a.object.kind, b.object.kind)) ||
      compare(a.object.metadata.name, b.object.metadata.name) ||
      compare(a.object.kind, b.object.kind) ||
      compare(a.object.metadata.namespace ?? "", b.object.metadata.namespace ?? ""),
  );
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
