import { afterEach, expect, it } from "vitest";
import { SchemaCache } from "../apiserver/index.ts";
import { KubeClient, type KubeObject, MIN_STREAMS, StreamBudget } from "../kube/index.ts";
import { isJsonObject, type JsonObject, seededRandom } from "../runtime/index.ts";
import { World } from "./testing/world.ts";

const schemas = new SchemaCache();
const MEMBERS = ["member1", "member2"];
const TENANTS = Array.from({ length: 12 }, (_, index) => `tenant-${index}`);

let world: World;
afterEach(() => world.stop());

/** The fleet, with a controller whose streams are counted. */
async function begin(limit?: number): Promise<StreamBudget> {
  world = new World(51, { schemas, members: MEMBERS });
  await world.clock.run(world.fleet.start());
  const streams = new StreamBudget({ limit });
  const { clock } = world;
  const transport = world.fleet.hub.transport();
  world.startController(undefined, new KubeClient({ transport, clock, random: seededRandom(52), streams }));
  return streams;
}

async function deploy(namespace: string, spec: JsonObject = {}): Promise<void> {
  const metadata = { name: "web", namespace };
  await world.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  await configure(namespace, "1");
  await world.apply({
    apiVersion: "apps.karmada.io/v1alpha1",
    kind: "CrossClusterStatefulset",
    metadata,
    spec: {
      resourceSelector: { apiVersion: "apps/v1", kind: "StatefulSet", ...metadata },
      topology: { clusters: MEMBERS.map((name) => ({ name, replicas: 1 })) },
      ...spec,
    },
  });
  const container = { name: "web", image: "web:1", envFrom: [{ configMapRef: { name: "web" } }] };
  await world.apply({
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { ...metadata, labels: { "lockstep.karmada.io/managed": "true" } },
    spec: {
      replicas: 2,
      serviceName: "web",
      selector: { matchLabels: { app: "web" } },
      template: { metadata: { labels: { app: "web" } }, spec: { containers: [container] } },
    },
  });
}

const configure = (namespace: string, value: string) =>
  world.apply({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "web", namespace }, data: { value } });

function statusOf(namespace: string): JsonObject {
  const status = world.fleet.hubObject("apps.karmada.io/crossclusterstatefulsets", namespace, "web")?.status;
  return isJsonObject(status) ? status : {};
}

const isSettled = (namespace: string) => statusOf(namespace).phase === "Settled";
const delivered = (namespace: string): (KubeObject | undefined)[] =>
  MEMBERS.map((name) => world.fleet.member(name).api.get("/configmaps", namespace, "web"));

it("many tenants share one watch for each kind, and the edit of a ConfigMap moves only its own application", async () => {
  const streams = await begin();
  for (const tenant of TENANTS) await deploy(tenant);
  await world.until("all are settled", () => TENANTS.every(isSettled));
  const { objects, members } = streams.usage().lanes;
  expect(objects.kinds).toEqual({
    "apps/v1/StatefulSet": { open: 1, waiting: 0 },
    "v1/ConfigMap": { open: 1, waiting: 0 },
    "v1/Namespace": { open: 1, waiting: 0 },
  });
  expect(members.open).toBe(2 * MEMBERS.length);

  const revisions = () => TENANTS.map((tenant) => statusOf(tenant).currentRevision);
  const before = revisions();
  await configure("tenant-3", "2");
  await world.until("the edit has arrived", () =>
    delivered("tenant-3").every((map) => isJsonObject(map?.data) && map.data.value === "2"),
  );
  await world.until("all are settled", () => TENANTS.every(isSettled));
  expect(revisions().flatMap((revision, index) => (revision === before[index] ? [] : [TENANTS[index]]))).toEqual([
    "tenant-3",
  ]);
});

it("a cluster without a free stream is named and awaited, and is never lost", async () => {
  const streams = await begin(MIN_STREAMS);
  const { limit } = streams.usage().lanes.members;
  const failover = { policy: "Replace", afterSeconds: 60 };
  await deploy("tenant-0", { failover });
  await world.until("it is settled", () => isSettled("tenant-0"));
  await world.stopController();

  const full = new StreamBudget({ limit: MIN_STREAMS });
  const never = new AbortController().signal;
  const claim = { lane: "members", kind: "Other", weight: () => 100 } as const;
  const seats = await Promise.all(Array.from({ length: limit }, () => full.take(claim, never, () => {})));
  const { clock } = world;
  const transport = world.fleet.hub.transport();
  world.startController(undefined, new KubeClient({ transport, clock, random: seededRandom(53), streams: full }));
  await clock.advance(30 * 60_000);
  const text = JSON.stringify(statusOf("tenant-0"));
  expect(text).toContain("ClusterUnreachable");
  expect(text).toContain(`no free stream: all ${limit} streams for members are in use`);
  expect(text).not.toContain("Lost");

  for (const seat of seats) seat.release();
  await world.until("it is settled", () => isSettled("tenant-0"));
});
