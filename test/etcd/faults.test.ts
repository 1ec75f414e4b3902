/** The faults that are tried in CI; faults.long.test.ts has the others. Each scenario has a fleet of its own. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FIVE, Stage } from "../availability/stage.ts";
import { expectNothingLost, expectQuorum, MAX_ELECTION_MS, SCENARIO_MS, voters } from "./goals.ts";
import { firstRestarted, restart, restarted } from "./restart.ts";

let stage: Stage;
beforeEach(() => {
  stage = new Stage();
});
afterEach(() => stage.strike());

describe("a real etcd over clusters, under a fault", () => {
  it(
    "completes an update whose leader is killed in the middle",
    async () => {
      const { world } = stage;
      await stage.set();
      const figures = await stage.during(async () => {
        await restart(stage);
        await firstRestarted(stage);
        const leader = await world.leader();
        if (leader) world.kill(leader.name);
        await restarted(stage);
      });
      expectQuorum(stage, "leader killed", figures, MAX_ELECTION_MS);
      expect(figures.longestWriteGapMs).toBeLessThan(MAX_ELECTION_MS);
      await expectNothingLost(stage);
    },
    SCENARIO_MS,
  );

  it(
    "elects a leader on the larger side of a partition, and no operator restarts or removes a member",
    async () => {
      const { world } = stage;
      await stage.set();
      const uids = () => world.instances().map(({ pod }) => pod.metadata.uid ?? "");
      const before = uids();
      const figures = await stage.during(async () => {
        // The hub and the clients reach both sides: only members do not reach each other.
        const { cluster = "member1" } = (await world.leader()) ?? {};
        const others = Object.keys(FIVE).filter((each) => each !== cluster);
        for (const other of others) await world.network.cut(cluster, other);
        await world.until("the others have a leader", async () => {
          const leader = await world.leader(others);
          return leader !== undefined;
        });
        await sleep(5_000);
        for (const other of others) await world.network.mend(cluster, other);
        await world.until("all five serve", async () => world.isComplete(5, "etcd:3.6") && (await world.agree(5)));
      });
      expectQuorum(stage, "partition", figures, MAX_ELECTION_MS);
      expect(figures.longestWriteGapMs).toBeLessThan(MAX_ELECTION_MS);
      expect(uids()).toEqual(before);
      expect(await voters(stage)).toHaveLength(5);
      await expectNothingLost(stage);
    },
    SCENARIO_MS,
  );
});
