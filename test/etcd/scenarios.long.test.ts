/** Faults and scale under clients that never stop. Each scenario has a fleet of its own. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Figures } from "../availability/record.ts";
import { CALM, FIVE, Stage } from "../availability/stage.ts";

let stage: Stage;
beforeEach(() => {
  stage = new Stage();
});
afterEach(() => stage.strike());

const MAX_FAILED_SHARE = 0.005;
const SCENARIO_MS = 300_000;

function show(what: string, figures: Figures): void {
  console.log(`${what}: ${JSON.stringify(figures)} ${stage.probe.errors().join("; ")}`);
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

const RESTARTED = "--snapshot-count=7777";
const restart = () => stage.world.template({ version: "3.6", args: [...CALM, RESTARTED] });
const restarted = () => stage.world.settled(5, () => stage.world.runsEverywhere(RESTARTED));
const firstRestarted = () =>
  stage.world.until("the first is restarted", () =>
    stage.world.instances().some(({ pod }) => JSON.stringify(pod.spec).includes(RESTARTED)),
  );

describe("a real etcd over clusters, under faults", () => {
  it(
    "is deployed one member at a time, grows from five to nine over a fourth cluster by one edit, and back",
    async () => {
      const { world } = stage;
      await world.start();
      world.startController();
      await world.deploy(FIVE, { version: "3.6", args: CALM });
      await stage.startClients();
      const figures = await stage.during(async () => {
        await world.scale({ member1: 2, member2: 3, member3: 2, member4: 2 });
        await world.settled(9);
        stage.tellClients();
        expect(await voters()).toBe(9);
        await world.scale({ ...FIVE, member4: 0 });
        await world.until("five are left", () => world.instances().length === 5);
        stage.tellClients();
        await world.settled(5);
      });
      show("five to nine and back", figures);
      expect(figures.withoutQuorumMs).toBeLessThan(2_000);
      expect(await voters()).toBe(5);
      await expectNothingLost();
    },
    SCENARIO_MS,
  );

  it(
    "keeps serving when a cluster is cut off in the middle of an update, and completes when it is back",
    async () => {
      const { world } = stage;
      await stage.set();
      const figures = await stage.during(async () => {
        await restart();
        await firstRestarted();
        const leader = (await world.leader())?.cluster;
        const other = ["member2", "member3"].find((each) => each !== leader) ?? "member3";
        await world.cut(other);
        await sleep(8_000);
        await world.mend(other);
        await restarted();
      });
      show("cut off", figures);
      await expectNothingLost();
    },
    SCENARIO_MS,
  );

  it(
    "completes an update whose leader is killed in the middle",
    async () => {
      const { world } = stage;
      await stage.set();
      const figures = await stage.during(async () => {
        await restart();
        await firstRestarted();
        const leader = await world.leader();
        if (leader) world.kill(leader.name);
        await restarted();
      });
      show("leader killed", figures);
      await expectNothingLost();
    },
    SCENARIO_MS,
  );

  it(
    "returns to the old version by itself if the new one does not start",
    async () => {
      const { world } = stage;
      await stage.set();
      const rollingUpdate = {
        leaderTransfer: { timeoutSeconds: 30 },
        onFailure: "Rollback",
        progressDeadlineSeconds: 10,
      };
      const figures = await stage.during(async () => {
        await world.scale(FIVE, {
          podManagementPolicy: "Parallel",
          updateStrategy: { type: "RollingUpdate", rollingUpdate },
        });
        await world.template({ version: "broken", args: CALM });
        await world.until("it was tried", () =>
          world.instances().some(({ pod }) => JSON.stringify(pod.spec).includes("etcd:broken")),
        );
        await world.until(
          "all run the old one",
          () => world.instances().length === 5 && world.isComplete(5, "etcd:3.6"),
        );
      });
      show("rolled back", figures);
      await expectNothingLost();
    },
    SCENARIO_MS,
  );

  it(
    "serves while the hub is down, and a killed member returns without it",
    async () => {
      const { world } = stage;
      await stage.set();
      const figures = await stage.during(async () => {
        world.fleet.hub.set({ closed: "dial tcp: connect to hub: connection refused" });
        const leader = await world.leader();
        const other = world.instances().find(({ name }) => name !== leader?.name);
        if (other) world.kill(other.name);
        await sleep(3_000);
        await world.until("all five serve", () => world.isComplete(5, "etcd:3.6"));
        world.fleet.hub.mend();
        await world.settled(5);
      });
      show("hub down", figures);
      expect(figures.leaderChanges).toBe(0);
      await expectNothingLost();
    },
    SCENARIO_MS,
  );

  it(
    "serves while a member's disk is full, and the member returns when it is not",
    async () => {
      const { world } = stage;
      await stage.set();
      const figures = await stage.during(async () => {
        const leader = await world.leader();
        const other = world.instances().find(({ name }) => name !== leader?.name);
        if (other) world.fillDisk(other.name);
        await world.until("it fails", () => !world.isComplete(5, "etcd:3.6"));
        await world.until("it is back", () => world.isComplete(5, "etcd:3.6"));
      });
      show("disk full", figures);
      await expectNothingLost();
    },
    SCENARIO_MS,
  );

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
    expect(figures.failed).toBeLessThanOrEqual(figures.requests * MAX_FAILED_SHARE);
    await expectNothingLost();
  });
});
