import { expect, it } from "vitest";
import type { JsonObject } from "../../runtime/index.ts";
import { withWeights } from "./scores.ts";

const NOW_MS = Date.parse("2025-01-01T12:00:00Z");
const SCORE = { resourceName: "resource-usage-score", scoreName: "cpuAvailable" };
const SCHEDULE = {
  kind: "known",
  isSelection: true,
  clusters: ["east", "west"].map((cluster) => ({ cluster, replicas: 1 })),
} as const;

function weights(status: JsonObject, score: typeof SCORE | undefined = SCORE) {
  const object = {
    apiVersion: "cluster.open-cluster-management.io/v1alpha1",
    kind: "AddOnPlacementScore",
    metadata: { namespace: "east", name: SCORE.resourceName },
    status,
  };
  const get = ({ namespace, name }: { namespace?: string | undefined; name: string }) =>
    namespace === "east" && name === SCORE.resourceName ? object : undefined;
  const schedule = withWeights(SCHEDULE, score, { get }, NOW_MS);
  return schedule.kind === "known" ? schedule.clusters.map(({ weight }) => weight) : schedule.message;
}

const scored = (value: unknown, more: JsonObject = {}) => ({
  scores: [
    { name: "memAvailable", value: 1 },
    { name: "cpuAvailable", value },
  ] as JsonObject[],
  ...more,
});

it("an add-on's score is a weight from 0 to 200; a cluster without one has none", () => {
  expect(weights(scored(-100))).toEqual([0, undefined]);
  expect(weights(scored(0))).toEqual([100, undefined]);
  expect(weights(scored(100))).toEqual([200, undefined]);
});

it("a score that has expired, is not there or is not one is no weight", () => {
  expect(weights(scored(50, { validUntil: "2025-01-01T11:59:59Z" }))).toEqual([undefined, undefined]);
  expect(weights(scored(50, { validUntil: "2025-01-01T12:00:01Z" }))).toEqual([150, undefined]);
  expect(weights({})).toEqual([undefined, undefined]);
  for (const value of [101, -101, 0.5, "50", null]) expect(weights(scored(value))).toEqual([undefined, undefined]);
});

it("a schedule for which no score was asked for is as the Placement decided it", () => {
  expect(withWeights(SCHEDULE, undefined, { get: () => undefined }, NOW_MS)).toBe(SCHEDULE);
});
