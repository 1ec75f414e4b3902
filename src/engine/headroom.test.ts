import { expect, it } from "vitest";
import type { JsonObject } from "../runtime/index.ts";
import { karmadaHeadroom, ocmHeadroom } from "./headroom.ts";

const cluster = (status: JsonObject) => ({ apiVersion: "v1", kind: "Cluster", metadata: { name: "east" }, status });

it("Karmada tells what is offered, and what is left after requests and what is about to be placed", () => {
  const resourceSummary = {
    allocatable: { cpu: "16", memory: "64Gi", pods: "110" },
    allocated: { cpu: "3500m", memory: "8Gi", pods: "20" },
    allocating: { cpu: "500m", pods: 2 },
  };
  expect(karmadaHeadroom(cluster({ resourceSummary }))).toEqual({
    offered: { cpu: 16, memory: 64 * 1024 ** 3, pods: 110 },
    free: { cpu: 12, memory: 56 * 1024 ** 3, pods: 88 },
  });
});

it("Open Cluster Management tells what is offered, and not what is left", () => {
  const allocatable = { cpu: "7.5", memory: "32000M", "nvidia.com/gpu": "1" };
  expect(ocmHeadroom(cluster({ allocatable }))).toEqual({ offered: { cpu: 7.5, memory: 32e9 } });
});

it("what is not told, or cannot be read, is absent and never zero", () => {
  expect(karmadaHeadroom(cluster({}))).toBeUndefined();
  expect(ocmHeadroom(cluster({ allocatable: { cpu: "many", memory: null } }))).toBeUndefined();
});
