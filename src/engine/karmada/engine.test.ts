import { afterEach, beforeEach, expect, it } from "vitest";
import { KubeClient, type KubeObject, MIN_STREAMS, StreamBudget } from "../../kube/index.ts";
import { FakeApi, type SeenRequest, status } from "../../kube/testing/fake-api.ts";
import { type HttpRequest, seededRandom, type Transport } from "../../runtime/index.ts";
import { VirtualClock } from "../../runtime/testing/virtual-clock.ts";
import { MARKS } from "../marks.ts";
import type { EngineApp } from "../port.ts";
import { STATEFULSETS, statefulSet } from "../testing/contract/index.ts";
import { KarmadaEngine } from "./engine.ts";
import { BINDING_ID, CLUSTERS, RESOURCE_BINDINGS, WORKS } from "./resources.ts";
import { workFor } from "./works.ts";

const APP: EngineApp = {
  namespace: "default",
  name: "db",
  template: { apiVersion: "apps/v1", kind: "StatefulSet", namespace: "default", name: "db" },
};
const PROXY = "/apis/cluster.karmada.io/v1alpha1/clusters/east/proxy";
const KINDS: Record<string, object> = {
  "/apis/apps/v1": { resources: [{ name: "statefulsets", kind: "StatefulSet", namespaced: true }] },
  "/api/v1": { resources: [{ name: "pods", kind: "Pod", namespaced: true }] },
};

let stop = new AbortController();
let clock = new VirtualClock();
let hub = new FakeApi({ clock });
let member = new FakeApi({ clock });

beforeEach(() => {
  stop = new AbortController();
  clock = new VirtualClock();
  hub = new FakeApi({ clock });
  member = new FakeApi({ clock });
});

afterEach(async () => {
  stop.abort();
  await clock.settle();
});

/** The hub: it lists the kinds, and forwards requests for its one cluster. */
const transport: Transport = {
  async request(request) {
    const kinds = KINDS[request.path];
    if (kinds) return { status: 200, headers: {}, body: JSON.stringify({ kind: "APIResourceList", ...kinds }) };
    return isForMember(request) ? member.request(passedOn(request)) : hub.request(request);
  },
  stream: (request) => (isForMember(request) ? member.stream(passedOn(request)) : hub.stream(request)),
};
const isForMember = ({ path }: HttpRequest) => path.startsWith(PROXY);
const passedOn = (request: HttpRequest) => ({ ...request, path: request.path.slice(PROXY.length) });

function cluster(ready: "True" | "False", minute: number): KubeObject {
  const lastTransitionTime = new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString();
  return {
    apiVersion: CLUSTERS.apiVersion,
    kind: CLUSTERS.kind,
    metadata: { name: "east" },
    status: { conditions: [{ type: "Ready", status: ready, lastTransitionTime }] },
  };
}

const scaled = (replicas: number) => statefulSet("db", replicas, "app:1");

/** The engine on a fleet of one Ready cluster with the StatefulSet in it, after `afterMs`. */
async function started(
  afterMs: number,
  streams = new StreamBudget(),
): Promise<{ engine: KarmadaEngine; seen: () => string; told: () => number }> {
  hub.put(CLUSTERS, cluster("True", 0));
  member.put(STATEFULSETS, scaled(3));
  const random = seededRandom(1);
  const engine = new KarmadaEngine({ hub: new KubeClient({ transport, clock, random, streams }), clock, random });
  let told = 0;
  void engine.run(stop.signal);
  engine.track(APP, () => told++);
  await clock.advance(afterMs);
  const seen = () => {
    const snapshot = engine.snapshot(APP, "east");
    if (snapshot.kind === "unreachable") return `${snapshot.isBlind ? "blind" : "unreachable"}: ${snapshot.message}`;
    if (snapshot.kind === "absent") return "absent";
    return `${(snapshot.object.spec as { replicas: number }).replicas} replicas, ${snapshot.pods?.length ?? "unknown"} pods`;
  };
  return { engine, seen, told: () => told };
}

