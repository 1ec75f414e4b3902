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

it("a user's taint that ends what runs is reported, also behind another one; Karmada's own is not", () => {
  const terminating = { key: "cluster.karmada.io/terminating", effect: "NoExecute" };
  expect(cluster({ key: "gpu", effect: "NoSchedule" }).evicts).toBeUndefined();
  expect(cluster({ key: "gpu", effect: "NoExecute" }).evicts).toBe(true);
  expect(cluster({ key: "gpu", effect: "NoSchedule" }, { key: "old", effect: "NoExecute" }).evicts).toBe(true);
  expect(cluster(terminating)).toMatchObject({ cordoned: "cluster.karmada.io/terminating:NoExecute" });
  expect(cluster(terminating).evicts).toBeUndefined();
});

it("a user's drain is reported before any other taint, because it requests more", () => {
  const drained = { key: "lockstep.karmada.io/drain", effect: "NoSchedule" };
  expect(cluster({ key: "gpu", effect: "NoExecute" }, drained).cordoned).toBe("lockstep.karmada.io/drain:NoSchedule");
});
