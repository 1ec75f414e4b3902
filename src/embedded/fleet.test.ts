import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SchemaCache } from "../apiserver/index.ts";
import { propagation, statefulSet, WORKS } from "../engine/testing/contract/index.ts";
import type { KubeObject } from "../kube/index.ts";
import { seededRandom } from "../runtime/index.ts";
import { CROSS_CLUSTER_STATEFULSETS, PodRecorder, World } from "./testing/world.ts";

function crossCluster(name: string, spec: object = {}): KubeObject {
  return {
    apiVersion: CROSS_CLUSTER_STATEFULSETS.apiVersion,
    kind: CROSS_CLUSTER_STATEFULSETS.kind,
    metadata: { name, namespace: "default" },
    spec: {
      resourceSelector: { apiVersion: "apps/v1", kind: "StatefulSet", name, namespace: "default" },
      updateStrategy: { type: "RollingUpdate" },
      ...spec,
    },
  };
}

async function deploy(world: World): Promise<void> {
  await world.apply(crossCluster("web"));
  await world.until("the hold is in place", () => world.status("web").reason === "TemplateMissing");
  await world.apply(propagation("web"));
  await world.apply(statefulSet("web", 5, "web:1"));
  await world.until("five instances are ready", () => world.isSettled("web", 5));
}

const schemas = new SchemaCache();
const PLACES = ["member1/web-0", "member1/web-1", "member2/web-100", "member2/web-101", "member3/web-200"];

describe("a StatefulSet over three embedded clusters", () => {
  const world = new World(1, { schemas });
  const pods = new PodRecorder(world.fleet);
  const all = (image: string) => Object.values(pods.images()).every((shown) => shown === image);

  beforeAll(() => world.start());
  afterAll(() => world.stop());

  it("is deployed in order, with unique ordinals", async () => {
    await deploy(world);
    expect(pods.order).toEqual(PLACES);
    expect(pods.images()).toEqual(Object.fromEntries(PLACES.map((place) => [place, "web:1"])));
  });

  it("is updated with never more than one instance down over all clusters", async () => {
    pods.expect(5);
    await world.apply(statefulSet("web", 5, "web:2"));
    await world.until("all run the new image", () => all("web:2"));
    await world.until("it is settled", () => world.isSettled("web", 5));
    expect(pods.worst).toBe(1);
  });

  it("continues where it was when the controller is stopped during an update and started again", async () => {
    pods.expect(5);
    await world.apply(statefulSet("web", 5, "web:3"));
    await world.until("the update has begun", () => Object.values(pods.images()).includes("web:3"));
    await world.stopController();
    world.startController();
    await world.until("all run the new image", () => all("web:3"));
    await world.until("it is settled", () => world.isSettled("web", 5));
    expect(pods.worst).toBe(1);
  });

  it("grows as the schedule requires, and renumbers no instance", async () => {
    const before = pods.images();
    await world.apply(statefulSet("web", 7, "web:3"));
    await world.until("seven instances are ready", () => world.isSettled("web", 7));
    expect(pods.images()).toMatchObject(before);
    expect(Object.keys(pods.images())).toHaveLength(7);
  });

  it("shrinks from the top of each cluster, in the reverse of the global order", async () => {
    await world.apply(statefulSet("web", 5, "web:3"));
    await world.until("five are left", () => world.isSettled("web", 5) && Object.keys(pods.images()).length === 5);
    expect(Object.keys(pods.images())).toEqual(PLACES);
  });

  it("leaves a cluster that the schedule no longer names, with nothing left on the hub", async () => {
    await world.apply(statefulSet("web", 3, "web:3"));
    await world.until("three are left", () => world.isSettled("web", 3) && Object.keys(pods.images()).length === 3);
    await world.clock.advance(10_000);
    expect(Object.keys(pods.images())).toEqual(["member1/web-0", "member1/web-1", "member2/web-100"]);
    const works = await world.ask(world.hub.listAll(WORKS));
    expect(works.items.filter(({ metadata }) => metadata.namespace === "karmada-es-member3")).toEqual([]);
  });

  it("is released on deletion, and nothing moves", async () => {
    const before = pods.images();
    await world.ask(world.hub.delete(CROSS_CLUSTER_STATEFULSETS, { namespace: "default", name: "web" }));
    await world.until("the object is gone", () => world.statefulset("web") === undefined);
    expect(pods.images()).toEqual(before);
  });
});

