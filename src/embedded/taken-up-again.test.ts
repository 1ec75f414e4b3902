/** An application whose object was deleted is adopted again with the same manifest, and nothing moves. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { SchemaCache } from "../apiserver/index.ts";
import { ANNOTATIONS } from "../contract/index.ts";
import type { KubeObject } from "../kube/index.ts";
import { isJsonObject, type JsonObject, seededRandom, silentLog } from "../runtime/index.ts";
import { type Database, type SimulatedApplication, startXline } from "./database/index.ts";
import { CROSS_CLUSTER_STATEFULSETS, World } from "./testing/world.ts";

const schemas = new SchemaCache();
const MEMBERS = ["member1", "member2", "member3"];
const AT = { namespace: "default", name: "web" };

let world: World;
let database: Database<SimulatedApplication> | undefined;

beforeEach(async () => {
  world = new World(61, { schemas, members: MEMBERS });
  await world.start();
});
afterEach(async () => {
  if (database) await world.ask(database.stop());
  database = undefined;
  await world.stop();
});

const config = (value: string): KubeObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "conf", namespace: "default" },
  data: { key: value },
});

function statefulSet(image: string): KubeObject {
  const labels = { app: "web" };
  const volumes = [{ name: "conf", configMap: { name: "conf" } }];
  return {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { ...AT, labels: { "lockstep.karmada.io/managed": "true" } },
    spec: {
      replicas: 5,
      serviceName: "web",
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: "app", image }], volumes } },
    },
  };
}

function crossCluster(sizes: Readonly<Record<string, number>>, spec: JsonObject = {}): KubeObject {
  return {
    apiVersion: "apps.karmada.io/v1alpha1",
    kind: "CrossClusterStatefulset",
    metadata: AT,
    spec: {
      resourceSelector: { apiVersion: "apps/v1", kind: "StatefulSet", name: "web" },
      topology: { clusters: Object.entries(sizes).map(([name, replicas]) => ({ name, replicas })) },
      ...spec,
    },
  };
}

const SIZES = { member1: 2, member2: 2, member3: 1 };
const STATEFULSETS = "apps/statefulsets";

function copies(resource = STATEFULSETS): KubeObject[] {
  return MEMBERS.flatMap((name) => world.fleet.member(name).api.get(resource, "default", "web") ?? []);
}

/** What must not change: the objects, their pods, and what the pods run. */
function running(resource = STATEFULSETS): string[] {
  const objects = copies(resource).map(({ metadata }) => `${metadata.uid} ${metadata.generation}`);
  const pods = MEMBERS.flatMap((name) => world.fleet.member(name).api.list("/pods"));
  return [...objects, ...pods.map(({ metadata }) => `${metadata.name} ${metadata.uid}`)].sort();
}

const epochs = (resource = STATEFULSETS) =>
  copies(resource).map(({ metadata }) => Number(metadata.annotations?.[ANNOTATIONS.epoch]));

function ordinals(): JsonObject {
  const { clusters } = world.status("web");
  const rows = Array.isArray(clusters) ? clusters.filter(isJsonObject) : [];
  return Object.fromEntries(rows.map((row) => [String(row.name), row.ordinals ?? []]));
}

const settled = (replicas = 5) => world.until("it is settled", () => world.isSettled("web", replicas));

async function release(): Promise<void> {
  await world.ask(world.hub.delete(CROSS_CLUSTER_STATEFULSETS, AT));
  await world.until("the object is gone", () => world.statefulset("web") === undefined);
}

async function deploy(): Promise<void> {
  await world.apply(config("one"));
  await world.apply(crossCluster(SIZES));
  await world.apply(statefulSet("app:1"));
  await settled();
}

