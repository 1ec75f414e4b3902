/** Known by its agents' reports alone, while agents, the hub and a member are killed in the middle of updates. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { statefulSet } from "../../src/engine/testing/contract/index.ts";
import type { Observer } from "../../src/engine/testing/observer.ts";
import { PodRecorder, podImages, STATEFULSETS, type World } from "../stories/world.ts";
import { startReportedWorld } from "./world.ts";

describe("a StatefulSet in clusters of which only the agents' reports are known", () => {
  let world: World;
  let observer: Observer;
  /** Of the first two clusters, which hold four of the five instances: the third one is cut off meanwhile. */
  const pods = new PodRecorder();

  beforeAll(async () => {
    world = await startReportedWorld();
    observer = await world.watch(STATEFULSETS);
    for (const [cluster, api] of world.stack.members) if (cluster !== "member3") pods.follow(cluster, api, "web");
  });
  afterAll(async () => {
    await pods.stop();
    await world?.stop();
  });

  const declare = (image: string) => world.stage.declare(world, "web", statefulSet("web", 5, image));
  const images = async () => Object.values(await podImages(world, "web")).flat();
  const isBegun = (image: string) => async () => (await images()).some((pod) => pod.endsWith(image));
  const isEverywhere = (image: string) => async () => {
    const found = await images();
    return (found.length === 5 && found.every((pod) => pod.endsWith(image))) || found.join();
  };

  it("is deployed: Lockstep asks each cluster what is there before it grants anything", async () => {
    await declare("web:1");
    await world.until("five instances are ready", () => world.settled("web", 5));
    expect(await podImages(world, "web")).toEqual({
      member1: ["web-0 web:1", "web-1 web:1"],
      member2: ["web-100 web:1", "web-101 web:1"],
      member3: ["web-200 web:1"],
    });
  });

  it("is updated while every agent is killed once in the middle of it", async () => {
    pods.expect(4);
    await declare("web:2");
    await world.until("the update has begun", isBegun("web:2"));
    for (const name of world.stack.members.keys()) {
      world.stack.processes.kill(`${name}-agent`);
      world.stack.processes.restart(`${name}-agent`);
    }
    await world.until("all run the new image", isEverywhere("web:2"));
    await world.until("it is settled", () => world.settled("web", 5));
    expect(pods.worst).toBe(1);
  });

  it("is updated while the hub is killed in the middle of it", async () => {
    pods.expect(4);
    await declare("web:3");
    await world.until("the update has begun", isBegun("web:3"));
    world.stack.processes.kill("hub-apiserver");
    await world.until("the hub is down", async () => !(await world.stack.hub.ok("/readyz").catch(() => false)));
    world.stack.processes.restart("hub-apiserver");
    await world.until("the hub is back", () => world.stack.hub.ok("/readyz"));
    await world.until("all run the new image", isEverywhere("web:3"));
    await world.until("it is settled", () => world.settled("web", 5));
    expect(pods.worst).toBe(1);
  });

  it("is updated while a member is cut off in the middle of it, and continues when it is back", async () => {
    pods.expect(4);
    await declare("web:4");
    await world.until("the update has begun", isBegun("web:4"));
    await world.cut("member3");
    await world.until("member3 is down", async () => {
      return !(await world.stack.members
        .get("member3")
        ?.ok("/readyz")
        .catch(() => false));
    });
    await world.mend("member3");
    await world.until("all run the new image", isEverywhere("web:4"));
    await world.until("it is settled", () => world.settled("web", 5));
    expect(pods.worst).toBe(1);
  });

  it("never ran what it was not granted", () => {
    expect(observer.violations()).toEqual([]);
    expect(observer.states).toBeGreaterThan(10);
  });
});
