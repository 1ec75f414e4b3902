import { describe, expect, it } from "vitest";
import type { ClusterCapacity } from "../../../engine/index.ts";
import { roomIn } from "./room.ts";

const CAPACITY: ClusterCapacity = {
  allocatable: { cpu: "4", memory: "8Gi", pods: "110" },
  taken: [
    { cpu: "2500m", memory: "2Gi", pods: "10" },
    { cpu: "500m", pods: "1" },
  ],
};

describe("the room for further instances in a cluster", () => {
  it("is what the scarcest resource allows, without what runs and what waits for a node", () => {
    expect(roomIn(CAPACITY, { cpu: "500m", memory: "1Gi" })).toEqual({
      instances: 2,
      evidence: "1 of 4 cpu are free, an instance requests 0.5",
    });
    expect(roomIn(CAPACITY, { memory: "4Gi" })).toEqual({
      instances: 1,
      evidence: "6Gi of 8Gi memory are free, an instance requests 4Gi",
    });
  });

  it("is limited by the number of pods if nothing is requested", () => {
    expect(roomIn(CAPACITY, {})).toMatchObject({ instances: 99 });
  });

  it("is none if more is taken than can be allocated", () => {
    expect(roomIn({ ...CAPACITY, taken: [{ cpu: "5" }] }, { cpu: "1" })).toMatchObject({ instances: 0 });
  });

  it("is at most what the nodes offer in all if it is not known what is taken", () => {
    expect(roomIn({ allocatable: { cpu: "4", pods: "110" } }, { cpu: "3" })).toEqual({
      instances: 1,
      evidence: "its nodes offer 4 cpu, and what is free is not known, an instance requests 3",
    });
  });

  it("is not known without figures, and not judged by a resource that the cluster does not list or that is no quantity", () => {
    expect(roomIn(undefined, { cpu: "1" })).toBeUndefined();
    expect(roomIn({ allocatable: { cpu: "1" }, taken: [] }, { "example.com/gpu": "1" })).toBeUndefined();
    expect(roomIn({ allocatable: { cpu: "much" }, taken: [] }, { cpu: "1" })).toBeUndefined();
  });
});
