import { afterEach, expect, it } from "vitest";
import { seededRandom } from "../runtime/index.ts";
import { VirtualClock } from "../runtime/testing/virtual-clock.ts";
import { KubeClient } from "./client.ts";
import type { KubeObject } from "./object.ts";
import { Reflector, type ReflectorFeed, type ReflectorOptions } from "./reflector.ts";
import { MIN_STREAMS, StreamBudget } from "./stream-budget.ts";
import { FakeApi, type OpenWatch, status } from "./testing/fake-api.ts";
import { configMap, configMaps } from "./testing/resources.ts";

const running: AbortController[] = [];
afterEach(() => {
  for (const abort of running.splice(0)) abort.abort(new Error("test over"));
});

function setUp(options: Partial<ReflectorOptions<KubeObject>> = {}) {
  const clock = new VirtualClock();
  const api = new FakeApi({ clock });
  const client = new KubeClient({ transport: api, clock, random: seededRandom(1) });
  const reflector = new Reflector({
    client,
    resource: configMaps,
    clock,
    random: seededRandom(2),
    freeze: true,
    ...options,
  });
  const abort = new AbortController();
  running.push(abort);
  const changes: string[] = [];
  reflector.cache.subscribe({
    added: (object) => changes.push(`+${object.metadata.name}`),
    updated: (object) => changes.push(`~${object.metadata.name}`),
    deleted: (object) => changes.push(`-${object.metadata.name}`),
  });
  const start = async () => {
    const done = reflector.run(abort.signal);
    await clock.settle();
    return { done };
  };
  const watch = (): OpenWatch => [...api.watches][0]!;
  const lists = () => api.requests.filter((request) => !request.query.has("watch"));
  const watchesFrom = () =>
    api.requests.filter((request) => request.query.has("watch")).map((request) => request.query.get("resourceVersion"));
  const names = () => reflector.cache.list().map((object) => object.metadata.name);
  return {
    clock,
    api,
    client,
    reflector,
    cache: reflector.cache,
    abort,
    changes,
    start,
    watch,
    lists,
    watchesFrom,
    names,
  };
}

it("a reflector lists in pages, then follows the watch", async () => {
  const { api, clock, cache, changes, start, lists } = setUp({ pageObjects: 2 });
  for (const name of ["a", "b", "c"]) api.put(configMaps, configMap(name));
  expect(cache.hasSynced).toBe(false);
  await start();
  expect(cache.hasSynced).toBe(true);
  expect(lists()).toHaveLength(2);
  api.put(configMaps, configMap("d"));
  api.put(configMaps, configMap("a", { x: "1" }));
  api.remove(configMaps, { namespace: "default", name: "b" });
  await clock.settle();
  expect(changes).toEqual(["+a", "+b", "+c", "+d", "~a", "-b"]);
  expect(cache.get({ namespace: "default", name: "a" })?.data).toEqual({ x: "1" });
  expect(cache.version).toBe(String(api.store.version));
});

it("a cached object cannot be changed in place, and carries no managed fields", async () => {
  const { api, cache, start } = setUp();
  const object = configMap("a", { x: "1" });
  api.put(configMaps, { ...object, metadata: { ...object.metadata, managedFields: [{ manager: "m" }] } });
  await start();
  expect(cache.hasSynced).toBe(true);
  const cached = cache.getByKey("default/a");
  expect(cached?.metadata.managedFields).toBeUndefined();
  expect(() => Object.assign(cached?.data ?? {}, { x: "2" })).toThrow(TypeError);
});

it("after a reset in the middle of a line the watch continues from the last complete event", async () => {
  const { api, clock, cache, start, watch, watchesFrom, lists } = setUp();
  await start();
  expect(cache.hasSynced).toBe(true);
  const seen = api.put(configMaps, configMap("a"));
  await clock.settle();
  watch().reset('{"type":"ADDED","object":{"metadata":{"na');
  const missed = api.put(configMaps, configMap("b"));
  await clock.advance(5_000);
  expect(cache.get(missed.metadata)).toBeDefined();
  expect(watchesFrom().at(-1)).toBe(seen.metadata.resourceVersion);
  expect(lists()).toHaveLength(1);
});

