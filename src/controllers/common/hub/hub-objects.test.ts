import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { KubeClient, type KubeObject, MIN_STREAMS, resource, StreamBudget } from "../../../kube/index.ts";
import { status } from "../../../kube/testing/fake-api.ts";
import { seededRandom, silentLog } from "../../../runtime/index.ts";
import { TestHub } from "../../testing/objects.ts";
import { HubObjects } from "./hub-objects.ts";

const MAPS = resource({ apiVersion: "v1", kind: "ConfigMap", plural: "configmaps", namespaced: true });
const PODS = resource({ apiVersion: "v1", kind: "Pod", plural: "pods", namespaced: true });
const NODES = resource({ apiVersion: "v1", kind: "Node", plural: "nodes", namespaced: false });
const KIND = { apiVersion: "v1", kind: "ConfigMap", namespace: "default" };

let hub: TestHub;
let objects: HubObjects;
let stop: AbortController;
let told: string[];

beforeEach(() => {
  hub = new TestHub();
  serve();
  stop = new AbortController();
  told = [];
  objects = over(hub.client);
});

afterEach(async () => {
  stop.abort(new Error("the test is over"));
  await hub.stop();
  await objects.stopped();
});

const DISCOVERY = {
  kind: "APIResourceList",
  apiVersion: "v1",
  groupVersion: "v1",
  resources: [MAPS, PODS, NODES].map(({ kind, plural, namespaced }) => ({ name: plural, kind, namespaced })),
};

function over(client: KubeClient): HubObjects {
  const { clock } = hub;
  const options = { client, clock, random: seededRandom(1), log: silentLog, changed: (key: string) => told.push(key) };
  return new HubObjects(options, stop.signal);
}

/** The hub as it is, but for what goes wrong with requests that are not for discovery. */
function serve(fault: typeof hub.api.fault = () => undefined): void {
  hub.api.fault = (request) =>
    request.path === "/api/v1" ? { kind: "answer", status: 200, body: DISCOVERY } : fault(request);
}

function put(name: string, value: string, namespace = "default", labels?: { [key: string]: string }): void {
  const metadata = { name, namespace, ...(labels && { labels }) };
  hub.api.put(MAPS, { apiVersion: "v1", kind: "ConfigMap", metadata, data: { value } } satisfies KubeObject);
}

const remove = (name: string, namespace = "default") => hub.api.remove(MAPS, { namespace, name });
const get = (app: string, name: string, namespace = "default") => objects.get(app, { ...KIND, namespace, name });
const soon = () => hub.clock.run(hub.clock.sleep(1_000));
const later = (ms: number) => hub.clock.run(hub.clock.sleep(ms));
const isGet = ({ path, method }: { path: string; method: string }) => method === "GET" && /maps\/[^/]+$/.test(path);
const gets = () => hub.api.requests.filter(isGet).map(({ path }) => path.split("/").slice(-1)[0]);

