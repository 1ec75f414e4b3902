import { isJsonObject, type JsonObject } from "../../src/runtime/index.ts";
import { SHOP } from "./ground.ts";

export const LABELS = { app: "web" };

/** One StatefulSet in the clusters that shop may use. */
export function crossCluster(name: string, spec: JsonObject = {}, namespace = SHOP): JsonObject {
  return {
    apiVersion: "apps.karmada.io/v1alpha1",
    kind: "CrossClusterStatefulset",
    metadata: { name, namespace },
    spec: {
      resourceSelector: { apiVersion: "apps/v1", kind: "StatefulSet", name },
      updateStrategy: { type: "RollingUpdate" },
      topology: clusters({ member1: 1, member2: 1 }),
      ...spec,
    },
  };
}

export function clusters(replicas: Readonly<Record<string, number>>): JsonObject {
  return { clusters: Object.entries(replicas).map(([name, count]) => ({ name, replicas: count })) };
}

export function statefulSet(name: string, image: string, namespace = SHOP): JsonObject {
  const env = [{ name: "PASSWORD", valueFrom: { secretKeyRef: { name, key: "password" } } }];
  return {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { name, namespace },
    spec: {
      replicas: 2,
      serviceName: name,
      selector: { matchLabels: LABELS },
      template: { metadata: { labels: LABELS }, spec: { containers: [{ name: "web", image, env }] } },
    },
  };
}

/** A Job in a cluster that shop may use; `template` replaces or adds to it. */
export function crossClusterJob(name: string, template: JsonObject = {}, spec: JsonObject = {}): JsonObject {
  const pods = { spec: { restartPolicy: "Never", containers: [{ name: "main", image: "work:1" }] } };
  return {
    apiVersion: "apps.karmada.io/v1alpha1",
    kind: "CrossClusterJob",
    metadata: { name, namespace: SHOP },
    spec: {
      template: { apiVersion: "batch/v1", kind: "Job", spec: { template: pods }, ...template },
      clusters: { names: ["member1"] },
      ...spec,
    },
  };
}

export function secret(name: string, namespace = SHOP): JsonObject {
  return { apiVersion: "v1", kind: "Secret", metadata: { name, namespace }, stringData: { password: "hunter2" } };
}

export function approval(name: string, spec: JsonObject): JsonObject {
  return {
    apiVersion: "apps.karmada.io/v1alpha1",
    kind: "RolloutApproval",
    metadata: { name, namespace: SHOP },
    spec: { name: "web", revision: "web-1", wave: 1, ...spec },
  };
}

export function ledger(namespace: string): JsonObject {
  return {
    apiVersion: "apps.karmada.io/v1alpha1",
    kind: "CrossClusterLedger",
    metadata: { name: "forged", namespace },
    spec: {
      version: 1,
      state: {},
      owner: { kind: "CrossClusterStatefulset", namespace: SHOP, name: "web", uid: "x" },
      revisions: [],
    },
  };
}

/** A Work with the controller's marks. */
export function work(
  namespace: string,
  manifest: JsonObject,
  labels: JsonObject = { "lockstep.karmada.io/app": "0123456789" },
): JsonObject {
  return {
    apiVersion: "work.karmada.io/v1alpha1",
    kind: "Work",
    metadata: {
      name: "forged",
      namespace,
      labels,
      annotations: { "lockstep.karmada.io/app-namespace": SHOP, "lockstep.karmada.io/app-name": "web" },
    },
    spec: { workload: { manifests: [manifest] } },
  };
}

/** A ManifestWork with the controller's marks. */
export function manifestWork(namespace: string, manifest: JsonObject, labels?: JsonObject): JsonObject {
  const { metadata, spec } = work(namespace, manifest, labels);
  return {
    apiVersion: "work.open-cluster-management.io/v1",
    kind: "ManifestWork",
    metadata: metadata ?? {},
    spec: { ...(isJsonObject(spec) && spec), deleteOption: { propagationPolicy: "Orphan" } },
  };
}

/** As an administrator writes it in a cluster's namespace. */
export function memberAccess(server: string, namespace = SHOP): JsonObject {
  const metadata = { name: "access", namespace, labels: { "lockstep.karmada.io/member-access": "true" } };
  return { apiVersion: "v1", kind: "Secret", metadata, stringData: { server, token: "token" } };
}

export const CLUSTER_ADMIN_FOR_ALL: JsonObject = {
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRoleBinding",
  metadata: { name: "all-are-admins" },
  roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
  subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "Group", name: "system:authenticated" }],
};

export function configMap(name: string, namespace: string): JsonObject {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace }, data: { key: "value" } };
}

/** Whether a CrossClusterStatefulset is as asked for, with so many instances ready. */
export function isSettled(object: JsonObject | undefined, replicas = 2): boolean {
  const status = isJsonObject(object?.status) ? object.status : {};
  return status.phase === "Settled" && status.readyReplicas === replicas;
}
