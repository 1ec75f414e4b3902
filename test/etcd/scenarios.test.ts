/** The example's operator and Lockstep, with clients that never stop. Each scenario has a fleet of its own. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Figures } from "../availability/record.ts";
import { CALM, Stage } from "../availability/stage.ts";

let stage: Stage;
beforeEach(() => {
  stage = new Stage();
});
afterEach(() => stage.strike());

/** On a machine that is busy with other suites, an attempt may take a second for no other reason. */
const MAX_FAILED_SHARE = 0.005;

/** Planned work: (almost) no request fails after one retry, the quorum stays, and the leader moves at most once. */
function expectUnnoticed(what: string, figures: Figures, leaderMoves = 1): void {
  console.log(`${what}: ${JSON.stringify(figures)} ${stage.probe.errors().join("; ")}`);
  expect(figures.failed).toBeLessThanOrEqual(figures.requests * MAX_FAILED_SHARE);
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
});