describe("objects of the hub", () => {
  it("are unknown until they have been listed and read, and then there or not", async () => {
    put("a", "1");
    expect(get("app", "a").kind).toBe("unknown");
    expect(get("app", "b").kind).toBe("unknown");
    await soon();
    expect(told).toContain("app");
    expect(get("app", "a")).toMatchObject({ kind: "present", object: { data: { value: "1" } } });
    expect(get("app", "b")).toEqual({ kind: "absent" });
  });

  it("that are asked for later are unknown until they were read, never absent", async () => {
    put("late", "1");
    get("app", "a");
    await soon();
    expect(get("app", "late")).toEqual({ kind: "unknown", message: "ConfigMap default/late is being read" });
    await soon();
    expect(get("app", "late")).toMatchObject({ kind: "present", object: { data: { value: "1" } } });
  });

  it("share one watch of metadata for all namespaces and applications; only named objects are read", async () => {
    for (let index = 0; index < 300; index++) put(`other-${index}`, "x".repeat(1_000), `tenant-${index % 50}`);
    for (let index = 0; index < 50; index++) put("mine", "1", `tenant-${index}`);
    for (let index = 0; index < 50; index++) get(`tenant-${index}/app`, "mine", `tenant-${index}`);
    await soon();
    expect(hub.api.watches.size).toBe(1);
    const [watch] = hub.api.watches;
    expect(watch?.request.path).toBe("/api/v1/configmaps");
    expect(watch?.request.headers.accept).toContain("as=PartialObjectMetadata");
    expect(gets()).toEqual(Array.from({ length: 50 }, () => "mine"));
    expect(objects.usage()).toEqual({ kinds: 1, objects: 50, beingRead: 0 });
    told.length = 0;
    put("other-1", "changed", "tenant-1");
    await soon();
    expect(told).toEqual([]);
    expect(gets()).toHaveLength(50);
  });

  it("that change are read again, are unknown meanwhile, and concern those who read that very object", async () => {
    put("a", "1");
    get("one", "a");
    get("two", "b");
    await soon();
    told.length = 0;
    serve((request) => (isGet(request) ? { kind: "slow", delayMs: 300 } : undefined));
    put("a", "2");
    await later(100);
    // A revision of a template that has changed, too, must not be made of the content of before.
    expect(get("one", "a").kind).toBe("unknown");
    expect(told).toEqual([]);
    await soon();
    expect(told).toEqual(["one"]);
    expect(get("one", "a")).toMatchObject({ kind: "present", object: { data: { value: "2" } } });
  });

  it("that change while they are being read are read once more", async () => {
    put("a", "1");
    get("app", "a");
    await soon();
    serve((request) => (isGet(request) ? { kind: "slow", delayMs: 300 } : undefined));
    put("a", "2");
    await later(100);
    put("a", "3");
    await later(250);
    expect(get("app", "a").kind).toBe("unknown");
    await soon();
    expect(get("app", "a")).toMatchObject({ object: { data: { value: "3" } } });
    expect(gets()).toEqual(["a", "a", "a"]);
  });

  it("that were read before the watch told of them are not read again for it", async () => {
    put("a", "1");
    get("app", "b");
    await soon();
    const [watch] = hub.api.watches;
    watch?.takeOver();
    put("a", "2");
    get("app", "a");
    await soon();
    const metadata = hub.api.list(MAPS)[0]?.metadata;
    watch?.sendEvent("MODIFIED", { metadata: { ...metadata, resourceVersion: "1001" } });
    watch?.sendEvent("MODIFIED", { metadata });
    await soon();
    expect(get("app", "a")).toMatchObject({ object: { data: { value: "2" } } });
    expect(gets()).toEqual(["b", "a"]);
  });

  it("that are deleted are absent when the hub says so, and there again when they are created again", async () => {
    put("a", "1");
    get("app", "a");
    await soon();
    remove("a");
    await soon();
    expect(get("app", "a")).toEqual({ kind: "absent" });
    put("a", "2");
    await soon();
    expect(get("app", "a")).toMatchObject({ object: { data: { value: "2" } } });
  });

  it("are not absent against the watch's word: an answer from the past is asked for again", async () => {
    get("app", "a");
    await soon();
    expect(get("app", "a")).toEqual({ kind: "absent" });
    serve((request) =>
      isGet(request) ? { kind: "answer", status: 404, body: status(404, "no", "NotFound") } : undefined,
    );
    put("a", "1");
    await later(10_000);
    expect(get("app", "a").kind).toBe("unknown");
    serve();
    await later(60_000);
    expect(get("app", "a")).toMatchObject({ kind: "present" });
  });

  it("that cannot be read are unknown, with the reason, until they can", async () => {
    put("a", "1");
    serve((request) => (isGet(request) ? { kind: "answer", status: 403, body: status(403, "no rights") } : undefined));
    get("app", "a");
    await later(30_000);
    expect(get("app", "a")).toMatchObject({ kind: "unknown", message: expect.stringContaining("no rights") });
    expect(told.length).toBeLessThan(5);
    serve();
    await later(60_000);
    expect(get("app", "a")).toMatchObject({ kind: "present" });
  });

  it("that changed while the watch was lost are found out by the list after it, and only those are read", async () => {
    for (const name of ["same", "changed", "deleted"]) put(name, "1");
    for (const name of ["same", "changed", "deleted", "created"]) get("app", name);
    await soon();
    const before = gets().length;
    for (const watch of hub.api.watches) watch.reset();
    put("changed", "2");
    put("created", "1");
    remove("deleted");
    hub.api.compactedVersion = hub.api.store.version;
    serve((request) => (isGet(request) ? { kind: "hang" } : undefined));
    await later(5_000);
    expect(get("app", "same").kind).toBe("present");
    for (const name of ["changed", "created", "deleted"]) expect(get("app", name).kind).toBe("unknown");
    serve();
    await later(60_000);
    expect(new Set(gets().slice(before))).toEqual(new Set(["changed", "created", "deleted"]));
    expect(get("app", "same")).toMatchObject({ object: { data: { value: "1" } } });
    expect(get("app", "changed")).toMatchObject({ object: { data: { value: "2" } } });
    expect(get("app", "created")).toMatchObject({ kind: "present" });
    expect(get("app", "deleted")).toEqual({ kind: "absent" });
  });

  it("concern no application that was forgotten", async () => {
    get("one", "a");
    get("two", "a");
    await soon();
    objects.forget("one");
    told.length = 0;
    put("a", "2");
    await soon();
    expect(told).toEqual(["two"]);
  });

  it("of a kind that the hub does not serve are unknown, and found once it does", async () => {
    hub.api.fault = ({ path }) => (path === "/api/v1" ? { kind: "answer", status: 404 } : undefined);
    get("one", "a");
    await soon();
    expect(get("one", "a")).toMatchObject({ kind: "unknown" });
    serve();
    await later(120_000);
    expect(get("one", "a")).toEqual({ kind: "absent" });
  });

  it("of a kind without namespaces are never an application's", async () => {
    hub.api.put(NODES, { apiVersion: "v1", kind: "Node", metadata: { name: "a" } });
    const node = () => objects.get("app", { apiVersion: "v1", kind: "Node", namespace: "default", name: "a" });
    node();
    await soon();
    expect(node()).toEqual({ kind: "absent" });
  });

  it("wait for a free stream when applications name too many kinds, and say so", async () => {
    const streams = new StreamBudget({ limit: MIN_STREAMS });
    const { limit } = streams.usage().lanes.objects;
    for (let index = 0; index < limit; index++) {
      await streams.take({ lane: "objects", kind: `Kind${index}` }, stop.signal, () => {});
    }
    objects = over(new KubeClient({ transport: hub.api, clock: hub.clock, random: seededRandom(1), streams }));
    put("a", "1");
    get("app", "a");
    await later(60_000);
    expect(get("app", "a")).toMatchObject({ kind: "unknown", message: expect.stringContaining("no free stream") });
    expect(told).toContain("app");
  });
});

