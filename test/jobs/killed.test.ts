import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isLongForm } from "../form.ts";
import { KilledController } from "./killed-controller.ts";
import { overlaps, timesDone } from "./runs.ts";
import { JobWorld } from "./world.ts";

/** More writes than one job takes, so that a run without a kill ends the series. */
const MOST_WRITES = 60;
/** The form for CI kills after every third write. */
const EVERY = isLongForm ? 1 : 3;

const JOB = { completions: 2, parallelism: 2, completionMode: "Indexed" };
const GUARANTEES = isLongForm ? ["Wait", "Exclusive"] : ["Exclusive"];

describe.each(GUARANTEES)("a controller that is killed with -9 after each of its writes, with %s", (guarantee) => {
  const world = new JobWorld();
  const controller = new KilledController(world.fleet);
  beforeAll(async () => {
    await world.start({ withController: false });
    world.open("all");
    await controller.start();
  });
  afterAll(async () => {
    await controller.stop();
    await world.stop();
  });

  it("does all of the work once, and leaves nothing behind", { timeout: isLongForm ? 900_000 : 240_000 }, async () => {
    let kills = 0;
    for (let after = 1; after <= MOST_WRITES; after += EVERY) {
      const name = `killed${after}`;
      controller.killAfter(after);
      await world.submit(name, {
        job: JOB,
        // It fails in the first cluster, so that a failover is part of every run.
        failIn: ["member1"],
        spec: { division: "Indexes", failover: { onClusterLoss: { guarantee, windowSeconds: 30 } } },
      });
      const isDone = () => world.status(name).phase === "Complete" && world.leftovers(name).length === 0;
      await world.until("it was killed, or is done", () => controller.isKilled || isDone(), name);
      if (!controller.isKilled) break;
      kills++;
      await controller.start();
      await world.phase(name, "Complete");
      await world.clean(name);
      expect([name, timesDone(world.runs(name))]).toEqual([name, { 0: 1, 1: 1 }]);
      expect(overlaps(world.runs(name))).toEqual([]);
      // One attempt failed, with both of its pods at most.
      const failed = world.runs(name).filter(({ end }) => end?.how === "failed");
      expect(failed.map(({ pod }) => pod).length, world.told(name)).toBeLessThanOrEqual(2);
    }
    expect(kills).toBeGreaterThanOrEqual(isLongForm ? 20 : 8);
    console.log(`${guarantee}: killed ${kills} times, each time after another write; everything was done once`);
  });
});
