import { describe, expect, it } from "vitest";
import { TestServer } from "../testing/client.ts";
import { CONFIG_MAPS, CRDS, configMap, namespace, PODS, pod, WIDGETS, widget, widgetCrd } from "../testing/objects.ts";

async function filled(count: number, options = {}): Promise<TestServer> {
  const server = new TestServer(options);
  for (let index = 0; index < count; index++) {
    await server.create(
      CONFIG_MAPS,
      configMap(`c${String(index).padStart(2, "0")}`, {}, { labels: { n: String(index) } }),
    );
  }
  return server;
}

describe("lists", () => {
  it("are ordered by namespace and name, regardless of the order of creation", async () => {
    const server = new TestServer();
    await server.create("/api/v1/namespaces", namespace("alpha"));
    for (const name of ["b", "c", "a"]) await server.create(CONFIG_MAPS, configMap(name));
    await server.create("/api/v1/namespaces/alpha/configmaps", configMap("z"));
    expect(await server.names("/api/v1/configmaps")).toEqual(["z", "a", "b", "c"]);
    expect(await server.names(CONFIG_MAPS)).toEqual(["a", "b", "c"]);
  });

  it("come in pages of one version, regardless of changes in between", async () => {
    const server = await filled(5);
    const first = await server.get(`${CONFIG_MAPS}?limit=2`);
    const metadata = first.body.metadata as Record<string, string>;
    expect(metadata).toMatchObject({ resourceVersion: "8", remainingItemCount: 3 });
    await server.create(CONFIG_MAPS, configMap("c01a"));
    await server.remove(`${CONFIG_MAPS}/c03`);
    await server.merge(`${CONFIG_MAPS}/c04`, { data: { late: "yes" } });
    const second = await server.get(`${CONFIG_MAPS}?limit=2&continue=${metadata.continue}`);
    const rest = second.body.metadata as Record<string, string>;
    expect(rest.resourceVersion).toBe("8");
    const third = await server.items(`${CONFIG_MAPS}?limit=2&continue=${rest.continue}`);
    expect((second.body.items as { metadata: { name: string } }[]).map((item) => item.metadata.name)).toEqual([
      "c02",
      "c03",
    ]);
    expect(third.map((item) => [item.metadata.name, item.data])).toEqual([["c04", {}]]);
    expect(await server.names(CONFIG_MAPS)).toEqual(["c00", "c01", "c01a", "c02", "c04"]);
  });

  it("answer 410 Expired to a token or version that the history no longer reaches", async () => {
    const server = await filled(3, { limits: { historyEvents: 2 } });
    const first = await server.get(`${CONFIG_MAPS}?limit=1`);
    const token = (first.body.metadata as Record<string, string>).continue;
    for (const name of ["x", "y", "z"]) await server.create(CONFIG_MAPS, configMap(name));
    const answer = await server.get(`${CONFIG_MAPS}?limit=1&continue=${token}`);
    expect([answer.status, answer.body.reason]).toEqual([410, "Expired"]);
    const exact = await server.get(`${CONFIG_MAPS}?resourceVersion=3&resourceVersionMatch=Exact`);
    expect([exact.status, exact.body.reason]).toEqual([410, "Expired"]);
  });

  it("show an exact version, the newest, or at least a given one", async () => {
    const server = await filled(2);
    const version = server.server.resourceVersion;
    await server.remove(`${CONFIG_MAPS}/c00`);
    const listed = (query: string) => server.names(`${CONFIG_MAPS}?${query}`);
    expect(await listed(`resourceVersion=${version}&resourceVersionMatch=Exact`)).toEqual(["c00", "c01"]);
    expect(await listed(`resourceVersion=${version}&resourceVersionMatch=NotOlderThan`)).toEqual(["c01"]);
    expect(await listed("resourceVersion=0")).toEqual(["c01"]);
    const future = await server.get(`${CONFIG_MAPS}?resourceVersion=9999`);
    expect([future.status, future.body.message]).toEqual([504, expect.stringContaining("Too large resource version")]);
    const lonely = await server.get(`${CONFIG_MAPS}?resourceVersionMatch=Exact`);
    expect(lonely.status).toBe(422);
  });

  it.each([
    ["n=1", ["c01"]],
    ["n==1", ["c01"]],
    ["n!=1", ["c00", "c02"]],
    ["n in (0, 2)", ["c00", "c02"]],
    ["n notin (0,2)", ["c01"]],
    ["n", ["c00", "c01", "c02"]],
    ["!n", []],
    ["n>0,n<2", ["c01"]],
    ["other=1", []],
    ["other!=1", ["c00", "c01", "c02"]],
  ])("select by labels: %s", async (selector, names) => {
    const server = await filled(3);
    expect(await server.names(`${CONFIG_MAPS}?labelSelector=${encodeURIComponent(selector)}`)).toEqual(names);
  });

  it("select by fields: name for every kind, others as the kind defines them", async () => {
    const server = new TestServer();
    await server.create(CRDS, widgetCrd());
    await server.create(WIDGETS, widget("red", { color: "red" }));
    await server.create(WIDGETS, widget("blue", { color: "blue" }));
    await server.create(PODS, pod("bound", {}, { nodeName: "n1" }));
    await server.create(PODS, pod("free"));
    expect(await server.names(`${PODS}?fieldSelector=spec.nodeName%3Dn1`)).toEqual(["bound"]);
    expect(await server.names(`${PODS}?fieldSelector=status.phase!%3DPending`)).toEqual([]);
    expect(await server.names(`${PODS}?fieldSelector=metadata.name%3Dfree`)).toEqual(["free"]);
    expect(await server.names(`${WIDGETS}?fieldSelector=spec.color%3Dred`)).toEqual(["red"]);
    expect((await server.get(`${WIDGETS}?fieldSelector=spec.size%3D1`)).body.message).toBe(
      "field label not supported: spec.size",
    );
  });

  it("show events under the names of both groups", async () => {
    const server = new TestServer();
    const core = "/api/v1/namespaces/default/events";
    const newer = "/apis/events.k8s.io/v1/namespaces/default/events";
    await server.create(core, {
      apiVersion: "v1",
      kind: "Event",
      metadata: { name: "e" },
      involvedObject: { kind: "Pod", name: "p", namespace: "default" },
      message: "it happened",
      count: 3,
    });
    await server.create(newer, {
      apiVersion: "events.k8s.io/v1",
      kind: "Event",
      metadata: { name: "f" },
      regarding: { kind: "Pod", name: "p", namespace: "default" },
      note: "it continued",
    });
    expect(await server.read(`${newer}/e`)).toMatchObject({
      note: "it happened",
      deprecatedCount: 3,
      regarding: { name: "p" },
    });
    expect(await server.read(`${core}/f`)).toMatchObject({ message: "it continued", involvedObject: { name: "p" } });
    expect(await server.names(`${core}?fieldSelector=involvedObject.name%3Dp,involvedObject.kind%3DPod`)).toEqual([
      "e",
      "f",
    ]);
  });

  it("become a Table when the client requests one", async () => {
    const server = await filled(2);
    const accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
    const answer = await server.ask("GET", CONFIG_MAPS, undefined, { accept });
    expect(answer.body).toMatchObject({ kind: "Table", metadata: { resourceVersion: "5" } });
    expect(answer.body.rows).toHaveLength(2);
  });

  it("come without content when the client requests only metadata, as does a single object", async () => {
    const server = await filled(2);
    const accept = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json";
    const asList = accept.replace("Metadata;", "MetadataList;");
    expect(await server.ask("GET", CONFIG_MAPS, undefined, { accept })).toMatchObject({ status: 406 });
    const list = await server.ask("GET", `${CONFIG_MAPS}?limit=1`, undefined, { accept: asList });
    expect(list.body).toMatchObject({ kind: "PartialObjectMetadataList", apiVersion: "meta.k8s.io/v1" });
    expect(list.body.metadata).toHaveProperty("continue");
    expect(list.body.items).toEqual([
      {
        kind: "PartialObjectMetadata",
        apiVersion: "meta.k8s.io/v1",
        metadata: expect.objectContaining({ name: "c00" }),
      },
    ]);
    const one = await server.ask("GET", `${CONFIG_MAPS}/c01`, undefined, { accept });
    expect(Object.keys(one.body).sort()).toEqual(["apiVersion", "kind", "metadata"]);
  });
});

