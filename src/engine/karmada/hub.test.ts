import { expect, it } from "vitest";
import { readCluster, readSchedule } from "./hub.ts";

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

const template = { apiVersion: "apps/v1", kind: "StatefulSet", namespace: "default", name: "web" };
const scheduleOf = (observed: number, condition: { status: string; reason?: string; message?: string }) =>
  readSchedule(
    {
      apiVersion: "work.karmada.io/v1alpha2",
      kind: "ResourceBinding",
      metadata: { name: "web-statefulset", namespace: "default", generation: 2 },
      spec: { clusters: [{ name: "east", replicas: 2 }] },
      status: { schedulerObservedGeneration: observed, conditions: [{ type: "Scheduled", ...condition }] },
    },
    template,
  );

it("a schedule that Karmada refuses is unknown, with Karmada's reason: it never counts that version as seen", () => {
  const refused = { status: "False", reason: "QuotaExceeded", message: "exceeds the quota" };
  expect(scheduleOf(1, refused)).toEqual({
    kind: "unknown",
    message: "ResourceBinding default/web-statefulset is not scheduled: exceeds the quota",
    remedy: "Raise the FederatedResourceQuota, or let the template request less.",
  });
  expect(scheduleOf(2, refused).kind).toBe("unknown");
  expect(scheduleOf(1, { status: "True" })).toMatchObject({ message: expect.stringContaining("has not seen") });
  expect(scheduleOf(2, { status: "Unknown" }).kind).toBe("unknown");
  expect(scheduleOf(2, { status: "True" })).toEqual({ kind: "known", clusters: [{ cluster: "east", replicas: 2 }] });
});
