import { describe, expect, it } from "vitest";
import { type JsonObject, seededRandom } from "../runtime/index.ts";
import { ApiServer } from "./server.ts";
import { ManualClock, TestServer } from "./testing/client.ts";
import {
  CONFIG_MAPS,
  CRDS,
  configMap,
  PODS,
  pod,
  SETS,
  statefulSet,
  WIDGETS,
  widget,
  widgetCrd,
} from "./testing/objects.ts";

describe("creating objects", () => {
  it("sets identity, version, time and generation", async () => {
    const server = new TestServer();
    const created = await server.create(SETS, statefulSet("db"));
    expect(created.metadata).toMatchObject({
      name: "db",
      namespace: "default",
      generation: 1,
      creationTimestamp: "2030-01-01T00:00:00Z",
    });
    expect(created.metadata.uid).toMatch(/^[0-9a-f-]{36}$/);
    expect(await server.read(`${SETS}/db`)).toEqual(created);
  });

  it("ignores a status, uid and generation that the client sends", async () => {
    const server = new TestServer();
    const metadata = { name: "db", uid: "mine", generation: 9, creationTimestamp: "1999-01-01T00:00:00Z" };
    const sent = { ...statefulSet("db"), metadata, status: { replicas: 7 } };
    const created = await server.create(SETS, sent);
    expect(created.metadata.uid).not.toBe("mine");
    expect(created.metadata.generation).toBe(1);
    expect(created.status).toEqual({ replicas: 0, availableReplicas: 0 });
  });

  it("makes a name from generateName", async () => {
    const server = new TestServer();
    const created = await server.create(CONFIG_MAPS, configMap("", {}, { generateName: "part-" }));
    expect(created.metadata.name).toMatch(/^part-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
  });

  const refused: [JsonObject, string][] = [
    [{ name: "" }, "name or generateName is required"],
    [{ name: "Upper" }, "a lowercase RFC 1123 subdomain must consist of"],
    [{ name: "a".repeat(254) }, "must be no more than 253 bytes"],
    [{ name: "x", labels: { "bad key!": "v" } }, "name part must consist of"],
    [{ name: "x", labels: { key: "bad value!" } }, "a valid label must be an empty string or consist of"],
    [{ name: "x", annotations: { big: "x".repeat(262_144) } }, "metadata.annotations: Too long"],
    [{ name: "x", ownerReferences: [{ kind: "Pod" }] }, "metadata.ownerReferences[0].uid: Invalid value"],
  ];
  it.each(refused.map(([metadata, words]) => [words, metadata] as const))(
    "refuses metadata, because: %s",
    async (words, metadata) => {
      const server = new TestServer();
      const answer = await server.ask("POST", CONFIG_MAPS, { ...configMap("x"), metadata });
      expect(answer.status).toBe(422);
      expect(answer.body.message).toContain(words);
      expect(await server.names(CONFIG_MAPS)).toEqual([]);
    },
  );

  it("uses the error wording that kubectl users know", async () => {
    const server = new TestServer();
    await server.create(SETS, statefulSet("db"));
    const messages = async (...asked: Parameters<TestServer["ask"]>) => {
      const { status, body } = await server.ask(...asked);
      return [status, body.reason, body.message];
    };
    expect(await messages("GET", `${SETS}/nope`)).toEqual([404, "NotFound", 'statefulsets.apps "nope" not found']);
    expect(await messages("GET", `${PODS}/nope`)).toEqual([404, "NotFound", 'pods "nope" not found']);
    expect(await messages("POST", SETS, statefulSet("db"))).toEqual([
      409,
      "AlreadyExists",
      'statefulsets.apps "db" already exists',
    ]);
    expect(await messages("POST", "/api/v1/namespaces/nope/configmaps", configMap("x"))).toEqual([
      404,
      "NotFound",
      'namespaces "nope" not found',
    ]);
    expect(await messages("POST", SETS, { ...statefulSet("x"), kind: "Deployment" })).toEqual([
      400,
      "BadRequest",
      'Deployment in version "apps/v1" cannot be handled as a StatefulSet',
    ]);
    expect(await messages("POST", SETS, { ...statefulSet("x"), metadata: { name: "x", namespace: "other" } })).toEqual([
      400,
      "BadRequest",
      "the namespace of the provided object does not match the namespace sent on the request",
    ]);
    expect(await messages("GET", "/apis/nope.io/v1/things")).toEqual([
      404,
      "NotFound",
      "the server could not find the requested resource",
    ]);
    expect(await messages("POST", SETS, statefulSet("bad", -1))).toEqual([
      422,
      "Invalid",
      'StatefulSet.apps "bad" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0',
    ]);
  });
});

describe("replacing objects", () => {
  it("refuses a stale version with Kubernetes' wording", async () => {
    const server = new TestServer();
    const first = await server.create(CONFIG_MAPS, configMap("a", { n: "1" }));
    await server.put(`${CONFIG_MAPS}/a`, { ...first, data: { n: "2" } });
    const answer = await server.ask("PUT", `${CONFIG_MAPS}/a`, { ...first, data: { n: "3" } });
    expect(answer.status).toBe(409);
    expect(answer.body.message).toBe(
      'Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to the latest version and try again',
    );
    expect((await server.read(`${CONFIG_MAPS}/a`)).data).toEqual({ n: "2" });
  });

  it("replaces without a version if the kind allows it, and requires one for custom resources and leases", async () => {
    const server = new TestServer();
    await server.create(CRDS, widgetCrd());
    await server.create(WIDGETS, widget("w"));
    await server.create(CONFIG_MAPS, configMap("a"));
    await server.put(`${CONFIG_MAPS}/a`, configMap("a", { n: "2" }));
    const answer = await server.ask("PUT", `${WIDGETS}/w`, widget("w", { size: 2 }));
    expect(answer.body.message).toBe(
      'Widget.example.io "w" is invalid: metadata.resourceVersion: Invalid value: 0x0: must be specified for an update',
    );
  });

  it("creates with PUT only if the kind allows it", async () => {
    const server = new TestServer();
    const lease = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name: "l" }, spec: {} };
    const leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
    expect((await server.ask("PUT", `${leases}/l`, lease)).status).toBe(201);
    expect((await server.ask("PUT", `${CONFIG_MAPS}/a`, configMap("a"))).status).toBe(404);
  });

  it("stores nothing, and notifies no listener, when nothing changed", async () => {
    const server = new TestServer();
    const created = await server.create(CONFIG_MAPS, configMap("a", { n: "1" }));
    const version = server.server.resourceVersion;
    expect(await server.put(`${CONFIG_MAPS}/a`, created)).toEqual(created);
    expect(await server.merge(`${CONFIG_MAPS}/a`, { data: { n: "1" } })).toEqual(created);
    expect(server.server.resourceVersion).toBe(version);
  });

  it("refuses an object with another uid", async () => {
    const server = new TestServer();
    const created = await server.create(CONFIG_MAPS, configMap("a"));
    const metadata = { ...created.metadata, uid: "00000000-0000-4000-8000-000000000000" };
    const answer = await server.ask("PUT", `${CONFIG_MAPS}/a`, { ...created, metadata });
    expect(answer.status).toBe(409);
    expect(answer.body.message).toContain("UID in precondition: 00000000-0000-4000-8000-000000000000");
  });

  it("changes nothing in a dry run, and answers with the result", async () => {
    const server = new TestServer();
    const created = await server.create(CONFIG_MAPS, configMap("a", { n: "1" }));
    const before = server.server.resourceVersion;
    const tried = await server.put(`${CONFIG_MAPS}/a?dryRun=All`, { ...created, data: { n: "2" } });
    expect(tried.data).toEqual({ n: "2" });
    expect((await server.ask("POST", `${CONFIG_MAPS}?dryRun=All`, configMap("b"))).status).toBe(201);
    expect((await server.remove(`${CONFIG_MAPS}/a?dryRun=All`)).status).toBe(200);
    expect((await server.ask("POST", `${CONFIG_MAPS}?dryRun=Some`, configMap("b"))).status).toBe(422);
    expect(server.server.resourceVersion).toBe(before);
    expect(await server.read(`${CONFIG_MAPS}/a`)).toEqual(created);
  });
});