it("each of two applications that track one object is notified of it, also after the other has gone", async () => {
  hub.put(CLUSTERS, cluster("True", 0));
  const random = seededRandom(1);
  const engine = new KarmadaEngine({ hub: new KubeClient({ transport, clock, random }), clock, random });
  void engine.run(stop.signal);
  const told = { first: 0, second: 0 };
  const second = { ...APP, name: "second" };
  engine.track(APP, () => told.first++);
  engine.track(second, () => told.second++);
  await clock.advance(2_000);
  const heard = async (replicas: number) => {
    const before = { ...told };
    member.put(STATEFULSETS, scaled(replicas));
    await clock.settle();
    return { first: told.first > before.first, second: told.second > before.second };
  };
  expect(await heard(3)).toEqual({ first: true, second: true });
  engine.untrack(second);
  expect(await heard(4)).toEqual({ first: true, second: false });
});

it("a rival counts until it is gone, because Karmada writes its content once more during its deletion", async () => {
  const rival = (metadata: Partial<KubeObject["metadata"]>): KubeObject => ({
    apiVersion: WORKS.apiVersion,
    kind: WORKS.kind,
    metadata: {
      name: "theirs",
      namespace: "karmada-es-east",
      finalizers: ["karmada.io/execution-controller"],
      ...metadata,
    },
    spec: { preserveResourcesOnDeletion: true, workload: { manifests: [scaled(3)] } },
  });
  const random = seededRandom(1);
  const engine = new KarmadaEngine({ hub: new KubeClient({ transport, clock, random }), clock, random });
  void engine.run(stop.signal);
  await clock.advance(2_000);
  const stateWith = async (work: KubeObject | undefined) => {
    if (work) hub.put(WORKS, work);
    else hub.remove(WORKS, { namespace: "karmada-es-east", name: "theirs" });
    await clock.advance(1_000);
    return (await clock.run(engine.hold(APP))).kind;
  };
  const deletionTimestamp = "2026-01-01T00:00:00Z";
  expect(await stateWith(rival({}))).toBe("unsafe");
  expect(await stateWith(rival({ deletionTimestamp }))).toBe("unsafe");
  // A Work that we ended ourselves, to adopt what it delivered, describes what runs.
  expect(await stateWith(rival({ deletionTimestamp, annotations: { [MARKS.adopted]: "true" } }))).toBe("held");
  expect(await stateWith(rival({ annotations: { [MARKS.adopted]: "true" } }))).toBe("unsafe");
  expect(await stateWith(undefined)).toBe("held");
});

it("an adoption continues when Karmada has ended its own Work, because it writes its content once more until then", async () => {
  const labels = { [BINDING_ID]: "id" };
  const name = { namespace: "karmada-es-east", name: "db-rendered" };
  const binding: KubeObject = {
    apiVersion: RESOURCE_BINDINGS.apiVersion,
    kind: RESOURCE_BINDINGS.kind,
    metadata: { namespace: "default", name: "db-statefulset", labels },
    spec: { resource: { ...APP.template } },
  };
  hub.put(RESOURCE_BINDINGS, binding);
  hub.put(WORKS, {
    apiVersion: WORKS.apiVersion,
    kind: WORKS.kind,
    metadata: { ...name, labels, finalizers: ["karmada.io/execution-controller"] },
    spec: { workload: { manifests: [scaled(3)] } },
  });
  const { engine } = await started(2_000);
  let isAdopted = false;
  const adoption = engine.adopt(APP, "east").then(() => {
    isAdopted = true;
  });
  await clock.advance(2_000);
  expect(isAdopted).toBe(false);
  expect(hub.remove(WORKS, name)).toMatchObject({
    metadata: { deletionTimestamp: expect.any(String) },
    spec: { preserveResourcesOnDeletion: true },
  });
  await clock.advance(1_000);
  expect(isAdopted).toBe(true);
  await adoption;
});

