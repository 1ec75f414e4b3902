import { expect, it } from "vitest";
import type { JsonObject } from "../../runtime/index.ts";
import { readManagedCluster } from "./clusters.ts";

const AT = "2025-01-01T00:00:00Z";

function cluster(available: string | undefined, spec: JsonObject = {}, more: JsonObject = {}, joined = "True") {
  const conditions = [
    { type: "ManagedClusterJoined", status: joined },
    ...(available === undefined
      ? []
      : [{ type: "ManagedClusterConditionAvailable", status: available, lastTransitionTime: AT }]),
  ];
  return readManagedCluster({
    apiVersion: "cluster.open-cluster-management.io/v1",
    kind: "ManagedCluster",
    metadata: { name: "east", labels: { "topology.kubernetes.io/zone": "a" } },
    spec: { hubAcceptsClient: true, ...spec },
    status: { conditions, ...more },
  });
}

it("a cluster is Ready only by its own report, and not in the fleet before it has joined", () => {
  expect(cluster("True")).toMatchObject({ state: "Ready", sinceMs: Date.parse(AT), zones: ["a"] });
  expect(cluster("False")?.state).toBe("NotReady");
  expect(cluster("Unknown")?.state).toBe("Unknown");
  expect(cluster(undefined)?.state).toBe("Unknown");
  expect(cluster("True", {}, {}, "False")).toBeUndefined();
});

it("a cluster that the hub no longer accepts is not Ready, regardless of its last report", () => {
  expect(cluster("True", { hubAcceptsClient: false })?.state).toBe("NotReady");
});

it("a taint that repels new instances is reported, but not one that OCM derives from availability", () => {
  const tainted = (...taints: JsonObject[]) => cluster("True", { taints })?.cordoned;
  const derived = ["unreachable", "unavailable"].map((word) => ({
    key: `cluster.open-cluster-management.io/${word}`,
    effect: "NoSelect",
  }));
  expect(tainted(...derived)).toBeUndefined();
  expect(tainted({ key: "gpu", effect: "PreferNoSelect" })).toBeUndefined();
  expect(tainted(...derived, { key: "gpu", effect: "NoSelectIfNew" })).toBe("gpu:NoSelectIfNew");
  const drained = { key: "lockstep.karmada.io/drain", effect: "NoSelectIfNew" };
  expect(tainted({ key: "gpu", effect: "NoSelect" }, drained)).toBe("lockstep.karmada.io/drain:NoSelectIfNew");
});

it("a cluster that is being detached gets no new instance, whatever its taints say", () => {
  const managed = {
    apiVersion: "cluster.open-cluster-management.io/v1",
    kind: "ManagedCluster",
    metadata: { name: "east", deletionTimestamp: AT },
    spec: { hubAcceptsClient: true },
    status: { conditions: [{ type: "ManagedClusterJoined", status: "True" }] },
  };
  expect(readManagedCluster(managed)?.cordoned).toBe("lockstep.karmada.io/detaching:NoSelect");
});

it("region and provider are from the cluster's claims", () => {
  const clusterClaims = [
    { name: "region.open-cluster-management.io", value: "eu-1" },
    { name: "platform.open-cluster-management.io", value: "AWS" },
  ];
  expect(cluster("True", {}, { clusterClaims })).toMatchObject({ region: "eu-1", provider: "AWS" });
});

it("what the nodes offer is known, and what is taken of it is not", () => {
  const allocatable = { cpu: "4", memory: "8Gi", pods: "110" };
  expect(cluster("True", {}, { allocatable })?.capacity).toEqual({ allocatable });
  expect(cluster("True")?.capacity).toBeUndefined();
});