it("an event that is split into chunks anywhere is reassembled", async () => {
  const { clock, cache, start, watch } = setUp();
  await start();
  expect(cache.hasSynced).toBe(true);
  const object = {
    ...configMap("ä"),
    metadata: { name: "ä", namespace: "default", uid: "u", resourceVersion: "2000" },
  };
  for (const character of `${JSON.stringify({ type: "ADDED", object })}\n`) watch().sendText(character);
  await clock.settle();
  expect(cache.getByKey("default/ä")?.metadata.uid).toBe("u");
});

it("bookmarks advance the version, so that a quiet kind needs no new list", async () => {
  const { api, clock, cache, start, watch, watchesFrom, lists } = setUp();
  await start();
  expect(cache.hasSynced).toBe(true);
  for (let index = 0; index < 5; index++) api.store.put("/api/v1/secrets", configMap(`s${index}`), 0);
  watch().sendBookmark();
  await clock.settle();
  expect(cache.version).toBe(String(api.store.version));
  api.compactedVersion = api.store.version;
  watch().end();
  await clock.advance(5_000);
  expect(watchesFrom().at(-1)).toBe(String(api.store.version));
  expect(lists()).toHaveLength(1);
});

it("410 as the answer, or as an event in the stream, causes a new list, which reveals missed deletes", async () => {
  const { api, clock, cache, changes, start, watch, lists, names } = setUp();
  api.put(configMaps, configMap("a"));
  api.put(configMaps, configMap("b"));
  await start();
  expect(cache.hasSynced).toBe(true);
  watch().takeOver();
  api.remove(configMaps, { namespace: "default", name: "a" });
  watch().sendEvent("ERROR", status(410, "too old", "Expired"));
  await clock.advance(5_000);
  expect(changes.at(-1)).toBe("-a");
  expect(names()).toEqual(["b"]);
  expect(lists()).toHaveLength(2);
  api.fault = (request) => (request.query.has("watch") ? { kind: "answer", status: 410 } : undefined);
  watch().end();
  await clock.advance(60_000);
  expect(lists().length).toBeGreaterThan(2);
  // A version that expires at once must not cause a flood of lists: 60 s allow only a few doubling pauses.
  expect(lists().length).toBeLessThan(12);
});

it("no failure stops a reflector permanently", async () => {
  const { api, clock, cache, start, reflector } = setUp();
  api.put(configMaps, configMap("a"));
  const faults = [
    { kind: "refuse" },
    { kind: "answer", status: 403, body: status(403, "no", "Forbidden") },
    { kind: "answer", status: 500 },
    { kind: "answer", status: 200, body: "<html>" },
    { kind: "answer", status: 404 },
    { kind: "hang" },
    { kind: "lose", applied: false },
  ] as const;
  let next = 0;
  api.fault = () => faults[next++];
  await start();
  await clock.advance(1_000);
  expect(reflector.health.failure).toBeDefined();
  await clock.advance(10 * 60_000);
  expect(cache.size).toBe(1);
  expect(reflector.health).toMatchObject({ hasSynced: true, failure: undefined });
});

it("Retry-After on the list is honoured", async () => {
  const { api, clock, cache, start } = setUp();
  let first = true;
  api.fault = () => {
    if (!first) return undefined;
    first = false;
    return { kind: "answer", status: 429, headers: { "retry-after": "20" } };
  };
  await start();
  await clock.advance(19_000);
  expect(cache.hasSynced).toBe(false);
  await clock.advance(2_000);
  expect(cache.hasSynced).toBe(true);
});

it("an open but silent watch counts as dead", async () => {
  const { api, clock, cache, start, watch } = setUp({ idleTimeoutMs: 60_000 });
  await start();
  expect(cache.hasSynced).toBe(true);
  watch().goSilent();
  api.put(configMaps, configMap("a"));
  await clock.advance(59_000);
  expect(cache.size).toBe(0);
  await clock.advance(3_000);
  expect(cache.size).toBe(1);
});

