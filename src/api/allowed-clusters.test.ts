import { describe, expect, it } from "vitest";
import { ALLOWED_CLUSTERS, forbiddenClusters } from "./allowed-clusters.ts";

const TOPOLOGY = [{ name: "m1", replicas: 2 }, { name: "m2" }, { name: "m3", replicas: 0 }];
const namespace = (allowed?: string) => ({
  metadata: allowed === undefined ? {} : { annotations: { [ALLOWED_CLUSTERS]: allowed } },
});
const forbidden = (allowed: string | undefined, required = false) =>
  forbiddenClusters(namespace(allowed), TOPOLOGY, { required });

describe("[S15] the clusters that a namespace may use", () => {
  it("are those that its annotation lists, with or without spaces", () => {
    expect(forbidden("m1")).toEqual(["m2"]);
    expect(forbidden(" m1 , m2 ")).toEqual([]);
    expect(forbidden("")).toEqual(["m1", "m2"]);
  });

  it("are all clusters with *, and without the annotation unless it is required", () => {
    expect([forbidden("*", true), forbidden(undefined)]).toEqual([[], []]);
    expect(forbidden(undefined, true)).toEqual(["m1", "m2"]);
  });

  it("do not restrict a cluster that is drained to 0", () => {
    expect(forbidden("none")).not.toContain("m3");
  });
});
