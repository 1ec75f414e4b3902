import { afterEach, expect, it } from "vitest";
import { ApiServer } from "../apiserver/index.ts";
import { type HttpRequest, type HttpStream, seededRandom, type Transport, TransportError } from "../runtime/index.ts";
import { VirtualClock } from "../runtime/testing/virtual-clock.ts";
import { KubeClient } from "./client.ts";
import { Election } from "./election.ts";
import { AlreadyExistsError, ConflictError, ExpiredError, InvalidObjectError, NotFoundError } from "./errors.ts";
import { EventRecorder } from "./events.ts";
import { type KubeObject, withoutManagedFields } from "./object.ts";
import { Reflector } from "./reflector.ts";
import { resource } from "./resource.ts";
import { configMap, configMaps, leases } from "./testing/resources.ts";

// Everything in this room against an API server that was written independently.

const stops: AbortController[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop.abort(new Error("test over"));
});

/** Breaks open streams on demand. */
class Breakable implements Transport {
  readonly #inner: Transport;
  readonly #open = new Set<AbortController>();
  constructor(inner: Transport) {
    this.#inner = inner;
  }
  request(request: HttpRequest) {
    return this.#inner.request(request);
  }
  async stream(request: HttpRequest): Promise<HttpStream> {
    const cut = new AbortController();
    this.#open.add(cut);
    request.signal?.addEventListener("abort", () => cut.abort(request.signal?.reason), { once: true });
    return this.#inner.stream({ ...request, signal: cut.signal });
  }
  breakStreams(): void {
    for (const cut of this.#open) cut.abort(new TransportError("connection reset"));
    this.#open.clear();
  }
}

function setUp() {
  const clock = new VirtualClock();
  const server = new ApiServer({ clock, random: seededRandom(1), limits: { historyEvents: 100 } });
  const transport = new Breakable(server.transport());
  const client = new KubeClient({ transport, clock, random: seededRandom(2) });
  const stop = new AbortController();
  stops.push(stop);
  return { clock, server, transport, client, stop };
}

const state = (objects: readonly KubeObject[]) =>
  objects.map((object) => `${object.metadata.name}@${object.metadata.resourceVersion}`).sort();

it("writes, preconditions and errors are as the client expects them", async () => {
  const { client } = setUp();
  const created = await client.create(configMaps, configMap("a", { x: "1" }));
  await expect(client.create(configMaps, configMap("a"))).rejects.toThrow(AlreadyExistsError);
  const updated = await client.update(configMaps, { ...created, data: { x: "2" } });
  await expect(client.update(configMaps, { ...created, data: { x: "3" } })).rejects.toThrow(ConflictError);
  const merged = await client.patch(configMaps, updated.metadata, {
    type: "merge",
    body: { metadata: { resourceVersion: updated.metadata.resourceVersion }, data: { y: "1" } },
  });
  expect(merged.data).toEqual({ x: "2", y: "1" });
  const tested = client.patch(configMaps, updated.metadata, {
    type: "json",
    operations: [
      { op: "test", path: "/metadata/resourceVersion", value: "1" },
      { op: "add", path: "/data/z", value: "1" },
    ],
  });
  await expect(tested).rejects.toThrow();
  await expect(client.create(configMaps, configMap("Not A Name"))).rejects.toThrow();
  await expect(client.create(configMaps, configMap("UPPER"))).rejects.toThrow(InvalidObjectError);
  const dry = await client.create(configMaps, configMap("dry"), { dryRun: true });
  expect(await client.find(configMaps, dry.metadata)).toBeUndefined();
  const wrongUid = client.delete(configMaps, merged.metadata, { preconditions: { uid: "other" } });
  await expect(wrongUid).rejects.toThrow(ConflictError);
  const uid = merged.metadata.uid ?? "";
  expect(await client.delete(configMaps, merged.metadata, { preconditions: { uid } })).toBeUndefined();
  await expect(client.get(configMaps, merged.metadata)).rejects.toThrow(NotFoundError);
});

it("server-side apply keeps other managers' fields and reports conflicts with their owner", async () => {
  const { client } = setUp();
  await client.apply(configMaps, configMap("a", { mine: "1" }), { fieldManager: "one" });
  const both = await client.apply(configMaps, configMap("a", { theirs: "1" }), { fieldManager: "two" });
  expect(both.data).toEqual({ mine: "1", theirs: "1" });
  const conflict = client.apply(configMaps, configMap("a", { mine: "2" }), { fieldManager: "two" });
  await expect(conflict).rejects.toThrow(/one/);
  const forced = await client.apply(configMaps, configMap("a", { mine: "2" }), { fieldManager: "two", force: true });
  expect(forced.data).toEqual({ mine: "2" });
});

it("discovery, scale, status and field selectors are as the client expects them", async () => {
  const { client } = setUp();
  const statefulSets = await client.discovery.resource("apps/v1", "StatefulSet");
  expect(statefulSets).toMatchObject({ plural: "statefulsets", namespaced: true });
  const labels = { app: "db" };
  const template = { metadata: { labels }, spec: { containers: [{ name: "c", image: "i" }] } };
  const created = await client.create(statefulSets, {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { name: "db", namespace: "default" },
    spec: { replicas: 1, serviceName: "db", selector: { matchLabels: labels }, template },
  });
  expect((await client.setScale(statefulSets, created.metadata, 3)).specReplicas).toBe(3);
  const current = await client.get(statefulSets, created.metadata);
  const status = { ...current, status: { replicas: 3 } };
  expect((await client.update(statefulSets, status, { subresource: "status" })).status).toMatchObject({ replicas: 3 });
  expect((await client.getScale(statefulSets, created.metadata)).statusReplicas).toBe(3);
  const named = await client.listAll(statefulSets, { fieldSelector: "metadata.name=db" });
  expect(named.items).toHaveLength(1);
});

it("a reflector follows the server through broken streams and versions that are too old", async () => {
  const { clock, transport, client, stop } = setUp();
  const reflector = new Reflector({
    client,
    resource: configMaps,
    clock,
    random: seededRandom(3),
    freeze: true,
    pageObjects: 3,
  });
  for (let index = 0; index < 10; index++) await client.create(configMaps, configMap(`c${index}`));
  void reflector.run(stop.signal);
  await clock.settle();
  expect(reflector.cache.size).toBe(10);
  for (let round = 0; round < 5; round++) {
    transport.breakStreams();
    for (let index = 0; index < 30 * round; index++) {
      const name = { namespace: "default", name: `c${index % 10}` };
      await client.patch(configMaps, name, { type: "merge", body: { data: { round: `${round}.${index}` } } });
    }
    await client.delete(configMaps, { namespace: "default", name: `c${round}` });
    await clock.advance(60_000);
    expect(state(reflector.cache.list())).toEqual(state((await client.listAll(configMaps)).items));
    await client.create(configMaps, configMap(`c${round}`));
  }
  // With 100 events of history and 120 writes in a break, some watch must have found its version gone.
  expect(reflector.health.lists).toBeGreaterThan(1);
  expect(reflector.health.watches).toBeGreaterThan(3);
});

it("a list that takes too long expires", async () => {
  const { client } = setUp();
  for (let index = 0; index < 10; index++) await client.create(configMaps, configMap(`c${index}`));
  const slowly = async () => {
    for await (const item of client.list(configMaps, { limit: 2 })) {
      for (let index = 0; index < 150; index++) {
        const body = { data: { x: `${item.metadata.name}.${index}` } };
        await client.patch(configMaps, { namespace: "default", name: "c9" }, { type: "merge", body });
      }
    }
  };
  await expect(slowly()).rejects.toThrow(ExpiredError);
});

it("own writes are visible at once, and the watch confirms them", async () => {
  const { clock, client, stop } = setUp();
  const { cache, run } = (() => {
    const reflector = new Reflector({ client, resource: configMaps, clock, random: seededRandom(3), freeze: true });
    return { cache: reflector.cache, run: reflector.run(stop.signal) };
  })();
  await cache.synced();
  const written = await client.create(configMaps, configMap("a", { x: "1" }));
  cache.wrote(written);
  expect(cache.get(written.metadata)).toEqual(withoutManagedFields(written));
  await clock.run(cache.waitFor(written.metadata.resourceVersion ?? ""));
  stop.abort(new Error("over"));
  await run;
});

it("two candidates take turns at a lease, and events arrive where kubectl describe looks", async () => {
  const { clock, client, stop } = setUp();
  const log: string[] = [];
  const runs = ["a", "b"].map((identity, index) => {
    const own = new AbortController();
    stops.push(own);
    const random = seededRandom(10 + index);
    const election = new Election({ client, clock, random, namespace: "default", name: "leader", identity });
    const done = election.run(own.signal, async (leadership) => {
      log.push(`${identity} leads term ${leadership.term}`);
      await new Promise((resolve) => leadership.signal.addEventListener("abort", resolve, { once: true }));
    });
    return { own, done };
  });
  await clock.advance(60_000);
  runs[0]?.own.abort(new Error("over"));
  await clock.advance(5_000);
  expect(log).toEqual(["a leads term 1", "b leads term 2"]);
  const lease = await client.get(leases, { namespace: "default", name: "leader" });
  expect(lease.spec).toMatchObject({ leaseTransitions: 2, holderIdentity: expect.stringMatching(/^b_/) });

  const recorder = new EventRecorder({ client, clock, random: seededRandom(5), component: "test", instance: "t-0" });
  void recorder.run(stop.signal);
  for (let round = 0; round < 2; round++) {
    recorder.record(lease, { type: "Normal", reason: "Elected", message: "b leads" });
    await clock.advance(1_000);
  }
  const events = resource({ apiVersion: "v1", kind: "Event", plural: "events", namespaced: true });
  const fieldSelector = `involvedObject.name=leader,involvedObject.uid=${lease.metadata.uid}`;
  const found = await client.listAll(events, { namespace: "default", fieldSelector });
  expect(found.items).toMatchObject([{ reason: "Elected", count: 2, message: "b leads" }]);
});
