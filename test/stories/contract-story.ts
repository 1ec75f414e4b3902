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
export function contractStory(on: () => World, app = "xline"): void {
  const database = new SharedDatabase();
  let world: World;
  let observer: Observer;
  let operators: { stop(): Promise<void> }[] = [];

  beforeAll(async () => {
    world = on();
    observer = await world.watch(XLINES);
    operators = [...world.stack.members].map(([name, api]) =>
      startContractOperator(name, api, database, { name: app }),
    );
  });
  afterAll(async () => {
    await Promise.all(operators.map((operator) => operator.stop()));
  });

  const settled = () => world.settled(app, 3);

  it("is deployed, and its first instance leads", async () => {
    await world.stage.declare(world, app, xline("xline:1", app), SPEC);
    await world.until("three instances are ready", settled);
    expect(database.leader).toBe(`${app}-0`);
  });

  it("is updated followers first; the leader moves before its cluster's turn, and never restarts as leader", async () => {
    await world.stage.declare(world, app, xline("xline:2", app), SPEC);
    await world.until("the update is settled", async () => {
      const { updateRevision, currentRevision } = await world.status(app);
      return (await settled()) === true && updateRevision === currentRevision && database.events.length >= 4;
    });
    expect(database.events).toHaveLength(4);
    expect(database.events.slice(0, 2).sort()).toEqual([`member2 restarts ${app}-1`, `member3 restarts ${app}-2`]);
    expect(database.events[2]).toMatch(new RegExp(`^member1 hands the leadership over to ${app}-[12]$`));
    expect(database.events[3]).toBe(`member1 restarts ${app}-0`);
    expect(database.mostDown).toBe(1);
  });

  it("takes the request to the leader back", async () => {
    // Settled is what the hub knows; the Work's last annotations reach the member a moment later.
    await world.until("the last grant has reached the member", async () => {
      const { metadata } = await world.member("member1").get(XLINES, { namespace: "default", name: app });
      const { [ANNOTATIONS.transferLeaderTo]: leader, [ANNOTATIONS.processor]: processor } = metadata.annotations ?? {};
      return leader === "" && processor === "false";
    });
  });

  it("never ran what it was not granted", () => {
    expect(observer.violations().filter(({ name }) => name === app)).toEqual([]);
    expect(observer.states).toBeGreaterThan(5);
  });
}
