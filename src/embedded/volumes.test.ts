import { afterEach, describe, expect, it } from "vitest";
import { SchemaCache } from "../apiserver/index.ts";
import type { KubeObject } from "../kube/index.ts";
import { isJsonObject, type JsonObject } from "../runtime/index.ts";
import { CROSS_CLUSTER_STATEFULSETS, PodRecorder, World } from "./testing/world.ts";

const schemas = new SchemaCache();
const CLAIMS = "/persistentvolumeclaims";
const IDENTITY = { identity: { reuseVolumes: false } };

function crossCluster(sizes: Readonly<Record<string, number>>, spec: JsonObject): KubeObject {
  return {
    apiVersion: "apps.karmada.io/v1alpha1",
    kind: "CrossClusterStatefulset",
    metadata: { name: "web", namespace: "default" },
    spec: {
      resourceSelector: { apiVersion: "apps/v1", kind: "StatefulSet", name: "web", namespace: "default" },
      topology: { clusters: Object.entries(sizes).map(([name, replicas]) => ({ name, replicas })) },
      updateStrategy: { type: "RollingUpdate" },
      ...spec,
    },
  };
}

function template(): KubeObject {
  const resources = { requests: { storage: "1Gi" } };
  return {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { name: "web", namespace: "default" },
    spec: {
      replicas: 3,
      serviceName: "web",
      selector: { matchLabels: { app: "web" } },
      template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "web", image: "web:1" }] } },
      volumeClaimTemplates: [{ metadata: { name: "data" }, spec: { accessModes: ["ReadWriteOnce"], resources } }],
    },
  };
}

let world = new World(31, { schemas, members: ["member1", "member2"] });
afterEach(() => world.stop());

async function deploy(spec: JsonObject): Promise<void> {
  world = new World(31, { schemas, members: ["member1", "member2"] });
  await world.start();
  await world.apply(crossCluster({ member1: 2, member2: 1 }, spec));
  await world.until("the hold is in place", () => world.status("web").reason === "TemplateMissing");
  await world.apply(template());
  await world.until("three instances are settled", () => world.isSettled("web", 3));
}

function claims(): string[] {
  return world.fleet.memberNames.flatMap((member) =>
    world.fleet
      .member(member)
      .api.list(CLAIMS)
      .map(({ metadata }) => `${member}/${metadata.name}`)
      .sort(),
  );
}

/** A claim of another workload, whose name ends like a claim of web. */
async function addClaimOfMyWeb(): Promise<void> {
  const metadata = { name: "data-my-web-1", namespace: "default" };
  const claim = { apiVersion: "v1", kind: "PersistentVolumeClaim", metadata };
  await world.ask(world.fleet.member("member1").api.create({ ...claim, spec: { accessModes: ["ReadWriteOnce"] } }));
}

function waitsForVolume(): boolean {
  const { clusters } = world.status("web");
  return Array.isArray(clusters) && clusters.some((each) => isJsonObject(each) && each.reason === "VolumeSurvives");
}

describe("an ordinal whose volume may survive", () => {
  it("is reused only after the volume is seen to be gone", async () => {
    await deploy(IDENTITY);
    await addClaimOfMyWeb();
    await world.apply(crossCluster({ member1: 1, member2: 1 }, IDENTITY));
    await world.until("two instances are settled", () => world.isSettled("web", 2));
    expect(claims()).toContain("member1/data-web-1");
    await world.apply(crossCluster({ member1: 2, member2: 1 }, IDENTITY));
    await world.until("growth waits for the old volume", waitsForVolume);
    await world.clock.advance(60_000);
    expect(waitsForVolume()).toBe(true);

    const { api } = world.fleet.member("member1");
    const old = api.get(CLAIMS, "default", "data-web-1");
    if (old) await world.ask(api.delete(old));
    await world.until("it has grown", () => world.isSettled("web", 3));
    expect(claims()).toEqual([
      "member1/data-my-web-1",
      "member1/data-web-0",
      "member1/data-web-1",
      "member2/data-web-100",
    ]);
  });
});

describe("a teardown", () => {
  it("removes the instances from the last of the global order to the first", async () => {
    await deploy({ deletionPolicy: "Teardown" });
    const pods = new PodRecorder(world.fleet);
    await world.ask(world.hub.delete(CROSS_CLUSTER_STATEFULSETS, { namespace: "default", name: "web" }));
    await world.until("it is gone", () => world.statefulset("web") === undefined);
    expect(pods.gone).toEqual(["member2/web-100", "member1/web-1", "member1/web-0"]);
  });
});

describe("a teardown that deletes volumes", () => {
  it("deletes only its own", async () => {
    const spec = { deletionPolicy: "Teardown", retentionPolicy: { whenDeleted: "Delete" } };
    await deploy(spec);
    await addClaimOfMyWeb();
    await world.ask(world.hub.delete(CROSS_CLUSTER_STATEFULSETS, { namespace: "default", name: "web" }));
    await world.until("it is gone", () => world.statefulset("web") === undefined);
    expect(claims()).toEqual(["member1/data-my-web-1"]);
  });
});

describe("a StatefulSet that is torn down, and then the same manifest again", () => {
  const TEARDOWN = { deletionPolicy: "Teardown" };

  async function again(spec: JsonObject): Promise<void> {
    await deploy({ ...TEARDOWN, ...spec });
    await world.ask(world.hub.delete(CROSS_CLUSTER_STATEFULSETS, { namespace: "default", name: "web" }));
    await world.until("it is gone", () => world.statefulset("web") === undefined);
    expect(claims()).toEqual(["member1/data-web-0", "member1/data-web-1", "member2/data-web-100"]);
    await world.apply(crossCluster({ member1: 2, member2: 1 }, { ...TEARDOWN, ...spec }));
  }

  it("returns on its volumes, as in Kubernetes", async () => {
    await again({});
    await world.until("three instances are settled", () => world.isSettled("web", 3));
    expect(claims()).toHaveLength(3);
  });

  it("waits for a user if volumes may not be reused, and names the volume and the remedy", async () => {
    await again(IDENTITY);
    await world.until("it waits", waitsForVolume);
    expect(world.status("web")).toMatchObject({
      reason: "VolumeSurvives",
      message: expect.stringContaining("is left of an earlier deployment"),
    });
    for (const member of world.fleet.memberNames) {
      const { api } = world.fleet.member(member);
      for (const claim of api.list(CLAIMS)) await world.ask(api.delete(claim));
    }
    await world.until("three instances are settled", () => world.isSettled("web", 3));
  });
});
