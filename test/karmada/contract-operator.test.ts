import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ANNOTATIONS } from "../../src/contract/index.ts";
import type { Observer } from "../../src/engine/testing/observer.ts";
import { SharedDatabase, startContractOperator } from "./contract-operator.ts";
import { CCS, MANAGER, startWorld, type World } from "./world.ts";
import { installXline, POLICY, SEED_MANIFEST, XLINES, xline } from "./xline.ts";

/** The proposal's manifest, with an operator that reports and can move the leader. */
const MANIFEST = {
  ...SEED_MANIFEST,
  spec: {
    ...SEED_MANIFEST.spec,
    completion: { protocol: "Contract" },
    updateStrategy: { type: "RollingUpdate", rollingUpdate: { leaderTransfer: { timeoutSeconds: 60 } } },
  },
};

describe("XlineCluster over three real clusters, with an operator on the contract", () => {
  const database = new SharedDatabase();
  let world: World;
  let observer: Observer;
  let operators: { stop(): Promise<void> }[] = [];

  beforeAll(async () => {
    world = await startWorld();
    await installXline(world);
    observer = await world.watch(XLINES);
    operators = [...world.stack.members].map(([name, api]) => startContractOperator(name, api, database));
  });
  afterAll(async () => {
    await Promise.all(operators.map((operator) => operator.stop()));
    await world?.stop();
  });

  const settled = async () => {
    const { phase, readyReplicas, observedGeneration } = await world.status("xline");
    const object = await world.hub.find(CCS, { namespace: "default", name: "xline" });
    return phase === "Settled" && readyReplicas === 3 && observedGeneration === object?.metadata.generation;
  };

  it("is deployed, and its first instance leads", async () => {
    await world.hub.apply(CCS, MANIFEST, MANAGER);
    await world.until("the hold is in place", async () => (await world.status("xline")).reason === "TemplateMissing");
    await world.stack.hub.apply(POLICY);
    await world.hub.apply(XLINES, xline("xline:1"), MANAGER);
    await world.until("three instances are ready", settled);
    expect(database.leader).toBe("xline-0");
  });

  it("is updated followers first; the leader moves before its cluster's turn, and never restarts as leader", async () => {
    await world.hub.apply(XLINES, xline("xline:2"), MANAGER);
    await world.until("the update is settled", async () => {
      const { updateRevision, currentRevision } = await world.status("xline");
      return (await settled()) && updateRevision === currentRevision && database.events.length >= 4;
    });
    expect(database.events).toHaveLength(4);
    expect(database.events.slice(0, 2).sort()).toEqual(["member2 restarts xline-1", "member3 restarts xline-2"]);
    expect(database.events[2]).toMatch(/^member1 hands the leadership over to xline-[12]$/);
    expect(database.events[3]).toBe("member1 restarts xline-0");
    expect(database.mostDown).toBe(1);
  });

  it("takes the request to the leader back, although Karmada never takes an annotation away", async () => {
    // Settled is what the hub knows; the Work's last annotations reach the member a moment later.
    await world.until("the last grant has reached the member", async () => {
      const { metadata } = await world.member("member1").get(XLINES, { namespace: "default", name: "xline" });
      const { [ANNOTATIONS.transferLeaderTo]: leader, [ANNOTATIONS.processor]: processor } = metadata.annotations ?? {};
      return leader === "" && processor === "false";
    });
  });

  it("never ran what it was not granted", () => {
    expect(observer.violations()).toEqual([]);
    expect(observer.states).toBeGreaterThan(5);
  });
});
