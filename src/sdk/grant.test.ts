import { describe, expect, it } from "vitest";
import { ANNOTATIONS, parseMemberReport } from "../contract/index.ts";
import { type Grant, readGrant, report, reportPatch } from "./index.ts";

const topology = [
  { cluster: "east", replicas: 1, ordinals: [0], instances: ["xline-0"], addresses: ["a:1"], states: ["member"] },
];
const annotations = {
  [ANNOTATIONS.cluster]: "east",
  [ANNOTATIONS.epoch]: "12",
  [ANNOTATIONS.revision]: "r3",
  [ANNOTATIONS.processor]: "true",
  [ANNOTATIONS.topology]: JSON.stringify(topology),
  [ANNOTATIONS.topologyVersion]: "4",
  [ANNOTATIONS.partition]: "1",
  [ANNOTATIONS.initialClusterState]: "existing",
  [ANNOTATIONS.clusterToken]: "t",
};
const grant: Grant = {
  cluster: "east",
  epoch: 12,
  revision: "r3",
  processor: true,
  topology: topology as Grant["topology"],
  topologyVersion: 4,
  partition: 1,
  initialClusterState: "existing",
  clusterToken: "t",
};

describe("a grant", () => {
  it("is read from the annotations", () => {
    expect(readGrant({ metadata: { annotations } })).toEqual({ state: "granted", grant });
    const { [ANNOTATIONS.partition]: _, ...without } = annotations;
    expect(readGrant({ metadata: { annotations: without } })).toMatchObject({ grant: { partition: 0 } });
  });

  it("is absent on an object that Lockstep does not manage", () => {
    expect(readGrant({})).toEqual({ state: "none" });
    expect(readGrant({ metadata: { annotations: { other: "1" } } })).toEqual({ state: "none" });
  });

  it("that is malformed is not acted on, and every reason is given", () => {
    const broken = {
      ...annotations,
      [ANNOTATIONS.epoch]: "twelve",
      [ANNOTATIONS.processor]: "yes",
      [ANNOTATIONS.topology]: '[{"cluster":"east"}]',
      [ANNOTATIONS.initialClusterState]: "old",
    };
    const reading = readGrant({ metadata: { annotations: broken } });
    expect(reading.state === "malformed" && reading.problems.map((problem) => problem.split(" ")[0])).toEqual([
      ANNOTATIONS.processor,
      ANNOTATIONS.initialClusterState,
      ANNOTATIONS.epoch,
      ANNOTATIONS.topology,
    ]);
    expect(readGrant({ metadata: { annotations: { [ANNOTATIONS.epoch]: "1" } } })).toMatchObject({
      state: "malformed",
    });
  });
});

describe("a report", () => {
  it("refers to the grant's epoch and revision, and is Done when the counts are complete", () => {
    expect(report(grant, { desired: 3, updated: 2, ready: 3, present: 3, leader: "xline-0" })).toEqual({
      epoch: 12,
      revision: "r3",
      phase: "Done",
      desired: 3,
      updated: 2,
      ready: 3,
      leader: "xline-0",
    });
    expect(report(grant, { desired: 3, updated: 1, ready: 3, present: 3 }).phase).toBe("Working");
    expect(report(grant, { desired: 3, updated: 3, ready: 2, present: 3 }).phase).toBe("Working");
    expect(report(grant, { desired: 3, updated: 3, ready: 3, present: 3, failed: "no disk" })).toMatchObject({
      phase: "Failed",
      message: "no disk",
    });
  });

  it("removes every field of the previous report", () => {
    const patch = reportPatch(report(grant, { desired: 1, updated: 1, ready: 1, present: 1 }));
    expect(patch.status.crossCluster).toMatchObject({ leader: null, members: null, membersAt: null, message: null });
    const told = report(grant, { desired: 1, updated: 1, ready: 1, present: 1, leader: "xline-0", message: "well" });
    expect(reportPatch(told).status.crossCluster).toMatchObject({ leader: "xline-0", message: "well" });
  });

  it("is not Done while a leaving instance still exists", () => {
    expect(report(grant, { desired: 2, updated: 2, ready: 2, present: 3 }).phase).toBe("Working");
    expect(report(grant, { desired: 2, updated: 3, ready: 3, present: 3 }).phase).toBe("Working");
    expect(report(grant, { desired: 2, updated: 2, ready: 2, present: 2 }).phase).toBe("Done");
  });

  it("is readable by Lockstep", () => {
    const membership = { members: ["xline-0"], at: "2026-01-02T03:04:05Z" };
    const written = report(grant, { desired: 1, updated: 1, ready: 1, present: 1, membership });
    expect(written).toMatchObject({ members: ["xline-0"], membersAt: "2026-01-02T03:04:05Z" });
    const told = { ...written };
    expect(parseMemberReport(JSON.parse(JSON.stringify(told)))).toEqual(written);
  });
});
