import { afterAll, beforeAll, expect, it } from "vitest";
import { statefulSet } from "../../src/engine/testing/contract/index.ts";
import type { Observer } from "../../src/engine/testing/observer.ts";
import { isLongForm } from "../form.ts";
import { PodRecorder, podImages, STATEFULSETS, type World } from "./world.ts";

const MAX_WRITES = 60;
/** How many writes more the next controller lives. */
const STEP = isLongForm ? 1 : 3;

/**
 * A StatefulSet is updated by controllers that each end right after a write, the first one after its first.
 * Without `isNew`, it is deployed already.
 */
export function crashStory(on: () => World, name: string, { isNew = true } = {}): void {
  const pods = new PodRecorder();
  let world: World;
  let observer: Observer;
  const declare = (tag: string) => world.stage.declare(world, name, statefulSet(name, 5, `${name}:${tag}`));

  beforeAll(async () => {
    world = on();
    observer = await world.watch(STATEFULSETS);
    for (const [cluster, api] of world.stack.members) pods.follow(cluster, api, name);
    if (isNew) await declare("before");
    await world.until("five instances are ready", () => world.settled(name, 5));
    await world.until("the recorder has seen them all", () => pods.order.length >= 5);
  });
  afterAll(() => pods.stop());

  const isUpdated = async () => {
    const images = Object.values(await podImages(world, name)).flat();
    const isEverywhere = images.length === 5 && images.every((image) => image.endsWith(` ${name}:after`));
    return isEverywhere ? world.settled(name, 5) : images.join();
  };

  it("is updated with one instance down at most, and never without quorum", async () => {
    pods.expect(5);
    const lastWrites: string[] = [];
    for (let writes = 1; writes <= MAX_WRITES; writes += STEP) {
      const { crashed } = await world.controllerThatCrashes(writes);
      if (writes === 1) await declare("after");
      let lastWrite: string | undefined;
      void crashed.then((write) => {
        lastWrite = write;
      });
      await world.until("it has ended, or nothing is left to do", async () => lastWrite !== undefined || isUpdated());
      if (lastWrite === undefined) break;
      lastWrites.push(lastWrite);
    }
    await world.restartController();
    await world.until("the update is complete", isUpdated);
    expect({ worst: pods.worst, withoutQuorumMs: pods.withoutQuorumMs }).toEqual({ worst: 1, withoutQuorumMs: 0 });
    // The last write of each is what its process never learned the answer of.
    const kinds = new Set(lastWrites.map((write) => /(ledgers|works|status)/.exec(write)?.[1] ?? "another"));
    expect([...kinds]).toEqual(expect.arrayContaining(["ledgers", "works"]));
    expect(observer.violations().filter((seen) => seen.name === name)).toEqual([]);
  }, 300_000);
}
