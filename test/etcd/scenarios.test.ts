/** The example's operator and Lockstep, with clients that never stop. Each scenario has a fleet of its own. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Figures } from "../availability/record.ts";
import { CALM, FIVE, Stage } from "../availability/stage.ts";

let stage: Stage;
beforeEach(() => {
  stage = new Stage();
});
afterEach(() => stage.strike());

/** Planned work: no request fails after one retry, the quorum stays, and the leader moves at most once. */
function expectUnnoticed(what: string, figures: Figures, leaderMoves = 1): void {
  console.log(`${what}: ${JSON.stringify(figures)}`);
  expect(figures.failed).toBe(0);
  expect(figures.leaderChanges).toBeLessThanOrEqual(leaderMoves);
  expect(figures.withoutQuorumMs).toBeLessThan(1_000);
}

async function expectNothingLost(): Promise<void> {
  const verdict = await stage.finish();
  expect(verdict.acknowledged).toBeGreaterThan(100);
  expect(verdict.missing).toEqual([]);
  expect(verdict.linearizable).toBe("yes");
}

async function voters(): Promise<number> {
  return (await stage.world.memberList()).filter(({ isLearner }) => !isLearner).length;
}

describe("a real etcd over clusters, under clients with a timeout of a second and one retry", () => {
  it("is deployed all at once, and restarted one member at a time without a failed request", async () => {
    const { world } = stage;
    await stage.set();
    expect(await voters()).toBe(5);
    world.pods.expect(5);
    const figures = await stage.during(async () => {
      await world.template({ version: "3.6", args: [...CALM, "--snapshot-count=7777"] });
      await world.settled(5, () => world.runsEverywhere("7777"));
    });
    expect(world.pods.worst).toBe(1);
    expectUnnoticed("rolling restart", figures);
    await expectNothingLost();
  });

  // From 3.5 through 3.6 to 3.7 within seconds fails in etcd itself: 3.7 does not read what 3.5 wrote into the log, so a
  // snapshot must be taken in between. Each upgrade starts with a cluster of its own version.
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
    expectUnnoticed(`upgrade to ${to}`, figures);
    await expectNothingLost();
  });

  it("keeps serving when a cluster is cut off in the middle of an update, and completes when it is back", async () => {
    const { world } = stage;
    await stage.set();
    const figures = await stage.during(async () => {
      await world.template({ version: "3.6", args: [...CALM, "--snapshot-count=7777"] });
      await world.until("the first is restarted", () =>
        world.instances().some(({ pod }) => JSON.stringify(pod.spec).includes("7777")),
      );
      const leader = (await world.leader())?.cluster;
      const other = ["member2", "member3"].find((each) => each !== leader) ?? "member3";
      await world.cut(other);
      await new Promise((resolve) => setTimeout(resolve, 8_000));
      await world.mend(other);
      await world.settled(5, () => world.runsEverywhere("7777"));
    });
    console.log(`cut off: ${JSON.stringify(figures)}`);
    expect(figures.withoutQuorumMs).toBeLessThan(1_000);
    await expectNothingLost();
  });

  it("replaces a member whose volume is lost in the cluster's next turn", async () => {
    const { world } = stage;
    await stage.set();
    const figures = await stage.during(async () => {
      const leader = await world.leader();
      const victim = world.instances().find(({ name }) => name !== leader?.name);
      if (!victim) throw new Error("there are five");
      const { api } = world.fleet.member(victim.cluster);
      const claim = api.get("/persistentvolumeclaims", "default", `data-${victim.name}`);
      if (claim) await api.delete(claim);
      await api.delete(victim.pod);
      await world.until("it is not ready", () => world.status().readyReplicas === 4);
      await world.scale(FIVE, { podManagementPolicy: "Parallel", restartedAt: "2026-01-01T00:00:00Z" });
      await world.settled(5, () => world.instances().length === 5);
      await world.until("five vote", async () => (await voters()) === 5);
    });
    console.log(`lost volume: ${JSON.stringify(figures)}`);
    expect(figures.failed).toBe(0);
    await expectNothingLost();
  });
});