describe("watches", () => {
  const kinds = (events: { type: string; object: { metadata: { name: string } } }[]) =>
    events.map(({ type, object }) => `${type} ${object.metadata.name}`);

  it("start with the existing objects, then follow every change in order", async () => {
    const server = await filled(2);
    const watch = server.watch(`${CONFIG_MAPS}?watch=true`);
    expect(kinds(await watch.take(2))).toEqual(["ADDED c00", "ADDED c01"]);
    await server.create(CONFIG_MAPS, configMap("x"));
    await server.merge(`${CONFIG_MAPS}/x`, { data: { a: "1" } });
    await server.remove(`${CONFIG_MAPS}/x`);
    const events = await watch.take(3);
    expect(kinds(events)).toEqual(["ADDED x", "MODIFIED x", "DELETED x"]);
    const versions = events.map(({ object }) => Number(object.metadata.resourceVersion));
    expect(versions).toEqual([...versions].sort((a, b) => a - b));
    expect(versions.at(-1)).toBe(server.server.resourceVersion);
    await watch.close();
  });

  it("resume after a version without repeating or losing anything", async () => {
    const server = await filled(1);
    const version = server.server.resourceVersion;
    await server.create(CONFIG_MAPS, configMap("x"));
    await server.remove(`${CONFIG_MAPS}/c00`);
    const watch = server.watch(`${CONFIG_MAPS}?watch=true&resourceVersion=${version}`);
    await server.create(CONFIG_MAPS, configMap("y"));
    expect(kinds(await watch.take(3))).toEqual(["ADDED x", "DELETED c00", "ADDED y"]);
    await watch.close();
  });

  it("see an object enter and leave a selection", async () => {
    const server = new TestServer();
    await server.create(CONFIG_MAPS, configMap("a"));
    const watch = server.watch(
      `${CONFIG_MAPS}?watch=true&resourceVersion=${server.server.resourceVersion}&labelSelector=on`,
    );
    const label = (value: string | null) => server.merge(`${CONFIG_MAPS}/a`, { metadata: { labels: { on: value } } });
    await label("1");
    await label("2");
    const left = await label(null);
    await server.merge(`${CONFIG_MAPS}/a`, { data: { unseen: "1" } });
    await label("3");
    const events = await watch.take(4);
    expect(kinds(events)).toEqual(["ADDED a", "MODIFIED a", "DELETED a", "ADDED a"]);
    expect(events[2]?.object.metadata).toMatchObject({
      labels: { on: "2" },
      resourceVersion: left.metadata.resourceVersion,
    });
    await watch.close();
  });

  it("see only their namespace, their name and their kind", async () => {
    const server = new TestServer();
    await server.create("/api/v1/namespaces", namespace("other"));
    const named = server.watch(`${CONFIG_MAPS}?watch=true&fieldSelector=metadata.name%3Db`);
    const single = server.watch(`${CONFIG_MAPS}/b?watch=true`);
    await server.create("/api/v1/namespaces/other/configmaps", configMap("b"));
    await server.create(CONFIG_MAPS, configMap("a"));
    await server.create(PODS, pod("b"));
    await server.create(CONFIG_MAPS, configMap("b"));
    for (const watch of [named, single]) {
      const [event] = await watch.take(1);
      expect(event?.object).toMatchObject({ kind: "ConfigMap", metadata: { name: "b", namespace: "default" } });
      await watch.close();
    }
  });

  it("end with 410 when the history no longer reaches back", async () => {
    const server = await filled(5, { limits: { historyEvents: 2 } });
    const events = await server.watch(`${CONFIG_MAPS}?watch=true&resourceVersion=3`).rest();
    expect(events).toMatchObject([{ type: "ERROR", object: { code: 410, reason: "Expired" } }]);
  });

  it("drop a reader that falls too far behind, and queue no more than the limit for it", async () => {
    const server = new TestServer({ limits: { watchQueueEvents: 3 } });
    const watch = server.watch(`${CONFIG_MAPS}?watch=true`);
    for (const name of ["a", "b", "c", "d", "e"]) await server.create(CONFIG_MAPS, configMap(name));
    const events = await watch.rest();
    expect(events).toMatchObject([{ type: "ERROR", object: { code: 410 } }]);
  });

  it("send requested bookmarks after enough unrelated changes, and after the initial events", async () => {
    const server = await filled(1, { limits: { bookmarkEveryEvents: 3 } });
    const watch = server.watch(
      `${CONFIG_MAPS}?watch=true&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan`,
    );
    const [first, end] = await watch.take(2);
    expect(first?.type).toBe("ADDED");
    expect(end).toMatchObject({
      type: "BOOKMARK",
      object: { kind: "ConfigMap", metadata: { annotations: { "k8s.io/initial-events-end": "true" } } },
    });
    for (const name of ["a", "b", "c"]) await server.create(PODS, pod(name));
    const [bookmark] = await watch.take(1);
    expect(bookmark).toMatchObject({
      type: "BOOKMARK",
      object: { metadata: { resourceVersion: String(server.server.resourceVersion) } },
    });
    await watch.close();
  });

  it("end after timeoutSeconds of the server's clock", async () => {
    const server = await filled(1);
    const watch = server.watch(`${CONFIG_MAPS}?watch=true&timeoutSeconds=30`);
    await watch.take(1);
    server.clock.advance(30_000);
    expect(await watch.rest()).toEqual([]);
  });

  it("end when the reader gives up, and leave nothing behind", async () => {
    const server = new TestServer();
    const abort = new AbortController();
    const { chunks } = await server.server.stream({
      method: "GET",
      path: `${PODS}?watch=1`,
      headers: {},
      signal: abort.signal,
    });
    const reading = chunks[Symbol.asyncIterator]().next();
    abort.abort(new Error("enough"));
    await expect(reading).rejects.toThrow("enough");
    expect(server.server.openWatches).toBe(0);
  });

  it("of other versions show the objects in that version", async () => {
    const server = new TestServer();
    await server.create(CRDS, widgetCrd());
    const watch = server.watch("/apis/example.io/v1beta1/namespaces/default/widgets?watch=true");
    await server.create(WIDGETS, widget("w"));
    const [event] = await watch.take(1);
    expect(event?.object.apiVersion).toBe("example.io/v1beta1");
    await watch.close();
  });

  it("become Tables when the client requests them", async () => {
    const server = await filled(1);
    const accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
    const { chunks } = await server.server.stream({
      method: "GET",
      path: `${CONFIG_MAPS}?watch=1`,
      headers: { accept },
    });
    const reader = chunks[Symbol.asyncIterator]();
    const first = JSON.parse((await reader.next()).value);
    expect(first).toMatchObject({ type: "ADDED", object: { kind: "Table" } });
    expect(first.object.columnDefinitions).not.toEqual([]);
    await server.create(CONFIG_MAPS, configMap("x"));
    expect(JSON.parse((await reader.next()).value).object.columnDefinitions).toEqual([]);
    await reader.return?.();
  });

  it("contain only metadata when the client requests that, also in bookmarks", async () => {
    const server = await filled(1);
    const accept = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json";
    const path = `${CONFIG_MAPS}?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan`;
    const { chunks } = await server.server.stream({ method: "GET", path, headers: { accept } });
    const reader = chunks[Symbol.asyncIterator]();
    const lines = String((await reader.next()).value)
      .trim()
      .split("\n");
    const type = { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1" };
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      { type: "ADDED", object: { ...type, metadata: expect.objectContaining({ name: "c00" }) } },
      { type: "BOOKMARK", object: { ...type, metadata: expect.anything() } },
    ]);
    await reader.return?.();
  });

  it("refuse with a status if a resource cannot be watched", async () => {
    const server = new TestServer();
    const stream = await server.server.stream({ method: "GET", path: "/api/v1/nopes?watch=1", headers: {} });
    expect(stream.status).toBe(404);
    const texts: string[] = [];
    for await (const chunk of stream.chunks) texts.push(chunk);
    expect(JSON.parse(texts.join(""))).toMatchObject({ kind: "Status", code: 404 });
  });
});