describe("generation", () => {
  it("changes with the spec, not with metadata or status", async () => {
    const server = new TestServer();
    await server.create(SETS, statefulSet("db"));
    const generation = async () => (await server.read(`${SETS}/db`)).metadata.generation;
    await server.merge(`${SETS}/db`, { metadata: { annotations: { a: "1" }, labels: { l: "1" } } });
    await server.merge(`${SETS}/db/status`, { status: { readyReplicas: 1 } });
    expect(await generation()).toBe(1);
    await server.merge(`${SETS}/db`, { spec: { replicas: 4 } });
    expect(await generation()).toBe(2);
  });

  it("of a custom resource without the status subresource changes with everything except metadata", async () => {
    const server = new TestServer();
    await server.create(CRDS, widgetCrd({ status: false }));
    await server.create(WIDGETS, widget("w"));
    await server.merge(`${WIDGETS}/w`, { metadata: { annotations: { a: "1" } } });
    expect((await server.read(`${WIDGETS}/w`)).metadata.generation).toBe(1);
    await server.merge(`${WIDGETS}/w`, { status: { ready: 1 } });
    expect((await server.read(`${WIDGETS}/w`)).metadata.generation).toBe(2);
  });
});

describe("subresources", () => {
  it("status writes change only the status, and other writes do not change it", async () => {
    const server = new TestServer();
    await server.create(SETS, statefulSet("db"));
    const live = await server.read(`${SETS}/db`);
    await server.put(`${SETS}/db/status`, {
      ...live,
      spec: {},
      status: { replicas: 2 },
      metadata: { ...live.metadata, labels: { x: "y" } },
    });
    const after = await server.read(`${SETS}/db`);
    expect(after.spec).toEqual(live.spec);
    expect(after.metadata.labels).toBeUndefined();
    expect(after.status).toEqual({ replicas: 2 });
    await server.merge(`${SETS}/db`, { status: { replicas: 9 } });
    expect((await server.read(`${SETS}/db`)).status).toEqual({ replicas: 2 });
  });

  it("scale reads and writes replicas of built-in and custom kinds", async () => {
    const server = new TestServer();
    await server.create(CRDS, widgetCrd());
    await server.create(WIDGETS, widget("w", { size: 2 }));
    await server.create(SETS, statefulSet("db"));
    const scale = await server.read(`${SETS}/db/scale`);
    expect(scale).toMatchObject({ kind: "Scale", spec: { replicas: 3 }, status: { replicas: 0, selector: "app=db" } });
    await server.put(`${SETS}/db/scale`, { ...scale, spec: { replicas: 5 } });
    await server.merge(`${WIDGETS}/w/scale`, { spec: { replicas: 4 } });
    expect((await server.read(`${SETS}/db`)).spec).toMatchObject({ replicas: 5 });
    expect((await server.read(`${WIDGETS}/w`)).spec).toMatchObject({ size: 4 });
    expect((await server.ask("PUT", `${SETS}/db/scale`, { ...scale, spec: { replicas: 6 } })).status).toBe(409);
    expect((await server.get(`${CONFIG_MAPS}/x/scale`)).status).toBe(404);
  });
});