describe("kubectl delete ccs web, then the same manifest again", () => {
  it("is adopted with its ordinals: the same objects, generations and pods, and increasing epochs", async () => {
    await deploy();
    const before = { running: running(), ordinals: ordinals(), epochs: epochs() };
    await release();
    await world.apply(crossCluster(SIZES));
    await settled();
    expect(running()).toEqual(before.running);
    expect(ordinals()).toEqual(before.ordinals);
    for (const [at, epoch] of epochs().entries()) expect(epoch).toBeGreaterThan(before.epochs[at] ?? 0);
    expect(world.status("web").reason).toBeUndefined();
  });

  it("continues with updates and growth as before", async () => {
    await deploy();
    await release();
    await world.apply(crossCluster(SIZES));
    await settled();
    await world.apply(statefulSet("app:2"));
    await world.apply(crossCluster({ ...SIZES, member3: 2 }));
    await settled(6);
    expect(ordinals()).toEqual({ member1: [0, 1], member2: [100, 101], member3: [200, 201] });
  });

  it("keeps each cluster's index when the manifest lists them in another order", async () => {
    await deploy();
    const before = ordinals();
    await release();
    await world.apply(crossCluster({ member3: 1, member2: 2, member1: 2 }));
    await settled();
    expect(ordinals()).toEqual(before);
  });

  it("waits for a user if the template was edited meanwhile, and moves nothing until then", async () => {
    await deploy();
    const before = running();
    await release();
    await world.apply(statefulSet("app:2"));
    await world.apply(crossCluster(SIZES));
    await world.until("it reports what differs", () => world.status("web").reason === "AdoptedWithDifferences");
    expect(running()).toEqual(before);
    await world.apply(crossCluster(SIZES, { resumedAt: "2030-01-01T00:00:00Z" }));
    await settled();
    expect(world.status("web").updatedReplicas).toBe(5);
  });

  it("counts the instances of a cluster that the manifest no longer names, and drains it only after a user's confirmation", async () => {
    await deploy();
    await release();
    await world.apply(crossCluster({ member1: 2, member2: 2 }));
    await world.until("it reports what differs", () => world.status("web").reason === "AdoptedWithDifferences");
    expect(ordinals()).toEqual({ member1: [0, 1], member2: [100, 101], member3: [200] });
    expect(copies()).toHaveLength(3);
  });

  it("is also adopted when the finalizer was removed by force and everything else was left behind", async () => {
    await deploy();
    const before = running();
    await world.stopController();
    const object = world.statefulset("web");
    if (!object) throw new Error("no object");
    const metadata = { ...object.metadata, finalizers: [] };
    await world.ask(world.hub.update(CROSS_CLUSTER_STATEFULSETS, { ...object, metadata }));
    await world.ask(world.hub.delete(CROSS_CLUSTER_STATEFULSETS, AT));
    world.startController();
    await world.apply(crossCluster(SIZES));
    await settled();
    expect(running()).toEqual(before);
  });

  it("does not touch an object that only a member's tenant has created", async () => {
    const labels = { app: "web" };
    const own = statefulSet("other:1");
    await world.ask(
      world.fleet.client("member2").create(
        {
          apiVersion: "apps/v1",
          kind: "StatefulSet",
          plural: "statefulsets",
          namespaced: true,
          parse: (each) => each,
        },
        { ...own, metadata: { ...AT, labels } },
      ),
    );
    await world.apply(config("one"));
    await world.apply(crossCluster(SIZES));
    await world.apply(statefulSet("app:1"));
    const rows = () => JSON.stringify(world.status("web"));
    await world.until("it is named", () => rows().includes("UnknownObject"));
    const untouched = world.fleet.member("member2").api.get(STATEFULSETS, "default", "web");
    expect(untouched?.spec).toMatchObject({ template: { spec: { containers: [{ image: "other:1" }] } } });
  });
});

describe("an application with an operator on the contract", () => {
  const XLINES = "apps.my.io/xlineclusters";
  const xline = (spec: JsonObject): KubeObject => ({
    ...crossCluster(SIZES, { completion: { protocol: "Contract" }, ...spec }),
    metadata: AT,
  });

  it("is adopted with its ordinals in mode Dense, and keeps its token", async () => {
    const parts = { fleet: world.fleet, clock: world.clock, random: seededRandom(62), log: silentLog };
    database = await world.ask(startXline(parts));
    const selector = { resourceSelector: { apiVersion: "apps.my.io/v1alpha1", kind: "XlineCluster", name: "web" } };
    await world.apply(xline(selector));
    await world.until("it waits for its template", () => world.status("web").reason === "TemplateMissing");
    const template = { apiVersion: "apps.my.io/v1alpha1", kind: "XlineCluster", metadata: AT };
    await world.apply({ ...template, spec: { replicas: 5, image: "xline:1" } });
    await settled();
    const token = () => copies(XLINES).map(({ metadata }) => metadata.annotations?.[ANNOTATIONS.clusterToken]);
    const before = { running: running(XLINES), ordinals: ordinals(), token: token() };
    await release();
    await world.apply(xline(selector));
    await settled();
    expect(running(XLINES)).toEqual(before.running);
    expect(ordinals()).toEqual(before.ordinals);
    expect(token()).toEqual(before.token);
    await world.apply({ ...template, spec: { replicas: 5, image: "xline:2" } });
    await world.until(
      "an update goes through",
      () => world.isSettled("web", 5) && world.status("web").updatedReplicas === 5,
    );
    expect(database.application("default/web").quorumLosses).toBe(0);
  });
});
