import { expect, it } from "vitest";
import { parseCrossClusterJob } from "../../../api/index.ts";
import { jobIntentOf } from "./intent.ts";

function graceMsOf(terminationGracePeriodSeconds: unknown): number {
  const pods = {
    restartPolicy: "Never",
    terminationGracePeriodSeconds,
    containers: [{ name: "main", image: "work:1" }],
  };
  const parsed = parseCrossClusterJob({
    apiVersion: "apps.karmada.io/v1alpha1",
    kind: "CrossClusterJob",
    metadata: { name: "train", namespace: "default", uid: "u" },
    spec: {
      template: { apiVersion: "batch/v1", kind: "Job", spec: { template: { spec: pods } } },
      clusters: { names: ["member1"] },
    },
  } as never);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.errors));
  const schedule = { kind: "unknown", message: "" } as never;
  return jobIntentOf(parsed.value, { clusters: [], schedule, forbidden: () => [] }).graceMs;
}

it("[J11] a grace period never shortens the wait for a lost attempt, whatever a template says", () => {
  expect(graceMsOf(5)).toBe(5_000);
  expect(graceMsOf(0)).toBe(0);
  for (const odd of [-100, "x", null]) expect(graceMsOf(odd)).toBe(30_000);
});

it("a grace period that no clock reaches still gives a moment that can be written", () => {
  expect(() => new Date(Date.now() + graceMsOf(9e15)).toISOString()).not.toThrow();
});
