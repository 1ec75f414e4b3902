import { afterAll, beforeAll, expect, it } from "vitest";
import { ANNOTATIONS } from "../../src/contract/index.ts";
import type { Observer } from "../../src/engine/testing/observer.ts";
import { SharedDatabase, startContractOperator } from "./contract-operator.ts";
import type { World } from "./world.ts";
import { XLINES, xline } from "./xline.ts";

/** An operator that reports, and can move the leader. */
const SPEC = {
  completion: { protocol: "Contract" },
  updateStrategy: { type: "RollingUpdate", rollingUpdate: { leaderTransfer: { timeoutSeconds: 60 } } },
};

/** A custom kind with an operator on the contract, in a world that has the kind. */
export function contractStory(on: () => World): void {
  const database = new SharedDatabase();
  let world: World;
  let observer: Observer;
  let operators: { stop(): Promise<void> }[] = [];

  beforeAll(async () => {
    world = on();
    observer = await world.watch(XLINES);
    operators = [...world.stack.members].map(([name, api]) => startContractOperator(name, api, database));
  });
  afterAll(async () => {
    await Promise.all(operators.map((operator) => operator.stop()));
  });

  const settled = () => world.settled("xline", 3);

  it("is deployed, and its first instance leads", async () => {
    await world.stage.declare(world, "xline", xline("xline:1"), SPEC);
    await world.until("three instances are ready", settled);
    expect(database.leader).toBe("xline-0");
  });

  it("is updated followers first; the leader moves before its cluster's turn, and never restarts as leader", async () => {
    await world.stage.declare(world, "xline", xline("xline:2"), SPEC);
    await world.until("the update is settled", async () => {
      const { updateRevision, currentRevision } = await world.status("xline");
      return (await settled()) === true && updateRevision === currentRevision && database.events.length >= 4;
    });
    expect(database.events).toHaveLength(4);
    expect(database.events.slice(0, 2).sort()).toEqual(["member2 restarts xline-1", "member3 restarts xline-2"]);
    expect(database.events[2]).toMatch(/^member1 hands the leadership over to xline-[12]$/);
    expect(database.events[3]).toBe("member1 restarts xline-0");
    expect(database.mostDown).toBe(1);
  });

  it("takes the request to the leader back", async () => {
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
}