describe("unknown fields", () => {
  const sent = { ...statefulSet("db"), spec: { ...(statefulSet("db").spec as object), replicaz: 3 } };

  it("are refused if the client is strict, otherwise reported as warnings, and never stored", async () => {
    const server = new TestServer();
    const strict = await server.ask("POST", `${SETS}?fieldValidation=Strict`, sent);
    expect([strict.status, strict.body.message]).toEqual([
      400,
      'StatefulSet in version "v1" cannot be handled as a StatefulSet: strict decoding error: unknown field "spec.replicaz"',
    ]);
    const warned = await server.ask("POST", SETS, sent);
    expect(warned.headers.warning).toBe('299 - "unknown field \\"spec.replicaz\\""');
    expect(warned.body.spec).not.toHaveProperty("replicaz");
    const ignored = await server.ask("PUT", `${SETS}/db?fieldValidation=Ignore`, sent);
    expect([ignored.status, ignored.headers.warning]).toEqual([200, undefined]);
  });

  it("of custom resources are treated the same way", async () => {
    const server = new TestServer();
    await server.create(CRDS, widgetCrd());
    const strict = await server.ask("POST", `${WIDGETS}?fieldValidation=Strict`, widget("w", { sise: 1 }));
    expect(strict.body.message).toContain('strict decoding error: unknown field "spec.sise"');
    const warned = await server.ask("POST", WIDGETS, widget("w", { sise: 1 }));
    expect(warned.headers.warning).toContain("spec.sise");
    expect(warned.body.spec).toEqual({ size: 1 });
  });

  it("null means absent, a wrong type is refused", async () => {
    const server = new TestServer();
    const template = {
      metadata: { labels: { app: "db" }, creationTimestamp: null },
      spec: { containers: [{ name: "db", image: "db:1" }] },
    };
    await server.create(SETS, { ...statefulSet("db"), spec: { ...(statefulSet("db").spec as object), template } });
    const answer = await server.ask("POST", SETS, { ...statefulSet("x"), spec: { replicas: "three" } });
    expect(answer.status).toBe(400);
    expect(answer.body.message).toContain("cannot unmarshal string into Go struct field");
  });
});