it("duplicates and late copies of old events change nothing", async () => {
  const { api, clock, cache, changes, start, watch } = setUp();
  await start();
  expect(cache.hasSynced).toBe(true);
  const old = api.put(configMaps, configMap("a", { x: "1" }));
  const now = api.put(configMaps, configMap("a", { x: "2" }));
  await clock.settle();
  watch().sendEvent("MODIFIED", now);
  watch().sendEvent("ADDED", old);
  watch().sendEvent("DELETED", old);
  await clock.settle();
  expect(cache.get(now.metadata)?.data).toEqual({ x: "2" });
  expect(cache.version).toBe(now.metadata.resourceVersion);
  expect(changes).toEqual(["+a", "~a"]);
  api.remove(configMaps, now.metadata);
  await clock.settle();
  watch().sendEvent("MODIFIED", now);
  await clock.settle();
  expect(cache.size).toBe(0);
});

it("a new object of the same name is a delete and an add, and a late delete of the old one does not harm it", async () => {
  const { api, clock, cache, changes, start, watch } = setUp();
  api.put(configMaps, configMap("a"));
  await start();
  expect(cache.hasSynced).toBe(true);
  watch().takeOver();
  const deleted = api.remove(configMaps, { namespace: "default", name: "a" });
  const renewed = api.put(configMaps, configMap("a"));
  watch().sendEvent("ADDED", renewed);
  watch().sendEvent("DELETED", deleted);
  await clock.settle();
  expect(changes).toEqual(["+a", "-a", "+a"]);
  expect(cache.get(renewed.metadata)?.metadata.uid).toBe(renewed.metadata.uid);
});

it("late copies of an object's earlier lives are ignored", async () => {
  const { api, clock, cache, start, watch } = setUp();
  await start();
  const name = { namespace: "default", name: "a" };
  const first = api.put(configMaps, configMap("a"));
  const firstDeleted = api.remove(configMaps, name);
  const second = api.put(configMaps, configMap("a"));
  api.remove(configMaps, name);
  await clock.settle();
  for (const late of [first, second]) watch().sendEvent("MODIFIED", late);
  watch().sendEvent("DELETED", firstDeleted);
  watch().sendEvent("ADDED", second);
  await clock.settle();
  expect(cache.size).toBe(0);
});

it("a list from an older cache is refused until the server has caught up", async () => {
  const { api, clock, cache, changes, start, watch, names } = setUp();
  api.put(configMaps, configMap("a"));
  const past = api.store.version;
  await start();
  expect(cache.hasSynced).toBe(true);
  api.put(configMaps, configMap("b"));
  api.remove(configMaps, { namespace: "default", name: "a" });
  await clock.settle();
  api.fault = (request) => (request.query.has("watch") ? undefined : { kind: "stale", version: past });
  watch().sendEvent("ERROR", status(410, "", "Expired"));
  await clock.advance(60_000);
  expect(names()).toEqual(["b"]);
  api.fault = () => undefined;
  api.put(configMaps, configMap("c"));
  await clock.advance(60_000);
  expect(names()).toEqual(["b", "c"]);
  expect(changes).toEqual(["+a", "+b", "-a", "+c"]);
});

it("a server restored from a backup is accepted after minutes, not at once", async () => {
  const { api, clock, cache, start, watch, names } = setUp();
  api.put(configMaps, configMap("a"));
  const backup = api.store.version;
  api.put(configMaps, configMap("b"));
  await start();
  expect(cache.hasSynced).toBe(true);
  api.fault = (request) => (request.query.has("watch") ? { kind: "hang" } : { kind: "stale", version: backup });
  watch().sendEvent("ERROR", status(410, "", "Expired"));
  await clock.advance(4 * 60_000);
  expect(names()).toEqual(["a", "b"]);
  await clock.advance(2 * 60_000);
  expect(names()).toEqual(["a"]);
  expect(cache.version).toBe(String(backup));
});

it("one lagging answer before an outage and one after it are not a restored backup", async () => {
  const { api, clock, start, watch, names } = setUp();
  api.put(configMaps, configMap("a"));
  const past = api.store.version;
  api.put(configMaps, configMap("b"));
  await start();
  let lists = 0;
  api.fault = (request) => {
    if (request.query.has("watch")) return { kind: "hang" };
    return lists++ === 0 || clock.monotonicMs() > 20 * 60_000 ? { kind: "stale", version: past } : { kind: "refuse" };
  };
  watch().sendEvent("ERROR", status(410, "", "Expired"));
  await clock.advance(20 * 60_000 + 40_000);
  expect(names()).toEqual(["a", "b"]);
});

