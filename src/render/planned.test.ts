import { describe, expect, it } from "vitest";
import { ANNOTATIONS, SEED_ANNOTATIONS } from "../contract/index.ts";
import { testIntent } from "../plan/check/testing/intent.ts";
import { emptyLedger, initialCluster, plan, topologyView } from "../plan/index.ts";
import { valueAt } from "../runtime/index.ts";
import { stringMapAt } from "./json.ts";
import { renderMember } from "./render.ts";
import { nameRevision, snapshotRevision } from "./revision.ts";
import { cluster, yaml } from "./testing/fixtures.ts";

describe("what the planner grants", () => {
  it("[I7] [I8] [D2] in a static deployment every member gets the topology of the whole application and its own part", () => {
    const template = yaml(
      "{apiVersion: apps.my.io/v1alpha1, kind: XlineCluster, metadata: {name: xline, namespace: default}, spec: {replicas: 3}}",
    );
    const content = snapshotRevision({ template, dependencies: [] });
    const { id } = nameRevision(content);
    const sizes = { member1: 2, member2: 1 };
    const intent = testIntent(sizes, { revision: { kind: "ready", id }, podManagementPolicy: "Parallel" });
    const absent = { kind: "absent", atMs: 0 } as const;
    const observations = { clusters: { member1: absent, member2: absent } };
    const { ledger, grants } = plan(intent, emptyLedger(), observations, 0);

    expect(grants.map(({ cluster, replicas }) => [cluster, replicas])).toEqual(Object.entries(sizes));
    const members = grants.map((grant) => {
      const result = renderMember({
        app: intent.app,
        cluster: cluster(grant.cluster),
        grant,
        revision: { id, content },
        topology: topologyView(ledger, grant.topologyVersion),
        initialCluster: initialCluster(ledger, grant),
      });
      if (!result.ok) throw result.error;
      return result.workload;
    });
    const told = members.map((workload) => stringMapAt(workload, "metadata", "annotations"));
    expect(members.map((workload) => valueAt(workload, "spec", "replicas"))).toEqual([2, 1]);
    expect(told.map((each) => each[SEED_ANNOTATIONS.replicas])).toEqual([
      '[{"member1":"2","self":true},{"member2":"1","self":false}]',
      '[{"member1":"2","self":false},{"member2":"1","self":true}]',
    ]);
    expect(told[0]?.[ANNOTATIONS.initialCluster]?.split(",").map((peer) => peer.split("=")[0])).toEqual([
      "xline-0",
      "xline-1",
      "xline-100",
    ]);
    expect(told[1]?.[ANNOTATIONS.topology]).toBe(told[0]?.[ANNOTATIONS.topology]);
    expect(told.map((each) => each[ANNOTATIONS.initialClusterState])).toEqual(["new", "new"]);
  });
});
