import { afterEach, beforeEach, expect, it } from "vitest";
import { SchemaCache } from "../apiserver/index.ts";
import { type KubeObject, resource } from "../kube/index.ts";
import { isJsonObject, type JsonObject, seededRandom, silentLog } from "../runtime/index.ts";
import { type Database, type SimulatedApplication, startXline } from "./database/index.ts";
import { World } from "./testing/world.ts";

const schemas = new SchemaCache();
const DEFINITIONS = resource({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  plural: "customresourcedefinitions",
  namespaced: false,
});
const DEFINITION = { name: "xlineclusters.apps.my.io" };
const AT = { name: "xline", namespace: "default" };

let world: World;
let database: Database<SimulatedApplication>;

beforeEach(async () => {
  world = new World(31, { schemas });
  await world.start();
  const parts = { fleet: world.fleet, clock: world.clock, random: seededRandom(32), log: silentLog };
  database = await world.ask(startXline(parts));
});
afterEach(async () => {
  await world.ask(database.stop());
  await world.stop();
});

async function apply(image: string): Promise<void> {
  const template = { apiVersion: "apps.my.io/v1alpha1", kind: "XlineCluster" };
  await world.apply({
    apiVersion: "apps.karmada.io/v1alpha1",
    kind: "CrossClusterStatefulset",
    metadata: AT,
    spec: {
      resourceSelector: { ...template, ...AT },
      completion: { protocol: "Contract" },
      topology: { clusters: ["member1", "member3"].map((name) => ({ name, replicas: 1 })) },
    },
  });
  await world.until("the hold is in place", () => world.status("xline").observedGeneration !== undefined);
  await world.apply({ ...template, metadata: AT, spec: { replicas: 2, image } });
}

function rowOf(cluster: string): JsonObject {
  const { clusters } = world.status("xline");
  const rows = Array.isArray(clusters) ? clusters.filter(isJsonObject) : [];
  return rows.find(({ name }) => name === cluster) ?? {};
}

it("a cluster that does not serve the workload's kind is named with its answer", async () => {
  await world.ask(world.fleet.client("member3").delete(DEFINITIONS, DEFINITION));
  await apply("xline:1");
  await world.until("member3 says why", () => rowOf("member3").reason === "ClusterUnreachable");
  expect(rowOf("member3").message).toMatch(/can be read there: .*xlineclusters.*lockstep doctor/s);
});

it("a refusal of a cluster's own API server appears in the reason of its waiting grant", async () => {
  await apply("xline:1");
  await world.until("it is settled", () => world.isSettled("xline", 2));
  const client = world.fleet.client("member3");
  const definition = await world.ask(client.get(DEFINITIONS, DEFINITION));
  await world.ask(client.update(DEFINITIONS, withShortImages(definition)));
  await apply("registry.example.com/xline:2");
  await world.until("member3 says why", () => String(rowOf("member3").message).includes("refused"));
  expect(rowOf("member3")).toMatchObject({ reason: "WaitingForDelivery" });
  expect(rowOf("member3").message).toMatch(/the cluster refused XlineCluster default\/xline: .*spec\.image/s);
});

function withShortImages(definition: KubeObject): KubeObject {
  return JSON.parse(
    JSON.stringify(definition).replace('"image":{"type":"string"', '"image":{"type":"string","maxLength":10'),
  );
}
