import { expect, it } from "vitest";
import { parseCrossClusterJob } from "../../../api/index.ts";
import { jobIntentOf } from "./intent.ts";

const pods = { restartPolicy: "Never", containers: [{ name: "main", image: "work:1" }] };

function parsedWith(podSpec: object, clusters: object) {
  const parsed = parseCrossClusterJob({
    apiVersion: "apps.karmada.io/v1alpha1",
    kind: "CrossClusterJob",
    metadata: { name: "train", namespace: "default", uid: "u" },
    spec: {
      template: { apiVersion: "batch/v1", kind: "Job", spec: { template: { spec: podSpec } } },
      clusters,
    },
  } as never);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.errors));
  return parsed.value;
}

function graceMsOf(terminationGracePeriodSeconds: unknown): number {
  const job = parsedWith({ ...pods, terminationGracePeriodSeconds }, { names: ["member1"] });
  const schedule = { kind: "unknown", message: "" } as const;
  return jobIntentOf(job, { clusters: [], schedule, forbidden: () => [] }).graceMs;
}

it("[J11] a grace period never shortens the wait for a lost attempt, whatever a template says", () => {
  expect(graceMsOf(5)).toBe(5_000);
  expect(graceMsOf(0)).toBe(0);
  for (const odd of [-100, "x", null]) expect(graceMsOf(odd)).toBe(30_000);
});

it("a grace period that no clock reaches still gives a moment that can be written", () => {
  expect(() => new Date(Date.now() + graceMsOf(9e15)).toISOString()).not.toThrow();
});

it("no attempt starts in a cluster that the engine does not select and that only keeps what it has", () => {
  const job = parsedWith(pods, { placementRef: { name: "zones" } });
  const kept = { message: "it may only have been away", isStuck: false };
  const clusters = [
    { cluster: "member1", replicas: 1, kept },
    { cluster: "member2", replicas: 1 },
  ];
  const schedule = { kind: "known", clusters } as const;
  expect(jobIntentOf(job, { clusters: [], schedule, forbidden: () => [] }).clusters).toEqual(["member2"]);
});