describe("the server as a whole", () => {
  it("gives the same bytes for the same requests, clock and randomness", async () => {
    const run = async () => {
      const server = new TestServer();
      const texts: string[] = [];
      for (const [method, path, body] of [
        ["POST", CRDS, widgetCrd()],
        ["POST", WIDGETS, widget("", {}, { generateName: "w-" })],
        ["POST", SETS, statefulSet("db")],
        ["GET", SETS, undefined],
        ["DELETE", `${SETS}/db`, undefined],
        ["GET", WIDGETS, undefined],
      ] as const) {
        texts.push((await server.ask(method, path, body)).text);
      }
      return [...texts, JSON.stringify(server.server.snapshot())];
    };
    expect(await run()).toEqual(await run());
  });

  it("is restored from a snapshot completely, including custom kinds", async () => {
    const server = new TestServer();
    await server.create(CRDS, widgetCrd());
    await server.create(WIDGETS, widget("w"));
    const storage = JSON.parse(JSON.stringify(server.server.snapshot()));
    const restored = new TestServer({ storage });
    expect(restored.server.snapshot()).toEqual(storage);
    expect(await restored.read(`${WIDGETS}/w`)).toEqual(await server.read(`${WIDGETS}/w`));
    const next = await restored.create(WIDGETS, widget("x"));
    expect(Number(next.metadata.resourceVersion)).toBe(storage.resourceVersion + 1);
  });

  it("notifies in-process listeners of every change, in order, before the answer", async () => {
    const server = new TestServer();
    const seen: string[] = [];
    const stop = server.server.onCommit(({ type, key }) => seen.push(`${type} ${key.name}`));
    await server.create(CONFIG_MAPS, configMap("a"));
    await server.merge(`${CONFIG_MAPS}/a`, { data: { n: "1" } });
    await server.remove(`${CONFIG_MAPS}/a`);
    stop();
    await server.create(CONFIG_MAPS, configMap("b"));
    expect(seen).toEqual(["ADDED a", "MODIFIED a", "DELETED a"]);
  });

  it("notifies all listeners in the same order, even if one writes or fails", async () => {
    const server = new TestServer();
    const seen: string[] = [];
    server.server.onCommit(({ key }) => {
      if (key.name === "a") void server.create(CONFIG_MAPS, configMap("b"));
    });
    server.server.onCommit(() => {
      throw new Error("a listener's own fault");
    });
    server.server.onCommit(({ key }) => seen.push(key.name));
    await server.create(CONFIG_MAPS, configMap("a"));
    expect(seen).toEqual(["a", "b"]);
  });

  it("forwards a path prefix to another server, watches included", async () => {
    const hub = new TestServer();
    const member = new TestServer();
    const prefix = "/apis/cluster.karmada.io/v1alpha1/clusters/member1/proxy/";
    const inner = (path: string) => path.slice(prefix.length - 1);
    const remove = hub.server.addRoute({
      prefix,
      handle: (request) => member.server.handle({ ...request, path: inner(request.path) }),
      stream: (request) => member.server.stream({ ...request, path: inner(request.path) }),
    });
    await member.create(CONFIG_MAPS, configMap("a"));
    expect(await hub.names(`${prefix.slice(0, -1)}${CONFIG_MAPS}`)).toEqual(["a"]);
    const watch = hub.watch(`${prefix.slice(0, -1)}${CONFIG_MAPS}?watch=1`);
    expect((await watch.take(1)).map(({ object }) => object.metadata.name)).toEqual(["a"]);
    await watch.close();
    remove();
    expect((await hub.get(`${prefix.slice(0, -1)}${CONFIG_MAPS}`)).status).toBe(404);
  });

  it("refuses what the authorizer refuses, with the reason", async () => {
    const server = new ApiServer({
      clock: new ManualClock(),
      random: seededRandom(1),
      authorizer: ({ user, verb }) => (user.name === "viewer" && verb !== "list" ? "viewers may only list" : undefined),
    });
    const user = { name: "viewer", groups: [] };
    const ask = (method: "GET" | "POST", path: string) => server.handle({ method, path, headers: {}, user });
    expect((await ask("GET", CONFIG_MAPS)).status).toBe(200);
    const refused = await ask("POST", CONFIG_MAPS);
    expect(refused.status).toBe(403);
    expect(JSON.parse(refused.body).message).toBe(
      'configmaps is forbidden: User "viewer" cannot create resource "configmaps" in API group "" in the namespace "default": viewers may only list',
    );
  });

  it("answers a client that gave up with its own reason", async () => {
    const server = new TestServer();
    const transport = server.server.transport();
    const signal = AbortSignal.abort(new Error("gave up"));
    await expect(transport.request({ method: "GET", path: PODS, headers: {}, signal })).rejects.toThrow("gave up");
    await server.create(PODS, pod("p"));
  });
});
