import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { OCM_HUB, statefulSet } from "../../src/engine/testing/contract/index.ts";
import type { Observer } from "../../src/engine/testing/observer.ts";
import { adoptionStory } from "../stories/adoption.ts";
import { statefulSetStory } from "../stories/statefulset.ts";
import { CCS, PodRecorder, podImages, podUids, STATEFULSETS, type World } from "../stories/world.ts";
import { startWorld } from "./world.ts";

/** One world for all: each story has an application of its own. */
let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world?.stop());

describe("an inline StatefulSet over three real clusters of OCM", () => {
  statefulSetStory(() => world);
});

describe("an application that ManifestWorks of another writer already deliver", () => {
  adoptionStory(() => world, "db");
});

describe("an application whose clusters a Placement selects", () => {
  const name = "placed";
  const pods = new PodRecorder();
  let observer: Observer;
  const declare = (image: string, more: object = {}) => {
    const topology = {
      placementRef: { name },
      clusters: [
        { name: "member1", weight: 2 },
        { name: "member2", weight: 2 },
      ],
    };
    return world.stage.declare(world, name, statefulSet(name, 5, image), { topology, ...more });
  };

  beforeAll(async () => {
    observer = await world.watch(STATEFULSETS);
    for (const [cluster, api] of world.stack.members) pods.follow(cluster, api, name);
    const template = { apiVersion: "apps/v1", kind: "StatefulSet", namespace: "default", name };
    await OCM_HUB.schedule(world.hub, { namespace: "default", name, template, placement: name }, 5);
  });
  afterAll(() => pods.stop());

  it("is divided over them by weight", async () => {
    await declare(`${name}:1`);
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
    for (let edit = 2; edit <= 51; edit++) await declare(`${name}:${edit}`);
    await world.until("the last edit is everywhere", async () => {
      const images = Object.values(await podImages(world, name)).flat();
      return images.every((pod) => pod.endsWith(`${name}:51`)) || images.join();
    });
    await world.until("it is settled", () => world.settled(name, 5));
    expect(pods.worst).toBe(1);
    // The other stories' applications are released by now: what runs of them has no grant any more.
    expect(observer.violations().filter((seen) => seen.name === name)).toEqual([]);
  });

  it("is torn down in order, and its ManifestWorks are gone", async () => {
    await declare(`${name}:51`, { deletionPolicy: "Teardown" });
    await world.hub.delete(CCS, { namespace: "default", name });
    await world.until("the object is gone", async () => {
      const found = await world.hub.find(CCS, { namespace: "default", name });
      return found === undefined || JSON.stringify({ ...(found.status as object), ledger: undefined });
    });
    await world.until("no pod is left", async () => Object.keys(await podUids(world, name)).length === 0);
    const { items } = await world.hub.listAll(OCM_HUB.works);
    expect(items.filter(({ metadata }) => metadata.annotations?.["lockstep.karmada.io/app-name"] === name)).toEqual([]);
  });
});
