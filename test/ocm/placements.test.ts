/** Clusters that a Placement selects, drops while they are away, and drops for good. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isWell, readManagedCluster } from "../../src/engine/ocm/clusters.ts";
import { MANAGED_CLUSTERS, MANIFEST_WORKS, PLACEMENT_DECISIONS, PLACEMENTS } from "../../src/engine/ocm/resources.ts";
import { OCM_HUB, statefulSet } from "../../src/engine/testing/contract/index.ts";
import type { Observer } from "../../src/engine/testing/observer.ts";
import { type KubeObject, resource } from "../../src/kube/index.ts";
import { isJsonObject } from "../../src/runtime/index.ts";
import { CCS, MANAGER, podImages, podUids, STATEFULSETS, type World } from "../stories/world.ts";
import { startWorld } from "./world.ts";

const CLAIMS = resource({
  apiVersion: "cluster.open-cluster-management.io/v1alpha1",
  kind: "ClusterClaim",
  plural: "clusterclaims",
  namespaced: false,
});
const name = "placed";
const AT = { namespace: "default", name };
const SELECTOR = { namespace: "default", labelSelector: `cluster.open-cluster-management.io/placement=${name}` };

/** Two readings of the hub 30 s apart, the first of them up to 30 s from now, and then the steps. */
const PROVEN_MS = 110_000;

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world?.stop());

const counts = async () =>
  Object.fromEntries(Object.entries(await podImages(world, name)).map(([cluster, pods]) => [cluster, pods.length]));
const decisions = async () => (await world.hub.listAll(PLACEMENT_DECISIONS, SELECTOR)).items;

async function selected(): Promise<string> {
  const all = (await decisions()).flatMap(({ status }) => (isJsonObject(status) && status.decisions) || []);
  const names = all.filter(isJsonObject).map(({ clusterName }) => String(clusterName));
  return names.sort().join();
}

const decides = (clusters: readonly string[]) =>
  world.until(`the Placement selects ${clusters.join()}`, async () => {
    const found = await selected();
    return found === clusters.join() || found;
  });

async function row(cluster: string): Promise<string> {
  const { clusters: rows } = await world.status(name);
  return JSON.stringify((Array.isArray(rows) ? rows : []).find((each: KubeObject) => String(each.name) === cluster));
}

const says = (cluster: string, words: RegExp) =>
  world.until(`the status of ${cluster} says ${words}`, async () => {
    const found = await row(cluster);
    return words.test(found) || found;
  });

const setCluster = (cluster: string, body: object) =>
  world.hub.patch(MANAGED_CLUSTERS, { name: cluster }, { type: "merge", body: { ...body } });

const isBack = (cluster: string) =>
  world.until(`${cluster} is available, and its taint is gone`, async () => {
    // A klusterlet relies on its kubelet: it ends when it cannot continue.
    world.stack.processes.revive(`${cluster}-agent`);
    const found = await world.hub.get(MANAGED_CLUSTERS, { name: cluster });
    return isWell(found) || JSON.stringify([found.spec, readManagedCluster(found)?.state]);
  });

/** The hub has noticed; a decision without the cluster may be older than its last return. */
const isAway = (cluster: string) =>
  world.until(`${cluster} is seen to be away`, async () => {
    const found = await world.hub.get(MANAGED_CLUSTERS, { name: cluster });
    return !isWell(found) || JSON.stringify([found.spec, readManagedCluster(found)?.state]);
  });

async function ownWorks(cluster: string): Promise<KubeObject[]> {
  const labelSelector = "lockstep.karmada.io/app";
  const { items } = await world.hub.listAll(MANIFEST_WORKS, { namespace: cluster, labelSelector });
  return items.filter(({ metadata }) => metadata.annotations?.["lockstep.karmada.io/app-name"] === name);
}