it("continue tokens that keep expiring lead to one list without pages", async () => {
  const { api, clock, cache, start, lists } = setUp({ pageObjects: 1 });
  for (const name of ["a", "b", "c"]) api.put(configMaps, configMap(name));
  api.fault = (request) =>
    request.query.has("continue") ? { kind: "answer", status: 410, body: status(410, "", "Expired") } : undefined;
  await start();
  await clock.advance(60_000);
  expect(cache.size).toBe(3);
  expect(lists().at(-1)?.query.has("limit")).toBe(false);
});

it("invalid data in the stream is ignored; the watch is reopened, and finally everything is listed", async () => {
  const { api, clock, cache, start, lists } = setUp();
  await start();
  expect(cache.hasSynced).toBe(true);
  for (let round = 0; round < 300 && lists().length < 2; round++) {
    for (const open of [...api.watches]) open.sendText("not json\n");
    await clock.advance(100);
  }
  api.put(configMaps, configMap("a"));
  await clock.advance(30_000);
  expect(cache.size).toBe(1);
  expect(lists().length).toBeGreaterThan(1);
});

it("our own write is in the cache at once, and what the watch brings late cannot undo it", async () => {
  const { api, clock, client, cache, start, watch, names } = setUp();
  const first = api.put(configMaps, configMap("a", { x: "1" }));
  await start();
  expect(cache.hasSynced).toBe(true);
  watch().takeOver();
  const written = await client.update(configMaps, { ...first, data: { x: "2" } });
  cache.wrote(written);
  expect(cache.get(first.metadata)?.data).toEqual({ x: "2" });
  expect(cache.hasSeen(written.metadata.resourceVersion ?? "")).toBe(false);
  watch().sendEvent("MODIFIED", first);
  await clock.settle();
  expect(cache.get(first.metadata)?.data).toEqual({ x: "2" });
  const caughtUp = cache.waitFor(written.metadata.resourceVersion ?? "").then(() => "caught up");
  watch().sendEvent("MODIFIED", written);
  expect(await caughtUp).toBe("caught up");

  const created = await client.create(configMaps, configMap("b"));
  cache.wrote(created);
  expect(names()).toEqual(["a", "b"]);
  await client.delete(configMaps, created.metadata);
  cache.deleted(created);
  watch().sendEvent("ADDED", created);
  await clock.settle();
  expect(names()).toEqual(["a"]);
});

it("the answer of a write that comes after the watch has passed it does not bring a deleted object back", async () => {
  const { api, clock, cache, start, watch } = setUp();
  await start();
  expect(cache.hasSynced).toBe(true);
  const written = api.put(configMaps, configMap("a"));
  api.remove(configMaps, written.metadata);
  await clock.settle();
  cache.wrote(written);
  expect(cache.size).toBe(0);
  watch().sendEvent("ERROR", status(410, "", "Expired"));
  await clock.advance(5_000);
  cache.wrote(written);
  expect(cache.size).toBe(0);
});

it("a list that started before our write does not remove the written object", async () => {
  const { api, clock, client, cache, changes, start, watch } = setUp();
  api.put(configMaps, configMap("a"));
  const before = api.store.version;
  await start();
  expect(cache.hasSynced).toBe(true);
  watch().takeOver();
  cache.wrote(await client.create(configMaps, configMap("b")));
  api.fault = (request) => (request.query.has("watch") ? undefined : { kind: "stale", version: before });
  watch().sendEvent("ERROR", status(410, "", "Expired"));
  await clock.advance(10_000);
  expect(changes).toEqual(["+a", "+b"]);
});