it("a Work with our label is a rival unless it has the name of our Work, because any user can write a label", async () => {
  const random = seededRandom(1);
  const engine = new KarmadaEngine({ hub: new KubeClient({ transport, clock, random }), clock, random });
  void engine.run(stop.signal);
  await clock.advance(2_000);
  const order = { cluster: "east", manifest: scaled(3), term: 1, notes: {}, expected: null };
  const own = workFor(APP, order, undefined);
  hub.put(WORKS, own);
  await clock.advance(1_000);
  expect((await clock.run(engine.hold(APP))).kind).toBe("held");
  hub.put(WORKS, { ...own, metadata: { ...own.metadata, name: "looks-like-ours" } });
  await clock.advance(1_000);
  expect(await clock.run(engine.hold(APP))).toMatchObject({
    kind: "unsafe",
    message: expect.stringContaining("Work karmada-es-east/looks-like-ours (cluster east"),
  });
});

const isOfPods = ({ path }: SeenRequest) => path.endsWith("/pods");

it("what was seen of a cluster before it returned does not count until the cluster is listed again", async () => {
  const { seen } = await started(2_000);
  expect(seen()).toBe("3 replicas, 0 pods");

  // Its watches deliver nothing, and no client notices.
  for (const watch of member.watches) watch.goSilent();
  member.fault = () => ({ kind: "slow", delayMs: 500 });
  member.put(STATEFULSETS, scaled(4));
  hub.put(CLUSTERS, cluster("False", 1));
  await clock.settle();
  hub.put(CLUSTERS, cluster("True", 2));
  await clock.settle();
  expect(seen()).toContain("unreachable: cluster east is back");
  await clock.advance(2_000);
  expect(seen()).toBe("4 replicas, 0 pods");

  // The cluster was unreachable and returned, and the hub's watch brought only the end of it.
  for (const watch of member.watches) watch.goSilent();
  member.put(STATEFULSETS, scaled(5));
  hub.put(CLUSTERS, cluster("True", 4));
  await clock.settle();
  expect(seen()).toContain("unreachable: cluster east is back");
  await clock.advance(2_000);
  expect(seen()).toBe("5 replicas, 0 pods");
});

it("a StatefulSet whose pods cannot be read is unreachable, because its status counts terminating pods as ready", async () => {
  member.fault = (request) => (isOfPods(request) ? { kind: "slow", delayMs: 5_000 } : undefined);
  const { seen, told } = await started(2_000);
  expect(seen()).toBe("unreachable: its pods cannot be read: Pod has not been listed yet in east");
  const before = told();
  await clock.advance(10_000);
  expect(seen()).toBe("3 replicas, 0 pods");
  expect(told()).toBeGreaterThan(before);

  member.fault = (request) => (isOfPods(request) ? { kind: "answer", status: 503 } : undefined);
  for (const watch of member.watches) if (isOfPods(watch.request)) watch.reset();
  await clock.advance(2_000);
  expect(seen()).toContain("unreachable: its pods cannot be read: ");
});

it("if the controller has no right to read pods, or loses it, the StatefulSet's status is used", async () => {
  const forbidden = { kind: "answer", status: 403, body: status(403, "pods is forbidden", "Forbidden") } as const;
  member.fault = (request) => (isOfPods(request) ? forbidden : undefined);
  const { seen, told } = await started(2_000);
  expect(seen()).toBe("3 replicas, unknown pods");

  member.fault = () => undefined;
  await clock.advance(60_000);
  expect(seen()).toBe("3 replicas, 0 pods");

  // First the connection breaks, then the right turns out to be missing.
  for (const watch of member.watches) if (isOfPods(watch.request)) watch.reset();
  member.fault = (request) => (isOfPods(request) ? { kind: "refuse" } : undefined);
  await clock.advance(2_000);
  expect(seen()).toContain("unreachable: its pods cannot be read: ");
  const before = told();
  member.fault = (request) => (isOfPods(request) ? forbidden : undefined);
  await clock.advance(60_000);
  expect(seen()).toBe("3 replicas, unknown pods");
  expect(told()).toBeGreaterThan(before);
});

