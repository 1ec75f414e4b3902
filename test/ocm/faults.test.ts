/**
 * Known by its agents' reports alone, while agents, the hub, members and the controller itself are killed or hang in the
 * middle of updates.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { statefulSet } from "../../src/engine/testing/contract/index.ts";
import type { Observer } from "../../src/engine/testing/observer.ts";
import { isLongForm } from "../form.ts";
import { crashStory } from "../stories/crash-story.ts";
import { editsStory } from "../stories/edits.ts";
import { PodRecorder, podImages, STATEFULSETS, type World } from "../stories/world.ts";
import { startReportedWorld } from "./world.ts";

const HANG_MS = 5_000;

interface Fault {
  readonly name: string;
  happen(world: World): Promise<void>;
}

const agents = (world: World) => [...world.stack.members.keys()].map((name) => `${name}-agent`);

async function killed({ stack }: World, ...names: string[]): Promise<void> {
  for (const name of names) stack.processes.kill(name);
  for (const name of names) stack.processes.restart(name);
}

async function hangs({ stack, until }: World, ...names: string[]): Promise<void> {
  for (const name of names) stack.processes.pause(name);
  const fromMs = performance.now();
  await until("it has hung for five seconds", () => performance.now() - fromMs > HANG_MS);
  for (const name of names) stack.processes.resume(name);
}

/** Killed, and started again only when it is seen to be away. */
async function away(world: World, name: string, isUp: () => Promise<boolean>): Promise<void> {
  world.stack.processes.kill(`${name}-apiserver`);
  await world.until(`${name} is down`, async () => !(await isUp().catch(() => false)));
  world.stack.processes.restart(`${name}-apiserver`);
  await world.until(`${name} is back`, isUp);
}

const FAULTS: Fault[] = [
  {
    name: "every agent is killed, and hangs as it starts again",
    async happen(world) {
      await killed(world, ...agents(world));
      await hangs(world, ...agents(world));
    },
  },
  {
    name: "the hub's API server is killed, and later hangs",
    async happen(world) {
      await away(world, "hub", () => world.stack.hub.ok("/readyz"));
      await hangs(world, "hub-apiserver");
    },
  },
  {
    name: "a member's API server is killed, and another one hangs",
    async happen(world) {
      await away(world, "member3", async () => (await world.stack.members.get("member3")?.ok("/readyz")) ?? false);
      await hangs(world, "member1-apiserver");
    },
  },
];

const RARE_FAULTS: Fault[] = [
  { name: "OCM's own controllers are killed", happen: (world) => killed(world, "ocm-registration", "ocm-placement") },
  {
    name: "the controllers of all members are killed",
    happen: (world) => killed(world, "member1-controllers", "member2-controllers", "member3-controllers"),
  },
  { name: "what every API server stores in hangs", happen: (world) => hangs(world, "etcd") },
  {
    name: "the hub's API server and every agent are killed at once",
    happen: async (world) => {
      await killed(world, ...agents(world), "hub-apiserver");
      await world.until("the hub is back", () => world.stack.hub.ok("/readyz"));
    },
  },
];

describe("a StatefulSet in clusters of which only the agents' reports are known", () => {
  let world: World;
  let observer: Observer;
  let version = 1;
  const pods = new PodRecorder();

  beforeAll(async () => {
    world = await startReportedWorld();
    observer = await world.watch(STATEFULSETS);
    for (const [cluster, api] of world.stack.members) pods.follow(cluster, api, "web");
  });
  afterAll(async () => {
    await pods.stop();
    await world?.stop();
  });

  const declare = () => world.stage.declare(world, "web", statefulSet("web", 5, `web:${version}`));
  const images = async () => Object.values(await podImages(world, "web")).flat();
  const isBegun = async () => (await images()).some((pod) => pod.endsWith(` web:${version}`));
  const updated = async () => {
    await world.until("all run the new image", async () => {
      const found = await images();
      return (found.length === 5 && found.every((pod) => pod.endsWith(` web:${version}`))) || found.join();
    });
    await world.until("it is settled", () => world.settled("web", 5));
  };
  const expectQuorum = () => {
    expect({ worst: pods.worst, withoutQuorumMs: pods.withoutQuorumMs }).toEqual({ worst: 1, withoutQuorumMs: 0 });
  };

  it("is deployed: Lockstep asks each cluster what is there before it grants anything", async () => {
    await declare();
    await world.until("five instances are ready", () => world.settled("web", 5));
    expect(await podImages(world, "web")).toEqual({
      member1: ["web-0 web:1", "web-1 web:1"],
      member2: ["web-100 web:1", "web-101 web:1"],
      member3: ["web-200 web:1"],
    });
  });

  it.each([...FAULTS, ...(isLongForm ? RARE_FAULTS : [])])(
    "is updated with one instance down at most, and never without quorum, while $name in the middle of it",
    async ({ happen }) => {
      version++;
      pods.expect(5, 3);
      await declare();
      await world.until("the update has begun", isBegun);
      await happen(world);
      await updated();
      expectQuorum();
    },
  );

  describe("and whose controller is killed", () => {
    crashStory(() => world, "web", { isNew: false });
  });

  describe("and another one that is edited in quick succession", () => {
    editsStory(() => world, "edited");
  });

  it("never ran what it was not granted", () => {
    expect(observer.violations()).toEqual([]);
    expect(observer.states).toBeGreaterThan(10);
  });
});