describe("a Placement without tolerations", () => {
  let observer: Observer;
  beforeAll(async () => {
    observer = await world.watch(STATEFULSETS);
    const template = { apiVersion: "apps/v1", kind: "StatefulSet", namespace: "default", name };
    await OCM_HUB.schedule(world.hub, { namespace: "default", name, template, placement: name }, 3);
    await world.hub.patch(PLACEMENTS, AT, { type: "merge", body: { spec: { tolerations: null } } });
    await decides(["member1", "member2", "member3"]);
    const spec = { replicas: 3, topology: { placementRef: { name } } };
    await world.stage.declare(world, name, statefulSet(name, 3, `${name}:1`), spec);
    await world.until("three instances are ready", () => world.settled(name, 3));
    expect(await counts()).toEqual({ member1: 1, member2: 1, member3: 1 });
  });

  it("drops a cluster whose agent is gone; it keeps its instance and its dispatch, and nothing moves at its return", async () => {
    const before = await podUids(world, name);
    const works = (await ownWorks("member3")).map(({ metadata }) => metadata.uid).sort();
    expect(works.length).toBeGreaterThan(0);
    world.stack.processes.kill("member3-agent");
    await isAway("member3");
    await decides(["member1", "member2"]);
    await says("member3", /Unknown|NotReady|Unreachable|Lost/);
    world.stack.processes.restart("member3-agent");
    await isBack("member3");
    await decides(["member1", "member2", "member3"]);
    await world.until("three instances are ready", () => world.settled(name, 3));
    expect((await ownWorks("member3")).map(({ metadata }) => metadata.uid).sort()).toEqual(works);
    expect(await podUids(world, name)).toEqual(before);
  });

  it("that decides late leaves a cluster out that is back: it stays, and the status says why", async () => {
    const before = await podUids(world, name);
    world.stack.processes.kill("member3-agent");
    await isAway("member3");
    await decides(["member1", "member2"]);
    await world.stack.processes.end("ocm-placement");
    try {
      world.stack.processes.restart("member3-agent");
      await isBack("member3");
      await says("member3", /decided before the cluster came back/);
      expect(await selected()).toBe("member1,member2");
    } finally {
      world.stack.processes.restart("ocm-placement");
    }
    await decides(["member1", "member2", "member3"]);
    await world.until("three instances are ready", () => world.settled(name, 3));
    expect(await podUids(world, name)).toEqual(before);
  });

  it("decides again at once if its decision is deleted, as the status advises", async () => {
    const uids = async () => (await decisions()).map(({ metadata }) => metadata.uid).join();
    const before = await uids();
    for (const { metadata } of await decisions()) {
      await world.hub.delete(PLACEMENT_DECISIONS, { namespace: "default", name: metadata.name });
    }
    await world.until("there is another decision", async () => {
      const found = await uids();
      return (found !== "" && found !== before) || found;
    });
    await decides(["member1", "member2", "member3"]);
  });

  it("drops a cluster that an administrator taints; its instances move when that is proven, and it is released", {
    timeout: 2 * PROVEN_MS,
  }, async () => {
    await setCluster("member3", { spec: { taints: [{ key: "example.com/full", effect: "NoSelect" }] } });
    await says("member3", /does not select member3/);
    const haveMoved = async () => {
      const found = JSON.stringify(await counts());
      return found === JSON.stringify({ member1: 2, member2: 1, member3: 0 }) || found;
    };
    await world.until("its instances have moved", haveMoved, PROVEN_MS);
    const objectIn = (cluster: string) => world.member(cluster).find(STATEFULSETS, AT);
    await world.until("it is released", async () => (await objectIn("member3")) === undefined);
    await world.until("it is settled", () => world.settled(name, 3));
    await setCluster("member3", { spec: { taints: null } });
  });

  it("showed no spec in any member that was not granted, and goes with its application", async () => {
    expect(observer.violations()).toEqual([]);
    expect(observer.states).toBeGreaterThan(5);
    await world.hub.delete(CCS, AT);
    await world.until("it is gone", async () => (await world.hub.find(CCS, AT)) === undefined);
  });
});

it("a cluster's region and platform are known by its claims", async () => {
  const { apiVersion, kind } = CLAIMS;
  for (const [id, value] of [
    ["region", "north"],
    ["platform", "metal"],
  ]) {
    const metadata = { name: `${id}.open-cluster-management.io` };
    await world.member("member1").apply(CLAIMS, { apiVersion, kind, metadata, spec: { value } }, MANAGER);
  }
  await world.until("the hub has them", async () => {
    const facts = readManagedCluster(await world.hub.get(MANAGED_CLUSTERS, { name: "member1" }));
    return (facts?.region === "north" && facts.provider === "metal") || JSON.stringify(facts);
  });
});