it("with a selector, our own write enters only if it is known to belong", async () => {
  const selection = { labelSelector: "app=db" };
  const { api, clock, client, cache, start } = setUp({
    selection,
    selects: (object) => object.metadata.labels?.app === "db",
  });
  await start();
  expect(cache.hasSynced).toBe(true);
  cache.wrote(await client.create(configMaps, configMap("other")));
  expect(cache.size).toBe(0);
  const object = configMap("db");
  const mine = await client.create(configMaps, { ...object, metadata: { ...object.metadata, labels: { app: "db" } } });
  cache.wrote(mine);
  expect(cache.size).toBe(1);
  const left = await client.update(configMaps, { ...mine, metadata: { ...mine.metadata, labels: { app: "web" } } });
  cache.wrote(left);
  expect(cache.size).toBe(0);
  await clock.settle();
  expect(cache.size).toBe(0);
  api.put(configMaps, { ...object, metadata: { ...object.metadata, labels: { app: "db" } } });
  await clock.settle();
  expect(cache.size).toBe(1);
});

it("the indexes of a cache follow every change", async () => {
  const { api, clock, cache, start } = setUp({
    indexes: { color: (object) => (object.metadata.labels?.color ? [object.metadata.labels.color] : []) },
  });
  const colored = (name: string, color: string) => {
    const object = configMap(name);
    return { ...object, metadata: { ...object.metadata, labels: { color } } };
  };
  api.put(configMaps, colored("a", "red"));
  await start();
  expect(cache.hasSynced).toBe(true);
  api.put(configMaps, colored("b", "red"));
  api.put(configMaps, colored("a", "blue"));
  await clock.settle();
  expect(cache.byIndex("color", "red").map((object) => object.metadata.name)).toEqual(["b"]);
  api.remove(configMaps, { namespace: "default", name: "b" });
  await clock.settle();
  expect(cache.indexValues("color")).toEqual(["blue"]);
  expect(() => cache.byIndex("size", "1")).toThrow("there is no index 'size'");
});

it("a handler that throws stops neither the others nor the stream", async () => {
  const { api, clock, cache, changes, start } = setUp();
  cache.subscribe({
    added() {
      throw new Error("mistake");
    },
  });
  await start();
  expect(cache.hasSynced).toBe(true);
  api.put(configMaps, configMap("a"));
  api.put(configMaps, configMap("b"));
  await clock.settle();
  expect(changes).toEqual(["+a", "+b"]);
});

it("an abort ends a reflector at once and leaves nothing behind", async () => {
  const { api, clock, abort, start } = setUp();
  const { done } = await start();
  abort.abort(new Error("enough"));
  await done;
  await clock.settle();
  expect(api.watches.size).toBe(0);
  expect(clock.sleeping).toBe(0);
});

it("a requested list starts at once, and until it is complete the reflector reports a failure", async () => {
  const { api, clock, reflector, names, start, watch, lists } = setUp();
  await start();
  watch().goSilent();
  api.put(configMaps, configMap("missed"));
  await clock.settle();
  expect(names()).toEqual([]);
  reflector.listAnew("the server was away");
  expect(reflector.health.failure).toBe("the server was away");
  await clock.settle();
  expect(lists()).toHaveLength(2);
  expect(names()).toEqual(["missed"]);
  expect(reflector.health.failure).toBeUndefined();
  api.put(configMaps, configMap("next"));
  await clock.settle();
  expect(names()).toEqual(["missed", "next"]);
  expect(api.watches.size).toBe(1);
});

it("a list that started before the request does not count as the requested list", async () => {
  const { api, clock, reflector, names, start, watch, lists } = setUp();
  await start();
  watch().goSilent();
  reflector.listAnew("the server was away");
  api.fault = () => ({ kind: "slow", delayMs: 1_000 });
  await clock.settle();
  api.put(configMaps, configMap("missed"));
  reflector.listAnew("the server was away again");
  await clock.advance(1_100);
  expect(lists()).toHaveLength(3);
  expect(reflector.health.failure).toBe("the server was away again");
  await clock.advance(2_000);
  expect(names()).toEqual(["missed"]);
  expect(reflector.health.failure).toBeUndefined();
});

it("a requested list does not wait for the pause after a failure", async () => {
  const { api, clock, reflector, start, watch, lists } = setUp();
  await start();
  api.fault = () => ({ kind: "refuse" });
  watch().reset();
  await clock.advance(600_000);
  const before = lists().length;
  api.fault = () => undefined;
  reflector.listAnew("the server was away");
  await clock.settle();
  expect(lists()).toHaveLength(before + 1);
  expect(reflector.health.failure).toBeUndefined();
});

