import { expect, it } from "vitest";
import { readCluster } from "./hub.ts";

const cluster = (...taints: { key: string; effect: string }[]) =>
  readCluster({
    apiVersion: "cluster.karmada.io/v1alpha1",
    kind: "Cluster",
    metadata: { name: "east" },
    spec: { taints },
    status: { conditions: [{ type: "Ready", status: "True" }] },
  });

it("a taint that repels new instances is reported, but not one that Karmada derives from Ready", () => {
  expect(cluster({ key: "cluster.karmada.io/not-ready", effect: "NoSchedule" }).cordoned).toBeUndefined();
  expect(cluster({ key: "gpu", effect: "PreferNoSchedule" }).cordoned).toBeUndefined();
  expect(cluster({ key: "gpu", effect: "NoSchedule" }).cordoned).toBe("gpu:NoSchedule");
});

it("a user's drain is reported before any other taint, because it requests more", () => {
  const drained = { key: "lockstep.karmada.io/drain", effect: "NoSchedule" };
  expect(cluster({ key: "gpu", effect: "NoExecute" }, drained).cordoned).toBe("lockstep.karmada.io/drain:NoSchedule");
});
