import { describe, expect, it } from "vitest";
import type { KubeObject } from "../../kube/index.ts";
import { isOwnedBy, placesOfApplication, placesOfJob, podLabelOf } from "./pod-places.ts";

describe("a pod", () => {
  const pod = (owner: object, labels: Record<string, string> = {}): KubeObject => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "one", labels, ownerReferences: [{ apiVersion: "apps/v1", uid: "1", ...owner }] },
  });

  it("is a StatefulSet's if that owns it, not if the names are alike", () => {
    const own = pod({ kind: "StatefulSet", name: "web" });
    expect(isOwnedBy(own, { kind: "StatefulSet", name: "web" })).toBe(true);
    expect(isOwnedBy(own, { kind: "DaemonSet", name: "web" })).toBe(false);
    expect(isOwnedBy(own, { kind: "StatefulSet", name: "we" })).toBe(false);
    expect(isOwnedBy({ ...own, metadata: { name: "web-0" } }, { kind: "StatefulSet", name: "web" })).toBe(false);
  });

  it("is a Deployment's through the ReplicaSet of its own hash, not of a longer name", () => {
    const own = pod({ kind: "ReplicaSet", name: "web-5d8f" }, { "pod-template-hash": "5d8f" });
    expect(isOwnedBy(own, { kind: "Deployment", name: "web" })).toBe(true);
    const other = pod({ kind: "ReplicaSet", name: "web-admin-5d8f" }, { "pod-template-hash": "5d8f" });
    expect(isOwnedBy(other, { kind: "Deployment", name: "web" })).toBe(false);
  });
});

describe("an application's pods", () => {
  it("are read where objects are not healthy, of those objects only", () => {
    const places = placesOfApplication({
      clusters: [
        { name: "west", phase: "Settled", objects: 2, ready: 2 },
        { name: "east", phase: "Updating", objects: 2, ready: 1 },
        { name: "north", phase: "Pending" },
      ],
      objects: [
        { kind: "Deployment", name: "api", namespace: "shop", health: "Unhealthy" },
        { kind: "Deployment", name: "web", namespace: "shop", health: "Healthy" },
        { kind: "ClusterRole", name: "reads", health: "Unknown" },
      ],
    });
    expect(places).toEqual([
      { cluster: "east", namespace: "shop", pods: { by: "owners", owners: [{ kind: "Deployment", name: "api" }] } },
    ]);
  });
});

describe("a job's pods", () => {
  const train = (apiVersion: string, kind: string): KubeObject => ({
    apiVersion: "apps.karmada.io/v1alpha1",
    kind: "CrossClusterJob",
    metadata: { name: "train", namespace: "shop" },
    spec: { template: { apiVersion, kind } },
  });
  const attempts = [
    { number: 1, cluster: "west", object: "train-1", state: "Failed" as const },
    { number: 2, cluster: "east", object: "train-2", state: "Running" as const },
    { number: 3, cluster: "north", object: "train-3", state: "Succeeded" as const },
    { number: 4, cluster: "south", state: "Starting" as const },
  ];

  it("are those of its newest attempts that have not succeeded, by the label of their kind", () => {
    expect(placesOfJob(train("batch/v1", "Job"), { attempts })).toEqual([
      {
        cluster: "east",
        namespace: "shop",
        pods: { by: "selector", selector: "batch.kubernetes.io/job-name=train-2" },
      },
      {
        cluster: "west",
        namespace: "shop",
        pods: { by: "selector", selector: "batch.kubernetes.io/job-name=train-1" },
      },
    ]);
    const [place] = placesOfJob(train("kubeflow.org/v1", "PyTorchJob"), { attempts });
    expect(place?.pods).toEqual({ by: "selector", selector: "training.kubeflow.org/job-name=train-2" });
  });

  it("of a kind whose name an object inherits have the label of a Job", () => {
    expect(podLabelOf({ group: "", kind: "constructor" })).toBe("batch.kubernetes.io/job-name");
  });
});
