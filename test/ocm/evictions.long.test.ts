/**
 * ManifestWorks that are gone without their agent's part in it: the agent then evicts what they delivered, an hour later.
 * Here it does so after some seconds, while no controller is there to prevent it.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { statefulSet } from "../../src/engine/testing/contract/index.ts";
import type { Observer } from "../../src/engine/testing/observer.ts";
import { type KubeObject, resource } from "../../src/kube/index.ts";
import { isJsonObject } from "../../src/runtime/index.ts";
import { podImages, podUids, STATEFULSETS, type World } from "../stories/world.ts";
import { startReportedWorld } from "./world.ts";

const APPLIED = resource({
  apiVersion: "work.open-cluster-management.io/v1",
  kind: "AppliedManifestWork",
  plural: "appliedmanifestworks",
  namespaced: false,
});
const CLUSTER = "member2";
const AGENT = `${CLUSTER}-agent`;
const GRACE_SECONDS = 10;
const EVICTED_MS = 120_000;
const WRITES_MAX = 60;

let world: World;
let observer: Observer;

beforeAll(async () => {
  const flag = `--appliedmanifestwork-eviction-grace-period=${GRACE_SECONDS}s`;
  world = await startReportedWorld({ agentFlags: { [CLUSTER]: [flag] } });
  observer = await world.watch(STATEFULSETS);
});
afterAll(() => world?.stop());

const declare = (name: string, tag: string) => world.stage.declare(world, name, statefulSet(name, 5, `${name}:${tag}`));
const settled = (name: string) => world.until(`${name} is settled`, () => world.settled(name, 5));

async function worksOf(name: string): Promise<KubeObject[]> {
  const { works, namespaceOf } = world.stage;
  const { items } = await world.hub.listAll(works, { namespace: namespaceOf(CLUSTER) });
  return items.filter(({ metadata }) => metadata.annotations?.["lockstep.karmada.io/app-name"] === name);
}

/** Not a reservation, which only reads, and not what the workload needs beside it. */
function isGrant({ spec }: KubeObject): boolean {
  const text = JSON.stringify(spec);
  return text.includes('"kind":"StatefulSet"') && text.includes("ServerSideApply");
}

/** The agent's own records of these. */
async function recordsOf(works: readonly KubeObject[]): Promise<string[]> {
  const names = works.map(({ metadata }) => metadata.name);
  const { items } = await world.member(CLUSTER).listAll(APPLIED);
  const of = ({ spec }: KubeObject) => (isJsonObject(spec) ? String(spec.manifestWorkName) : "");
  return items.filter((record) => names.includes(of(record))).map(({ metadata }) => metadata.name);
}

/** Deleted with their finalizers torn off, while the agent is away. */
async function tornOff(name: string): Promise<void> {
  const { works: kind } = world.stage;
  const works = await worksOf(name);
  expect(works.length).toBeGreaterThan(0);
  const records = await recordsOf(works);
  expect(records.length).toBe(works.length);
  await world.stack.processes.end(AGENT);
  for (const { metadata } of works) {
    await world.hub.patch(kind, metadata, { type: "merge", body: { metadata: { finalizers: null } } });
    await world.hub.delete(kind, metadata);
  }
  expect(await worksOf(name)).toEqual([]);
  world.stack.processes.restart(AGENT);
  await world.until(
    "the agent has evicted what they delivered",
    async () => {
      const left = await recordsOf(works);
      return left.length === 0 || left.join();
    },
    EVICTED_MS,
  );
}

const uidIn = async (name: string) =>
  (await world.member(CLUSTER).find(STATEFULSETS, { namespace: "default", name }))?.metadata.uid;

async function updated(name: string): Promise<void> {
  await declare(name, "2");
  await world.until("all run the new image", async () => {
    const images = Object.values(await podImages(world, name)).flat();
    return images.every((pod) => pod.endsWith(`${name}:2`)) || images.join();
  });
  await settled(name);
}

describe("an application whose ManifestWorks are torn off while no controller runs", () => {
  it("keeps its object and every pod through the eviction, and is then updated", { timeout: 300_000 }, async () => {
    await declare("web", "1");
    await settled("web");
    const before = { pods: await podUids(world, "web"), object: await uidIn("web") };
    await world.stopController();
    await tornOff("web");
    expect({ pods: await podUids(world, "web"), object: await uidIn("web") }).toEqual(before);
    await world.restartController();
    await world.until("it is dispatched again", async () => (await worksOf("web")).length > 0);
    await settled("web");
    expect({ pods: await podUids(world, "web"), object: await uidIn("web") }).toEqual(before);
    await updated("web");
    expect(await uidIn("web")).toBe(before.object);
  });
});

describe("an application whose first grant arrived and was never seen", () => {
  /** The controller dies after one write more each time, until the cluster has the object. */
  const deliveredUnseen = async (name: string) => {
    for (let writes = 1; writes <= WRITES_MAX; writes++) {
      const { crashed } = await world.controllerThatCrashes(writes);
      if (writes === 1) await declare(name, "1");
      await crashed;
      const grants = (await worksOf(name)).some(isGrant);
      if (grants) return world.until("it has arrived", async () => (await uidIn(name)) !== undefined);
    }
    throw new Error(`nothing was granted to ${CLUSTER} within ${WRITES_MAX} writes`);
  };

  it("is recognized, although its ManifestWork is lost and evicted, and deployed", { timeout: 400_000 }, async () => {
    await deliveredUnseen("fresh");
    const object = await uidIn("fresh");
    await tornOff("fresh");
    expect(await uidIn("fresh")).toBe(object);
    await world.restartController();
    await settled("fresh");
    expect(await uidIn("fresh")).toBe(object);
    await updated("fresh");
  });
});

it("no member ever showed a spec that was not granted, in any of these", () => {
  expect(observer.violations()).toEqual([]);
  expect(observer.states).toBeGreaterThan(10);
});