it("with a feed nothing is cached: the feed gets the content of lists and watches, in order", async () => {
  const told: string[] = [];
  const feed: ReflectorFeed<KubeObject> = {
    listBegins: () => told.push("list"),
    listed: ({ metadata, data }) => told.push(`${metadata.name} ${data === undefined ? "without" : "with"} content`),
    listEnded: () => told.push("end"),
    changed: ({ metadata }, isDeleted) => told.push(`${isDeleted ? "-" : "~"}${metadata.name}`),
  };
  const { api, clock, cache, start } = setUp({ feed, metadataOnly: true, pageObjects: 1 });
  for (const name of ["a", "b"]) api.put(configMaps, configMap(name, { x: "1" }));
  await start();
  expect(told.splice(0)).toEqual(["list", "a without content", "b without content", "end"]);
  api.put(configMaps, configMap("b", { x: "2" }));
  api.remove(configMaps, { namespace: "default", name: "a" });
  await clock.settle();
  expect(told.splice(0)).toEqual(["~b", "-a"]);
  expect(cache.size).toBe(0);
  expect(cache.version).toBe(String(api.store.version));

  for (const watch of api.watches) watch.reset();
  for (const name of ["c", "d"]) api.put(configMaps, configMap(name));
  api.compactedVersion = api.store.version;
  await clock.advance(5_000);
  expect(told).toContain("c without content");
});

it("without a free stream a reflector reads nothing and reports that, and starts as soon as one is free", async () => {
  const streams = new StreamBudget({ limit: MIN_STREAMS });
  const clock = new VirtualClock();
  const api = new FakeApi({ clock });
  const client = new KubeClient({ transport: api, clock, random: seededRandom(1), streams });
  const { limit } = streams.usage().lanes.members;
  const seats = await Promise.all(
    Array.from({ length: limit }, () =>
      streams.take({ lane: "members", kind: "Other" }, new AbortController().signal, () => {}),
    ),
  );
  let turns = 0;
  const { reflector, start } = setUp({
    client,
    clock,
    stream: { lane: "members" },
    healthChanged: () => turns++,
  });
  await start();
  expect(reflector.health).toMatchObject({ hasSynced: false, isStarved: true, isForbidden: false });
  expect(reflector.health.failure).toBe(`no free stream: all ${limit} streams for members are in use`);
  expect(turns).toBe(1);
  reflector.listAnew("the server is back");
  await clock.advance(600_000);
  expect(reflector.health.isStarved).toBe(true);
  expect(api.requests).toEqual([]);

  seats[0]?.release();
  await clock.advance(1_000);
  expect(reflector.health).toMatchObject({ hasSynced: true, isStarved: false, failure: undefined });
});

it("between two watches a reflector gives its stream to a kind that has less than its share, and later resumes where it was", async () => {
  const streams = new StreamBudget({ limit: MIN_STREAMS });
  const clock = new VirtualClock();
  const api = new FakeApi({ clock });
  const client = new KubeClient({ transport: api, clock, random: seededRandom(1), streams });
  const { abort, reflector, start } = setUp({ client, clock, stream: { lane: "members" } });
  await start();
  const { limit } = streams.usage().lanes.members;
  const never = new AbortController().signal;
  const kind = "v1/ConfigMap";
  for (let index = 1; index < limit; index++) await streams.take({ lane: "members", kind }, never, () => {});
  const other = streams.take({ lane: "members", kind: "v1/Pod" }, never, () => {});
  for (const watch of api.watches) watch.end();
  await clock.advance(2_000);
  const seat = await other;
  expect(reflector.health).toMatchObject({ isStarved: true, hasSynced: true });

  seat.release();
  api.put(configMaps, configMap("late"));
  await clock.advance(2_000);
  expect(reflector.health.failure).toBeUndefined();
  expect(reflector.cache.size).toBe(1);
  abort.abort(new Error("over"));
  await clock.settle();
  expect(streams.usage().lanes.members.open).toBe(limit - 1);
  expect(api.requests.filter(({ query }) => !query.has("watch"))).toHaveLength(1);
});
