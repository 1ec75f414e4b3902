import { afterAll, beforeAll, expect, it } from "vitest";
import { statefulSet } from "../../src/engine/testing/contract/index.ts";
import type { Observer } from "../../src/engine/testing/observer.ts";
import type { KubeObject } from "../../src/kube/index.ts";
import { CCS, PodRecorder, podImages, podUids, STATEFULSETS, type World } from "./world.ts";

/** An application that the engine already runs, without Lockstep, is taken over, updated and released. */
export function adoptionStory(on: () => World, name = "web"): void {
  let world: World;
  let observer: Observer;
  const pods = new PodRecorder();
  const generations = async () => {
    const found: Record<string, unknown> = {};
    for (const member of world.members.keys()) {
      const { metadata } = await world.member(member).get(STATEFULSETS, { namespace: "default", name });
      found[member] = { uid: metadata.uid, generation: metadata.generation };
    }
    return found;
  };
  const workload = (version: number) => statefulSet(name, 5, `${name}:${version}`);
  /** An object on the hub has the API server's defaults; an inline template has them only if what runs was exported. */
  const asExported = async (version: number): Promise<KubeObject> => {
    if (world.stage.engine === "karmada") return workload(version);
    const { spec } = await world.member("member1").get(STATEFULSETS, { namespace: "default", name });
    const text = JSON.stringify(spec).replace(/"image":"[^"]*"/, `"image":"${name}:${version}"`);
    return { ...workload(version), spec: { ...JSON.parse(text), replicas: 5 } };
  };

  beforeAll(async () => {
    world = on();
    for (const [cluster, api] of world.stack.members) pods.follow(cluster, api, name);
    await world.stage.runWithoutLockstep(world, workload(1));
    await world.until("five pods run", async () => Object.keys(await podUids(world, name)).length === 5);
    observer = await world.watch(STATEFULSETS);
  });
  afterAll(() => pods.stop());

  it("is adopted as it is: the same objects, generations and pods", async () => {
    const before = { pods: await podUids(world, name), objects: await generations() };
    await world.stage.declare(world, name, await asExported(1), { identity: { mode: "PerCluster" } });
    await world.until("it is settled", () => world.settled(name));
    expect({ pods: await podUids(world, name), objects: await generations() }).toEqual(before);
  });

  it("is then updated with never more than one instance down over all clusters", async () => {
    pods.expect(5);
    await world.stage.declare(world, name, await asExported(2), { identity: { mode: "PerCluster" } });
    await world.until("the new revision is everywhere", async () => {
      const images = Object.values(await podImages(world, name)).flat();
      return images.every((pod) => pod.endsWith(`${name}:2`)) || images.join();
    });
    await world.until("it is settled", () => world.settled(name));
    expect(pods.worst).toBe(1);
  });

  it("never ran what it was not granted, from before its adoption on", () => {
    expect(observer.states).toBeGreaterThan(5);
    expect(observer.violations().filter((seen) => seen.name === name)).toEqual([]);
  });

  it("is released on deletion, and nothing moves", async () => {
    const before = { pods: await podUids(world, name), objects: await generations() };
    await world.hub.delete(CCS, { namespace: "default", name });
    await world.until("the object is gone", async () => {
      const found = await world.hub.find(CCS, { namespace: "default", name });
      return found === undefined || JSON.stringify({ ...(found.status as object), ledger: undefined });
    });
    expect({ pods: await podUids(world, name), objects: await generations() }).toEqual(before);
  });
}
