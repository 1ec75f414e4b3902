import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { propagation, statefulSet } from "../../src/engine/testing/contract/index.ts";
import {
  CCS,
  crossCluster,
  MANAGER,
  POLICIES,
  PodRecorder,
  podImages,
  podUids,
  STATEFULSETS,
  startWorld,
  type World,
} from "./world.ts";

describe("an application that Karmada already runs", () => {
  let world: World;
  const pods = new PodRecorder();
  const generations = async () => {
    const found: Record<string, unknown> = {};
    for (const name of world.members.keys()) {
      const { metadata } = await world.member(name).get(STATEFULSETS, { namespace: "default", name: "web" });
      found[name] = { uid: metadata.uid, generation: metadata.generation };
    }
    return found;
  };
  const running = async () => Object.keys(await podUids(world, "web")).length === 5;

  beforeAll(async () => {
    world = await startWorld();
    for (const [cluster, api] of world.stack.members) pods.follow(cluster, api, "web");
    await world.hub.apply(POLICIES, propagation("web"), MANAGER);
    await world.hub.apply(STATEFULSETS, statefulSet("web", 5, "web:1"), MANAGER);
    await world.until("Karmada runs five pods", running);
  });
  afterAll(async () => {
    await pods.stop();
    await world?.stop();
  });

  it("is adopted as it is: the same objects, generations and pods", async () => {
    const before = { pods: await podUids(world, "web"), objects: await generations() };
    await world.hub.apply(CCS, crossCluster("web", { identity: { mode: "PerCluster" } }), MANAGER);
    await world.until("it is settled", async () => {
      const status = await world.status("web");
      return status.phase === "Settled" || JSON.stringify(status);
    });
    expect({ pods: await podUids(world, "web"), objects: await generations() }).toEqual(before);
  });

  it("is then updated with never more than one instance down over all clusters", async () => {
    pods.expect(5);
    await world.hub.apply(STATEFULSETS, statefulSet("web", 5, "web:2"), MANAGER);
    await world.until("the new revision is everywhere", async () => {
      const images = Object.values(await podImages(world, "web")).flat();
      return images.every((pod) => pod.endsWith("web:2")) || images.join();
    });
    await world.until("it is settled", async () => (await world.status("web")).phase === "Settled");
    expect(pods.worst).toBe(1);
  });
});
