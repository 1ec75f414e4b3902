import { afterAll, beforeAll, expect, it } from "vitest";
import { statefulSet } from "../../src/engine/testing/contract/index.ts";
import type { Observer } from "../../src/engine/testing/observer.ts";
import { CCS, PodRecorder, podImages, podUids, STATEFULSETS, type World } from "./world.ts";

const EDITS = 50;

/** A StatefulSet that is edited faster than it can be rolled out, and then torn down. `spec`: in addition. */
export function editsStory(on: () => World, name: string, spec: object = {}): void {
  const pods = new PodRecorder();
  let world: World;
  let observer: Observer;
  const declare = (version: number, more: object = {}) =>
    world.stage.declare(world, name, statefulSet(name, 5, `${name}:${version}`), { ...spec, ...more });

  beforeAll(async () => {
    world = on();
    observer = await world.watch(STATEFULSETS);
    for (const [cluster, api] of world.stack.members) pods.follow(cluster, api, name);
  });
  afterAll(() => pods.stop());

  it("is divided over the clusters", async () => {
    await declare(0);
    await world.until("five instances are ready", () => world.settled(name, 5));
    const found = await podImages(world, name);
    expect(Object.entries(found).map(([cluster, each]) => [cluster, each.length])).toEqual([
      ["member1", 2],
      ["member2", 2],
      ["member3", 1],
    ]);
  });

  it("shows no member anything but granted specs under fifty quick edits, and ends with the last", async () => {
    pods.expect(5);
    for (let edit = 1; edit <= EDITS; edit++) await declare(edit);
    await world.until("the last edit is everywhere", async () => {
      const images = Object.values(await podImages(world, name)).flat();
      return images.every((pod) => pod.endsWith(`${name}:${EDITS}`)) || images.join();
    });
    await world.until("it is settled", () => world.settled(name, 5));
    expect(pods.worst).toBe(1);
    expect(observer.states).toBeGreaterThan(5);
    // Applications of other stories are released by now: what runs of them has no grant any more.
    expect(observer.violations().filter((seen) => seen.name === name)).toEqual([]);
  });

  it("is torn down from the last instance to the first, and its dispatch objects are gone", async () => {
    await declare(EDITS, { deletionPolicy: "Teardown" });
    await world.hub.delete(CCS, { namespace: "default", name });
    await world.until("the object is gone", async () => {
      const found = await world.hub.find(CCS, { namespace: "default", name });
      return found === undefined || JSON.stringify({ ...(found.status as object), ledger: undefined });
    });
    await world.until("no pod is left", async () => Object.keys(await podUids(world, name)).length === 0);
    await world.until("the recorder has seen them all go", () => pods.gone.length >= 5);
    expect(pods.gone.slice(-5).map((pod) => pod.split("/")[0])).toEqual([
      "member3",
      "member2",
      "member2",
      "member1",
      "member1",
    ]);
    const { items } = await world.hub.listAll(world.stage.works);
    expect(items.filter(({ metadata }) => metadata.annotations?.["lockstep.karmada.io/app-name"] === name)).toEqual([]);
  });
}