describe("objects that applications choose by label", () => {
  const list = (app: string, namespace = "default") =>
    objects.list(app, { ...KIND, namespace })?.map(({ metadata }) => `${metadata.name} ${metadata.labels?.tier ?? ""}`);

  it("are returned with name and labels, without their content, once they have been listed", async () => {
    put("a", "1", "default", { tier: "db" });
    put("b", "1");
    put("c", "1", "elsewhere");
    expect(list("app")).toBeUndefined();
    await soon();
    expect(told).toContain("app");
    expect(list("app")).toEqual(["a db", "b "]);
    expect(gets()).toEqual([]);
  });

  it("change when a label does, or when one comes or goes, and not for anything else", async () => {
    put("a", "1", "default", { tier: "db" });
    list("app");
    await soon();
    told.length = 0;
    put("a", "2", "default", { tier: "db" });
    put("c", "1", "elsewhere");
    await soon();
    expect(told).toEqual([]);
    put("a", "2", "default", { tier: "web" });
    put("b", "1");
    await soon();
    expect(list("app")).toEqual(["a web", "b "]);
    remove("a");
    await soon();
    expect(list("app")).toEqual(["b "]);
    expect(told).toContain("app");
  });

  it("that change while they are being listed are listed once more", async () => {
    list("app");
    await soon();
    const isList = ({ path, query }: { path: string; query: URLSearchParams }) =>
      path.endsWith("/namespaces/default/configmaps") && !query.has("watch");
    serve((request) => (isList(request) ? { kind: "slow", delayMs: 300 } : undefined));
    put("a", "1");
    await later(100);
    put("b", "1");
    await soon();
    expect(list("app")).toEqual(["a ", "b "]);
  });

  it("are not known where there are too many of them", async () => {
    for (let index = 0; index < 2_001; index++) put(`a-${index}`, "1");
    put("b", "1", "elsewhere");
    list("greedy");
    list("modest", "elsewhere");
    await soon();
    expect(list("greedy")).toBeUndefined();
    expect(list("modest", "elsewhere")).toEqual(["b "]);
  });
});

