/** More planned work: growth, distances between clusters, a controller that never lives long. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { CALM, FIVE, Stage } from "../availability/stage.ts";
import { COORDINATED, type Seen, SINGLE_CLUSTER, see } from "../availability/ways.ts";
import { expectNothingLost, expectUnnoticed, SCENARIO_MS, voters } from "./goals.ts";

const RESTARTED = "--snapshot-count=7777";
/** For each write of an update, one update. */
const MANY_RESTARTS_MS = 3_600_000;
const KILLS_A_WORLD = 10;
/** On a busy machine a single gap may be the machine's: each way is seen so often, in turn. */
const ROUNDS = 3;

describe("a real etcd over clusters, in more planned work", () => {
  let stage: Stage;
  beforeEach(() => {
    stage = new Stage();
  });
  afterEach(() => stage.strike());

  it(
    "is deployed one member at a time, grows from five to nine over a fourth cluster by one edit, and back",
    async () => {
      const { world } = stage;
      await world.start();
      world.controller.start();
      await world.deploy(FIVE, { version: "3.6", args: CALM });
      await stage.startClients();
      const first = await voters(stage);
      const learners = new Set<string>();
      const growth = await stage.during(async () => {
        await world.scale({ member1: 2, member2: 3, member3: 2, member4: 2 });
        await world.until("nine are settled", async () => {
          for (const { host, isLearner } of await world.memberList().catch(() => [])) if (isLearner) learners.add(host);
          return world.isSettled(9);
        });
      });
      expectUnnoticed(stage, "five to nine", growth);
      const grown = await voters(stage);
      expect(grown).toHaveLength(9);
      // Each had no vote at first.
      expect([...learners].sort()).toEqual(grown.filter((each) => !first.includes(each)).sort());
      const removal = await stage.during(async () => {
        await world.scale({ ...FIVE, member4: 0 });
        await world.until("five are left", () => world.instances().length === 5);
        await world.settled(5);
      });
      expectUnnoticed(stage, "nine to five", removal);
      expect(await voters(stage)).toHaveLength(5);
      await expectNothingLost(stage);
    },
    SCENARIO_MS,
  );

  it(
    "is upgraded from 3.5 to 3.6 and then at once to 3.7, without a failed request",
    async () => {
      const { world } = stage;
      await stage.set("3.5", ["3.6", "3.7"]);
      world.pods.expect(5);
      for (const version of ["3.6", "3.7"] as const) {
        const figures = await stage.during(async () => {
          await world.template({ version, args: CALM });
          await world.settled(5, () => world.runsEverywhere(`etcd:${version}`));
        });
        expect(world.pods.worst).toBe(1);
        expectUnnoticed(stage, `from 3.5 on to ${version}`, figures);
      }
      await expectNothingLost(stage);
    },
    SCENARIO_MS,
  );

  it.each([1, 20, 80])(
    "is restarted one member at a time with %i ms between clusters, without a failed request",
    async (delayMs) => {
      const { world } = stage;
      await stage.set("3.6", [], delayMs);
      world.pods.expect(5);
      const figures = await stage.during(async () => {
        await world.template({ version: "3.6", args: [...CALM, RESTARTED] });
        await world.settled(5, () => world.runsEverywhere(RESTARTED));
      });
      expect(world.pods.worst).toBe(1);
      expectUnnoticed(stage, `restart with ${delayMs} ms`, figures);
      await expectNothingLost(stage);
    },
    SCENARIO_MS,
  );
});

describe("a real etcd over clusters, whose controller is killed after each write", () => {
  it(
    "is restarted while the controller is killed after its first write, its second, and so on up to the last one",
    async () => {
      let written = 0;
      // A recorded history is checked as a whole, and an hour's would take long: every few kills have a world of their own.
      for (let isKilled = true; isKilled; ) {
        const stage = new Stage();
        try {
          await stage.set();
          stage.world.pods.expect(5);
          const last = written + KILLS_A_WORLD;
          while (isKilled && written < last) {
            written++;
            isKilled = await restartKilledAfter(stage, written);
          }
          expect(stage.world.pods.worst).toBe(1);
          await expectNothingLost(stage);
        } finally {
          await stage.strike();
        }
      }
      // An update of three clusters takes at least a ledger and a dispatch for each.
      expect(written).toBeGreaterThan(6);
    },
    MANY_RESTARTS_MS,
  );
});

/** A restart of its own for each number, which the next controller completes: kills do not add up. Whether there was one. */
async function restartKilledAfter(stage: Stage, writes: number): Promise<boolean> {
  const { world } = stage;
  const arg = `--snapshot-count=${7_000 + writes}`;
  let isKilled = false;
  const figures = await stage.during(async () => {
    const { crashed } = await world.controller.startThatCrashes(writes);
    await world.template({ version: "3.6", args: [...CALM, arg] });
    await world.until(`it was killed after write ${writes}, or nothing is left to do`, () => {
      isKilled = crashed();
      return isKilled || (world.isSettled(5) && world.runsEverywhere(arg));
    });
    await world.controller.restart();
    await world.settled(5, () => world.runsEverywhere(arg));
  });
  expectUnnoticed(stage, `killed after write ${writes}`, figures);
  return isKilled;
}

describe("a rolling restart over clusters, beside the same in one cluster", () => {
  it(
    "leaves clients no longer without a write than a StatefulSet in one cluster does",
    async () => {
      const across: Seen[] = [];
      const within: Seen[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        across.push(await see(COORDINATED, 1));
        within.push(await see(SINGLE_CLUSTER, 0));
      }
      const gaps = (all: readonly Seen[]) => all.map(({ figures }) => figures.during.longestWriteGapMs);
      console.log(JSON.stringify({ across: gaps(across), within: gaps(within) }));
      expect(median(gaps(across))).toBeLessThanOrEqual(median(gaps(within)));
      for (const { verdict } of [...across, ...within]) {
        expect(verdict).toMatchObject({ missing: [], linearizable: "yes" });
      }
      for (const { figures } of across) expect(figures.during.failed).toBe(0);
    },
    2 * SCENARIO_MS,
  );
});

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? Number.NaN;
}
