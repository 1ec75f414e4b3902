/** The example's operator and Lockstep, with clients that never stop. Each scenario has a fleet of its own. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { CALM, FIVE, Stage } from "../availability/stage.ts";
import { expectNothingLost, expectUnnoticed, SCENARIO_MS, voters } from "./goals.ts";

let stage: Stage;
beforeEach(() => {
  stage = new Stage();
});
afterEach(() => stage.strike());

describe("a real etcd over clusters, under clients with a timeout of a second and one retry a moment later", () => {
  vi.setConfig({ testTimeout: SCENARIO_MS });

  it("is deployed all at once with TLS between peers, and restarted one member at a time without a failed request", async () => {
    const { world } = stage;
    await stage.set();
    expect(await voters(stage)).toHaveLength(5);
    expect(await world.peerAnswer("etcd-0", { asMember: true })).toMatch(/^HTTP\/1.1 200/);
    expect(await world.peerAnswer("etcd-0", { asMember: false })).toMatch(/certificate required|bad certificate/i);
    world.pods.expect(5);
    const figures = await stage.during(async () => {
      await world.template({ version: "3.6", args: [...CALM, "--snapshot-count=7777"] });
      await world.settled(5, () => world.runsEverywhere("7777"));
    });
    expect(world.pods.worst).toBe(1);
    expectUnnoticed(stage, "rolling restart", figures);
    await expectNothingLost(stage);
  });

  it("moves its leader to the cluster that a user names, once and without a failed request", async () => {
    const { world } = stage;
    await stage.set();
    const before = await world.leader();
    const to = ["member1", "member2", "member3"].find((each) => each !== before?.cluster) ?? "";
    const uids = () => world.instances().map(({ pod }) => pod.metadata.uid);
    const running = uids();
    const figures = await stage.during(async () => {
      await world.scale(FIVE, {
        podManagementPolicy: "Parallel",
        transferLeader: { to, at: new Date().toISOString() },
      });
      await world.until(`${to} leads`, async () => (await world.leader())?.cluster === to && (await world.agree(5)));
      await world.settled(5);
    });
    expectUnnoticed(stage, "leader moved", figures);
    expect(figures.leaderChanges).toBe(1);
    expect(uids()).toEqual(running);
    await expectNothingLost(stage);
  });

  // planned.long.test.ts does one after the other; here each upgrade starts with a cluster of its own version.
  it.each([
    ["3.5", "3.6"],
    ["3.6", "3.7"],
  ] as const)("is upgraded from %s to %s without a failed request", async (from, to) => {
    const { world } = stage;
    await stage.set(from, [to]);
    world.pods.expect(5);
    const figures = await stage.during(async () => {
      await world.template({ version: to, args: CALM });
      await world.settled(5, () => world.runsEverywhere(`etcd:${to}`));
    });
    expect(world.pods.worst).toBe(1);
    expectUnnoticed(stage, `upgrade to ${to}`, figures);
    await expectNothingLost(stage);
  });
});