describe("the same seed", () => {
  it("gives the same history, to the byte", async () => {
    const history = async (): Promise<string> => {
      const world = new World(7, { schemas });
      await world.start();
      await deploy(world);
      await world.apply(statefulSet("web", 5, "web:2"));
      await world.until("it is settled", () => world.isSettled("web", 5));
      const state = JSON.stringify(world.fleet.snapshot());
      await world.stop();
      expect(world.clock.sleeping).toBe(0);
      return state;
    };
    expect(await history()).toBe(await history());
  });
});

describe("a member that is cut off", () => {
  it("becomes NotReady, is not touched, and continues when it is back", async () => {
    const world = new World(3, { schemas });
    const pods = new PodRecorder(world.fleet);
    const readiness = () => JSON.stringify(world.fleet.hubObject("cluster.karmada.io/clusters", "", "member2")?.status);
    await world.start();
    await deploy(world);
    world.fleet.cut("member2");
    await world.until("member2 is NotReady", () => readiness().includes("ClusterNotReachable"));
    await world.apply(statefulSet("web", 5, "web:2"));
    await world.clock.advance(60_000);
    expect(pods.images()["member2/web-100"]).toBe("web:1");
    world.fleet.mend("member2");
    await world.until("all run the new image", () => Object.values(pods.images()).every((image) => image === "web:2"));
    await world.until("it is settled", () => world.isSettled("web", 5));
    await world.stop();
  });

  it("keeps its state over a restart of its API server", async () => {
    const world = new World(4, { schemas });
    const pods = new PodRecorder(world.fleet);
    await world.start();
    await deploy(world);
    await world.apply(statefulSet("web", 5, "web:2"));
    await world.until("the update has begun", () => Object.values(pods.images()).includes("web:2"));
    world.fleet.kill("member2");
    await world.clock.advance(30_000);
    world.fleet.restart("member2");
    await world.until("all run the new image", () => Object.values(pods.images()).every((image) => image === "web:2"));
    await world.until("it is settled", () => world.isSettled("web", 5));
    await world.stop();
  });
});

describe("with faults on the way", () => {
  it.each([11, 12, 13, 14])("an update completes, and never takes a second instance down (seed %i)", async (seed) => {
    const dice = seededRandom(seed);
    const pick = (below: number) => Math.floor(dice.next() * below);
    const world = new World(seed, { schemas });
    const pods = new PodRecorder(world.fleet);
    const { fleet, clock } = world;
    await world.start();
    await deploy(world);
    pods.expect(5);
    await world.apply(statefulSet("web", 5, "web:2"));
    for (let fault = 0; fault < 5; fault++) {
      await clock.advance(pick(6_000));
      const member = fleet.memberNames[pick(3)] ?? "";
      const faults: (() => void)[] = [
        () => fleet.cut(member),
        () => fleet.kill(member),
        () => fleet.dropWatches(member),
        () => fleet.disturb(member, { slowMs: 300, failRate: 0.3 }),
        () => world.fleet.hub.dropWatches(),
      ];
      faults[pick(faults.length)]?.();
      await clock.advance(pick(10_000));
      for (const name of fleet.memberNames) {
        fleet.restart(name);
        fleet.mend(name);
      }
    }
    await world.until("all run the new image", () => Object.values(pods.images()).every((image) => image === "web:2"));
    await world.until("it is settled", () => world.isSettled("web", 5));
    expect(pods.worst).toBe(1);
    await world.stop();
  });
});
