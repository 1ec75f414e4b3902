import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { propagation, statefulSet, WORKS } from "../../src/engine/testing/contract/index.ts";
import type { Observer } from "../../src/engine/testing/observer.ts";
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

describe("an apps/v1 StatefulSet over three real clusters", () => {
  let world: World;
  let observer: Observer;
  const pods = new PodRecorder();

  beforeAll(async () => {
    world = await startWorld();
    observer = await world.watch(STATEFULSETS);
    for (const [cluster, api] of world.stack.members) pods.follow(cluster, api, "web");
  });
  afterAll(async () => {
    await pods.stop();
    await world?.stop();
  });

  const settled = (replicas: number) => async () => {
    const status = await world.status("web");
    const object = await world.hub.find(CCS, { namespace: "default", name: "web" });
    return (
      status.phase === "Settled" &&
      status.readyReplicas === replicas &&
      status.observedGeneration === object?.metadata.generation
    );
  };
  const images = () => podImages(world, "web");

  it("is deployed in order, with unique ordinals", async () => {
    await world.hub.apply(CCS, crossCluster("web"), MANAGER);
    await world.until("the hold is in place", async () => (await world.status("web")).reason === "TemplateMissing");
    await world.hub.apply(POLICIES, propagation("web"), MANAGER);
    await world.hub.apply(STATEFULSETS, statefulSet("web", 5, "web:1"), MANAGER);
    await world.until("five instances are ready", settled(5));
    expect(await images()).toEqual({
      member1: ["web-0 web:1", "web-1 web:1"],
      member2: ["web-100 web:1", "web-101 web:1"],
      member3: ["web-200 web:1"],
    });
    await world.until("the recorder has seen them all", () => pods.order.length >= 5);
    expect(pods.order).toEqual([
      "member1/web-0",
      "member1/web-1",
      "member2/web-100",
      "member2/web-101",
      "member3/web-200",
    ]);
  });

  it("is updated with never more than one instance down over all clusters", async () => {
    pods.expect(5);
    await world.hub.apply(STATEFULSETS, statefulSet("web", 5, "web:2"), MANAGER);
    await world.until("all run the new image", async () => {
      return Object.values(await images())
        .flat()
        .every((pod) => pod.endsWith("web:2"));
    });
    await world.until("it is settled", settled(5));
    expect(pods.worst).toBe(1);
  });

  it("survives a controller that is stopped in mid-update", async () => {
    pods.expect(5);
    await world.hub.apply(STATEFULSETS, statefulSet("web", 5, "web:3"), MANAGER);
    await world.until("the update has begun", async () => JSON.stringify(await images()).includes("web:3"));
    await world.restartController();
    await world.until("all run the new image", async () => {
      return Object.values(await images())
        .flat()
        .every((pod) => pod.endsWith("web:3"));
    });
    await world.until("it is settled", settled(5));
    expect(pods.worst).toBe(1);
  });

  it("keeps the first instances of the global order on the old revision with a partition", async () => {
    const rollingUpdate = { partition: 3 };
    await world.hub.apply(
      CCS,
      crossCluster("web", { updateStrategy: { type: "RollingUpdate", rollingUpdate } }),
      MANAGER,
    );
    await world.hub.apply(STATEFULSETS, statefulSet("web", 5, "web:4"), MANAGER);
    await world.until("the last two are updated", async () => {
      return (
        Object.values(await images())
          .flat()
          .filter((pod) => pod.endsWith("web:4")).length === 2
      );
    });
    expect(await images()).toEqual({
      member1: ["web-0 web:3", "web-1 web:3"],
      member2: ["web-100 web:3", "web-101 web:4"],
      member3: ["web-200 web:4"],
    });
    await world.hub.apply(CCS, crossCluster("web"), MANAGER);
    await world.until("all are updated", async () => {
      return Object.values(await images())
        .flat()
        .every((pod) => pod.endsWith("web:4"));
    });
    await world.until("it is settled", settled(5));
  });

  it("grows in one cluster and renumbers no instance", async () => {
    const before = await podUids(world, "web");
    const clusters = [
      { name: "member1", replicas: 3 },
      { name: "member2", replicas: 2 },
      { name: "member3", replicas: 1 },
    ];
    await world.hub.apply(CCS, crossCluster("web", { topology: { clusters } }), MANAGER);
    await world.until("six instances are ready", settled(6));
    const after = await podUids(world, "web");
    expect(after).toMatchObject(before);
    expect(Object.keys(after).sort()).toEqual([...Object.keys(before), "member1/web-2"].sort());
  });

  it("survives that a user deletes its dispatch object, which is recreated and takes the member's object over", async () => {
    const before = await podUids(world, "web");
    const namespace = "karmada-es-member2";
    const works = (await world.hub.listAll(WORKS, { namespace })).items.filter(({ metadata }) => {
      return metadata.labels?.["lockstep.karmada.io/app"] !== undefined;
    });
    expect(works.length).toBeGreaterThan(0);
    for (const { metadata } of works) {
      // A user who insists removes Karmada's protection first.
      const labels = { "resourcetemplate.karmada.io/deletion-protected": null };
      await world.hub.patch(WORKS, metadata, { type: "merge", body: { metadata: { labels } } });
      await world.hub.delete(WORKS, metadata);
    }
    await world.until("others stand there", async () => {
      const now = await Promise.all(works.map(({ metadata }) => world.hub.find(WORKS, metadata)));
      return now.every((work, at) => work !== undefined && work.metadata.uid !== works[at]?.metadata.uid);
    });
    expect(await podUids(world, "web")).toEqual(before);
    await world.hub.apply(STATEFULSETS, statefulSet("web", 5, "web:5"), MANAGER);
    await world.until("all run the new image", async () => {
      return Object.values(await images())
        .flat()
        .every((pod) => pod.endsWith("web:5"));
    });
    await world.until("it is settled", settled(6));
  });

  it("never ran what it was not granted", () => {
    expect(observer.violations()).toEqual([]);
    expect(observer.states).toBeGreaterThan(10);
  });

  it("is released on deletion, and nothing moves", async () => {
    const before = await podUids(world, "web");
    await world.hub.delete(CCS, { namespace: "default", name: "web" });
    await world.until(
      "the object is gone",
      async () => (await world.hub.find(CCS, { namespace: "default", name: "web" })) === undefined,
    );
    expect(await podUids(world, "web")).toEqual(before);
  });
});
