import { expect, it } from "vitest";
import { ENGINES } from "../../../engine/index.ts";
import type { JsonObject } from "../../../runtime/index.ts";
import { checkRoom } from "./room.ts";

const cluster = (status: JsonObject) => ({ apiVersion: "v1", kind: "Cluster", metadata: { name: "east" }, status });
const allocatable = { cpu: "4", memory: "16Gi", pods: "110" };

it("a cluster with room shows it, in the same words on both engines", () => {
  const resourceSummary = { allocatable, allocated: { cpu: "1500m", memory: "4Gi", pods: "10" } };
  expect(checkRoom(ENGINES.karmada, cluster({ resourceSummary }))).toEqual([
    {
      check: "room in east",
      state: "ok",
      message: "its nodes offer 4 cores, 16 GiB, 110 pods; free: 2.5 cores, 12 GiB, 100 pods",
    },
  ]);
  expect(checkRoom(ENGINES.ocm, cluster({ allocatable }))).toEqual([
    {
      check: "room in east",
      state: "ok",
      message: "its nodes offer 4 cores, 16 GiB, 110 pods; the engine does not tell what is free",
    },
  ]);
});

it("a cluster without room is a warning with a remedy", () => {
  const resourceSummary = { allocatable, allocated: { cpu: "4", memory: "4Gi", pods: "10" } };
  expect(checkRoom(ENGINES.karmada, cluster({ resourceSummary }))).toMatchObject([
    { state: "warning", remedy: "New instances would stay Pending: free some cpu, or add nodes." },
  ]);
});

it("without figures from the engine there is no finding", () => {
  expect(checkRoom(ENGINES.ocm, cluster({}))).toEqual([]);
});