it("the engine waits for a first list in progress; for a cluster that cannot be read it uses Karmada's copy", async () => {
  const order = { cluster: "east", manifest: scaled(3), term: 1, notes: {}, expected: null };
  const manifestStatuses = [{ identifier: { ordinal: 0 }, status: { readyReplicas: 3 } }];
  hub.put(WORKS, { ...workFor(APP, order, undefined), status: { manifestStatuses } });
  member.fault = (request) => (isOfPods(request) ? undefined : { kind: "hang" });
  const { seen } = await started(2_000);
  expect(seen()).toBe("unreachable: StatefulSet has not been listed yet in east");
  member.fault = () => ({ kind: "refuse" });
  await clock.advance(60_000);
  expect(seen()).toBe("3 replicas, unknown pods");
});

/** A budget with only this many free streams for members, and a function that closes those that took the others. */
async function budgetWith(left: number) {
  const streams = new StreamBudget({ limit: MIN_STREAMS });
  const { limit } = streams.usage().lanes.members;
  const take = () => streams.take({ lane: "members", kind: "Other", weight: () => 100 }, stop.signal, () => {});
  const seats = await Promise.all(Array.from({ length: limit - left }, take));
  return { streams, limit, free: (count: number) => seats.splice(0, count).map((seat) => seat.release()) };
}

it("a cluster without a free stream is blind, not unreachable, and is read as soon as a stream is free", async () => {
  const { streams, limit, free } = await budgetWith(0);
  const { seen, told } = await started(600_000, streams);
  expect(seen()).toBe(`blind: no free stream: all ${limit} streams for members are in use`);
  expect(member.requests).toEqual([]);
  expect(streams.usage().lanes.members).toMatchObject({
    waiting: 2,
    kinds: { "apps/v1/StatefulSet": { open: 0, waiting: 1 }, "v1/Pod": { open: 0, waiting: 1 } },
  });

  const before = told();
  free(1);
  await clock.advance(2_000);
  expect(seen()).toBe(`blind: its pods cannot be read: no free stream: all ${limit} streams for members are in use`);
  free(1);
  await clock.advance(2_000);
  expect(seen()).toBe("3 replicas, 0 pods");
  expect(told()).toBeGreaterThan(before);
});

it("a stream that has its seat and cannot reach its cluster is unreachable, not blind", async () => {
  const { streams, free } = await budgetWith(0);
  member.fault = () => ({ kind: "answer", status: 503 });
  const { seen } = await started(2_000, streams);
  expect(seen()).toContain("blind: ");
  free(2);
  await clock.advance(2_000);
  expect(seen()).toContain("unreachable: ");
  expect(seen()).toContain("503");
});

it("watches of the hub never take a stream from members", async () => {
  const { streams } = await budgetWith(2);
  const never = () => streams.take({ lane: "objects", kind: "ConfigMap" }, stop.signal, () => {});
  for (let index = 0; index < 5_000; index++) never().catch(() => {});
  const { seen } = await started(2_000, streams);
  expect(seen()).toBe("3 replicas, 0 pods");
});

it("a kind that no application needs any more is watched for another minute, so that an edit does not list everything again", async () => {
  const { engine, seen } = await started(2_000);
  const opened = () => member.requests.length;
  const before = opened();
  engine.untrack(APP);
  await clock.advance(30_000);
  engine.track(APP, () => {});
  await clock.advance(45_000);
  expect(opened()).toBe(before);
  expect(seen()).toBe("3 replicas, 0 pods");

  engine.untrack(APP);
  await clock.advance(61_000);
  expect(member.watches.size).toBe(0);
  expect(engine.streamCount).toBe(0);
  engine.track(APP, () => {});
  await clock.advance(2_000);
  expect(seen()).toBe("3 replicas, 0 pods");
});