describe("what no application asks for any more", () => {
  it("is let go after two rounds without it, and read again when it is asked for again", async () => {
    put("a", "1");
    const round = (...names: string[]) => {
      objects.begin("app");
      for (const name of names) get("app", name);
    };
    round("a", "b");
    await soon();
    round("b");
    expect(objects.usage().objects).toBe(2);
    round("b");
    expect(objects.usage().objects).toBe(1);
    told.length = 0;
    put("a", "2");
    await soon();
    expect(told).toEqual([]);
    expect(get("app", "a").kind).toBe("unknown");
    await soon();
    expect(get("app", "a")).toMatchObject({ object: { data: { value: "2" } } });
  });

  it("is watched for a minute more, and then the kind's watch is closed", async () => {
    get("app", "a");
    await soon();
    objects.forget("app");
    await later(50_000);
    expect(hub.api.watches.size).toBe(1);
    get("app", "a");
    await later(50_000);
    expect(hub.api.watches.size).toBe(1);
    objects.forget("app");
    await later(61_000);
    expect(hub.api.watches.size).toBe(0);
    expect(objects.usage()).toEqual({ kinds: 0, objects: 0, beingRead: 0 });
    put("a", "1");
    get("app", "a");
    await soon();
    expect(get("app", "a")).toMatchObject({ kind: "present" });
  });
});

describe("a kind that cannot be read", () => {
  it("does not make others wait, however many objects of it applications name", async () => {
    serve(({ path }) => (path.startsWith("/api/v1/namespaces/default/pods/") ? { kind: "hang" } : undefined));
    for (let index = 0; index < 100; index++) {
      objects.get("app", { apiVersion: "v1", kind: "Pod", namespace: "default", name: `pod-${index}` });
    }
    await later(100);
    expect(objects.usage().beingRead).toBe(100);
    get("app", "a");
    await later(100);
    expect(get("app", "a")).toEqual({ kind: "absent" });
  });
});

describe("a tenant that names very many objects", () => {
  it("does not make others wait: namespaces take turns", async () => {
    serve((request) => (isGet(request) ? { kind: "slow", delayMs: 10 } : undefined));
    for (let index = 0; index < 2_000; index++) get("greedy/app", `map-${index}`, "greedy");
    await later(500);
    get("modest/app", "a", "modest");
    expect(objects.usage().beingRead).toBeGreaterThan(1_000);
    await later(50);
    expect(get("modest/app", "a", "modest")).toEqual({ kind: "absent" });
    objects.forget("greedy/app");
    expect(objects.usage()).toMatchObject({ objects: 1, beingRead: 0 });
  });
});
