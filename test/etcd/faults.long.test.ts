/** Faults under clients that never stop. Each scenario has a fleet of its own. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { CALM, FIVE, Stage } from "../availability/stage.ts";
import { expectNothingLost, expectQuorum, expectUnnoticed, MAX_ELECTION_MS, SCENARIO_MS, voters } from "./goals.ts";
import { firstRestarted, restart, restarted } from "./restart.ts";

let stage: Stage;
beforeEach(() => {
  stage = new Stage();
});
afterEach(() => stage.strike());

/** Any instance but the leader. */
async function follower() {
  const leader = await stage.world.leader();
  const found = stage.world.instances().find(({ name }) => name !== leader?.name);
  if (!leader || !found) throw new Error("there are five, and one leads");
  return found;
}

describe("a real etcd over clusters, under faults", () => {
  it(
    "keeps serving when a cluster is cut off in the middle of an update, and completes when it is back",
    async () => {
      const { world } = stage;
      await stage.set();
      const figures = await stage.during(async () => {
        await restart(stage);
        await firstRestarted(stage);
        const leader = (await world.leader())?.cluster;
        const other = ["member2", "member3"].find((each) => each !== leader) ?? "member3";
        await world.cut(other);
        await sleep(8_000);
        await world.mend(other);
        await restarted(stage);
      });
      expectQuorum(stage, "cut off", figures, MAX_ELECTION_MS);
      await expectNothingLost(stage);
    },
    SCENARIO_MS,
  );

  it(
    "returns to the old version by itself if the new one does not start, and no request fails",
    async () => {
      const { world } = stage;
      await stage.set();
      world.pods.expect(5);
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
      expectUnnoticed(stage, "rolled back", figures);
      expect(world.pods.worst).toBe(1);
      await expectNothingLost(stage);
    },
    SCENARIO_MS,
  );

  it(
    "replaces the members of a cluster that is lost for good, once a user confirms it",
    async () => {
      const { world } = stage;
      await stage.set();
      const failover = { policy: "Replace", afterSeconds: 5 };
      const spec = { podManagementPolicy: "Parallel", failover };
      await world.scale(FIVE, spec);
      await world.settled(5);
      const figures = await stage.during(async () => {
        await world.lose("member2");
        await world.until("it is lost", () => JSON.stringify(world.status()).includes('"ClusterLost"'));
        expect(await voters(stage)).toHaveLength(5);
        const confirmedLost = [{ name: "member2", at: new Date().toISOString() }];
        await world.scale(FIVE, { ...spec, failover: { ...failover, confirmedLost } });
        const isReplaced = async () => {
          const hosts = await voters(stage);
          return (
            hosts.length === 5 && hosts.every((host) => !host.startsWith(`10.${world.network.number("member2")}.`))
          );
        };
        await world.until("five others vote", isReplaced);
      });
      expectQuorum(stage, "lost and replaced", figures, MAX_ELECTION_MS);
      expect(figures.longestWriteGapMs).toBeLessThan(MAX_ELECTION_MS);
      await expectNothingLost(stage);
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
        world.kill((await follower()).name);
        await sleep(3_000);
        await world.until("all five serve", () => world.isComplete(5, "etcd:3.6"));
        world.fleet.hub.mend();
        await world.settled(5);
      });
      expectQuorum(stage, "hub down", figures);
      expect(figures.leaderChanges).toBe(0);
      await expectNothingLost(stage);
    },
    SCENARIO_MS,
  );

  it(
    "serves while a member's disk is full, and the member returns when it is not",
    async () => {
      const { world } = stage;
      await stage.set();
      const figures = await stage.during(async () => {
        await world.fillDisk((await follower()).name, 3);
        expect(world.isComplete(5, "etcd:3.6")).toBe(false);
        await world.until("it is back", () => world.isComplete(5, "etcd:3.6"));
      });
      expectQuorum(stage, "disk full", figures);
      expect(figures.leaderChanges).toBe(0);
      await expectNothingLost(stage);
    },
    SCENARIO_MS,
  );

  it(
    "replaces a member whose volume is lost in the cluster's next turn, and no request fails",
    async () => {
      const { world } = stage;
      await stage.set();
      const victim = await follower();
      const figures = await stage.during(async () => {
        const { api } = world.fleet.member(victim.cluster);
        const claim = api.get("/persistentvolumeclaims", "default", `data-${victim.name}`);
        if (claim) await api.delete(claim);
        await api.delete(victim.pod);
        await world.until("it is not ready", () => world.status().readyReplicas === 4);
        await world.scale(FIVE, { podManagementPolicy: "Parallel", restartedAt: "2026-01-01T00:00:00Z" });
        await world.settled(5, () => world.instances().length === 5);
        await world.until("five vote", async () => (await voters(stage)).length === 5);
      });
      expectUnnoticed(stage, "lost volume", figures);
      await expectNothingLost(stage);
    },
    SCENARIO_MS,
  );
});
