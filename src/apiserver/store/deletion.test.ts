import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../runtime/index.ts";
import { TestServer } from "../testing/client.ts";
import {
  CONFIG_MAPS,
  CRDS,
  configMap,
  namespace,
  PODS,
  pod,
  SETS,
  statefulSet,
  WIDGETS,
  widget,
  widgetCrd,
} from "../testing/objects.ts";
import type { KubeObject } from "../types.ts";

const ownedBy = (owner: KubeObject, more: JsonObject = {}): JsonObject => ({
  ownerReferences: [
    { apiVersion: owner.apiVersion, kind: owner.kind, name: owner.metadata.name, uid: owner.metadata.uid, ...more },
  ],
});

describe("deleting", () => {
  it("removes an object without finalizers at once, and reports that", async () => {
    const server = new TestServer();
    const created = await server.create(SETS, statefulSet("db"));
    const answer = await server.remove(`${SETS}/db`);
    expect(answer.body).toMatchObject({
      kind: "Status",
      status: "Success",
      details: { name: "db", group: "apps", kind: "statefulsets", uid: created.metadata.uid },
    });
    expect((await server.get(`${SETS}/db`)).status).toBe(404);
  });

  it("marks an object with finalizers, and removes it with the last of them", async () => {
    const server = new TestServer();
    await server.create(SETS, { ...statefulSet("db"), metadata: { name: "db", finalizers: ["a.io/x", "a.io/y"] } });
    const answer = await server.remove(`${SETS}/db`);
    expect(answer.body.metadata).toMatchObject({
      deletionTimestamp: "2030-01-01T00:00:00Z",
      deletionGracePeriodSeconds: 0,
      generation: 2,
    });
    server.clock.advance(5000);
    expect((await server.remove(`${SETS}/db`)).body.metadata).toEqual(answer.body.metadata);
    await server.merge(`${SETS}/db`, { metadata: { finalizers: ["a.io/y"] } });
    const added = await server.ask(
      "PATCH",
      `${SETS}/db`,
      { metadata: { finalizers: ["a.io/y", "a.io/z"] } },
      { "content-type": "application/merge-patch+json" },
    );
    expect(added.body.message).toContain(
      'metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"a.io/z"}',
    );
    const last = await server.merge(`${SETS}/db`, { metadata: { finalizers: null } });
    expect(last.metadata.finalizers).toBeUndefined();
    expect((await server.get(`${SETS}/db`)).status).toBe(404);
  });

  it("respects uid and version preconditions", async () => {
    const server = new TestServer();
    const { metadata } = await server.create(CONFIG_MAPS, configMap("a"));
    const attempt = async (preconditions: JsonObject) =>
      (await server.ask("DELETE", `${CONFIG_MAPS}/a`, { preconditions })).body;
    expect(await attempt({ uid: "other" })).toMatchObject({
      code: 409,
      message: `Operation cannot be fulfilled on configmaps "a": Precondition failed: UID in precondition: other, UID in object meta: ${metadata.uid}`,
    });
    expect(await attempt({ resourceVersion: "1" })).toMatchObject({ code: 409 });
    expect(await attempt({ uid: metadata.uid ?? "", resourceVersion: metadata.resourceVersion ?? "" })).toMatchObject({
      status: "Success",
    });
  });

  it("gives a bound pod its grace period, an unbound one none", async () => {
    const server = new TestServer();
    await server.create(PODS, pod("free"));
    await server.create(PODS, pod("bound", {}, { nodeName: "n1" }));
    await server.remove(`${PODS}/free`);
    const marked = await server.remove(`${PODS}/bound`);
    expect(await server.names(PODS)).toEqual(["bound"]);
    expect(marked.body.metadata).toMatchObject({
      deletionGracePeriodSeconds: 30,
      deletionTimestamp: "2030-01-01T00:00:30Z",
    });
    await server.remove(`${PODS}/bound`, { gracePeriodSeconds: 0 });
    expect(await server.names(PODS)).toEqual([]);
  });

  it("a collection deletes the selected objects", async () => {
    const server = new TestServer();
    for (const name of ["a", "b", "c"]) await server.create(CONFIG_MAPS, configMap(name, {}, { labels: { name } }));
    const answer = await server.remove(`${CONFIG_MAPS}?labelSelector=name%20in%20(a,c)`);
    expect((answer.body.items as unknown[]).length).toBe(2);
    expect(await server.names(CONFIG_MAPS)).toEqual(["b"]);
  });
});

describe("deleting an owner", () => {
  async function family(block: boolean): Promise<{ server: TestServer; log: string[] }> {
    const server = new TestServer();
    const owner = await server.create(SETS, statefulSet("db"));
    const child = await server.create(
      PODS,
      pod("db-0", ownedBy(owner, { blockOwnerDeletion: block, controller: true })),
    );
    await server.create(CONFIG_MAPS, configMap("grandchild", {}, ownedBy(child, { blockOwnerDeletion: block })));
    const log: string[] = [];
    server.server.onCommit(({ type, key }) => log.push(`${type} ${key.name}`));
    return { server, log };
  }

  it("in the background deletes the owner first, then its dependents and theirs", async () => {
    const { server, log } = await family(true);
    await server.remove(`${SETS}/db`, { propagationPolicy: "Background" });
    expect(log).toEqual(["DELETED db", "DELETED db-0", "DELETED grandchild"]);
  });

  it("is done in the background by default", async () => {
    const { server, log } = await family(false);
    await server.remove(`${SETS}/db`);
    expect(log).toEqual(["DELETED db", "DELETED db-0", "DELETED grandchild"]);
  });

  it("in the foreground deletes the deepest dependents first, the owner last", async () => {
    const { server, log } = await family(true);
    const answer = await server.remove(`${SETS}/db?propagationPolicy=Foreground`);
    expect(answer.body.metadata).toMatchObject({ finalizers: ["foregroundDeletion"] });
    expect(log.filter((line) => line.startsWith("DELETED"))).toEqual([
      "DELETED grandchild",
      "DELETED db-0",
      "DELETED db",
    ]);
  });

  it("in the foreground waits for a dependent that blocks, and not for one that does not", async () => {
    const waiting = new TestServer();
    const owner = await waiting.create(SETS, statefulSet("db"));
    const held = { finalizers: ["a.io/hold"], ...ownedBy(owner, { blockOwnerDeletion: true }) };
    await waiting.create(PODS, pod("db-0", held));
    await waiting.remove(`${SETS}/db?propagationPolicy=Foreground`);
    expect((await waiting.read(`${SETS}/db`)).metadata.deletionTimestamp).toBeDefined();
    expect((await waiting.read(`${PODS}/db-0`)).metadata.deletionTimestamp).toBeDefined();
    await waiting.merge(`${PODS}/db-0`, { metadata: { finalizers: null } });
    expect(await waiting.names(PODS)).toEqual([]);
    expect(await waiting.names(SETS)).toEqual([]);

    const { server } = await family(false);
    await server.remove(`${SETS}/db?propagationPolicy=Foreground`);
    expect(await server.names(SETS)).toEqual([]);
    expect(await server.names(PODS)).toEqual([]);
  });

  it("with Orphan keeps the dependents, which lose their owner reference", async () => {
    const { server, log } = await family(true);
    await server.remove(`${SETS}/db`, { propagationPolicy: "Orphan" });
    expect(log.at(-1)).toBe("DELETED db");
    expect((await server.read(`${PODS}/db-0`)).metadata.ownerReferences).toBeUndefined();
    expect(await server.names(CONFIG_MAPS)).toEqual(["grandchild"]);
  });

  it("that never existed deletes its dependents, unless its kind is not served", async () => {
    const server = new TestServer();
    const owner = (apiVersion: string, kind: string) => ({
      ownerReferences: [{ apiVersion, kind, name: "ghost", uid: "11111111-1111-4111-8111-111111111111" }],
    });
    await server.create(CONFIG_MAPS, configMap("gone", {}, owner("apps/v1", "StatefulSet")));
    await server.create(CONFIG_MAPS, configMap("kept", {}, owner("unknown.io/v1", "Ghost")));
    expect(await server.names(CONFIG_MAPS)).toEqual(["kept"]);
  });

  it("only takes the reference off a dependent that has another owner left", async () => {
    const server = new TestServer();
    const first = await server.create(SETS, statefulSet("one"));
    const second = await server.create(SETS, statefulSet("two"));
    const both = {
      ownerReferences: [first, second].flatMap((each) => (ownedBy(each).ownerReferences as JsonObject[]) ?? []),
    };
    await server.create(CONFIG_MAPS, configMap("shared", {}, both));
    await server.remove(`${SETS}/one`);
    const kept = await server.read(`${CONFIG_MAPS}/shared`);
    expect(kept.metadata.ownerReferences?.map((owner) => owner.name)).toEqual(["two"]);
  });

  it("in another namespace is impossible: such an owner counts as absent", async () => {
    const server = new TestServer();
    await server.create("/api/v1/namespaces", namespace("other"));
    const owner = await server.create(SETS, statefulSet("db"));
    await server.create("/api/v1/namespaces/other/configmaps", configMap("far", {}, ownedBy(owner)));
    expect(await server.names("/api/v1/configmaps")).toEqual([]);
  });
});

describe("deleting namespaces", () => {
  it("deletes their content", async () => {
    const server = new TestServer();
    await server.create("/api/v1/namespaces", namespace("temp"));
    await server.create("/api/v1/namespaces/temp/configmaps", configMap("a"));
    await server.create("/api/v1/namespaces/temp/pods", pod("p"));
    const answer = await server.remove("/api/v1/namespaces/temp");
    expect(answer.body).toMatchObject({ kind: "Namespace", status: { phase: "Terminating" } });
    expect((await server.get("/api/v1/namespaces/temp")).status).toBe(404);
    expect(await server.names("/api/v1/configmaps")).toEqual([]);
  });

  it("that every client relies on is refused", async () => {
    const answer = await new TestServer().ask("DELETE", "/api/v1/namespaces/default");
    expect([answer.status, answer.body.message]).toEqual([
      403,
      'namespaces "default" is forbidden: this namespace may not be deleted',
    ]);
  });

  it("waits for objects with finalizers, and accepts nothing new meanwhile", async () => {
    const server = new TestServer();
    const inside = "/api/v1/namespaces/temp/configmaps";
    await server.create("/api/v1/namespaces", namespace("temp"));
    await server.create(inside, configMap("held", {}, { finalizers: ["a.io/hold"] }));
    await server.remove("/api/v1/namespaces/temp");
    expect((await server.read("/api/v1/namespaces/temp")).status).toMatchObject({ phase: "Terminating" });
    const refused = await server.ask("POST", inside, configMap("new"));
    expect([refused.status, refused.body.message]).toEqual([
      403,
      'configmaps "new" is forbidden: unable to create new content in namespace temp because it is being terminated',
    ]);
    await server.merge(`${inside}/held`, { metadata: { finalizers: null } });
    expect((await server.get("/api/v1/namespaces/temp")).status).toBe(404);
  });
});

describe("custom resource definitions", () => {
  it("serve their kind while they exist, and are deleted with its objects", async () => {
    const server = new TestServer();
    expect((await server.get(WIDGETS)).status).toBe(404);
    const crd = await server.create(CRDS, widgetCrd());
    expect((crd.status as JsonObject).conditions).toMatchObject([
      { type: "NamesAccepted", status: "True" },
      { type: "Established", status: "True" },
    ]);
    await server.create(WIDGETS, widget("free"));
    await server.create(WIDGETS, widget("held", {}, { finalizers: ["a.io/hold"] }));
    const watch = server.watch(`${WIDGETS}?watch=true`);
    await server.remove(`${CRDS}/widgets.example.io`);
    expect(await server.names(WIDGETS)).toEqual(["held"]);
    const refused = await server.ask("POST", WIDGETS, widget("new"));
    expect([refused.status, refused.body.message]).toEqual([
      405,
      "create not allowed while custom resource definition is terminating",
    ]);
    await server.merge(`${WIDGETS}/held`, { metadata: { finalizers: null } });
    expect((await server.get(`${CRDS}/widgets.example.io`)).status).toBe(404);
    expect((await server.get(WIDGETS)).status).toBe(404);
    expect((await watch.rest()).map(({ type }) => type)).toEqual(["ADDED", "ADDED", "DELETED", "MODIFIED", "DELETED"]);
  });
});

describe("events", () => {
  it("are deleted an hour after they were last seen", async () => {
    const server = new TestServer();
    const path = "/api/v1/namespaces/default/events";
    const event = (name: string, more: JsonObject = {}) => ({
      apiVersion: "v1",
      kind: "Event",
      metadata: { name },
      ...more,
    });
    await server.create(path, event("old"));
    await server.create(path, event("repeated", { lastTimestamp: "2030-01-01T00:30:00Z" }));
    server.clock.advance(61 * 60 * 1000);
    for (let index = 0; index < 64; index++) await server.create(path, event(`new-${index}`));
    const names = await server.names(path);
    expect(names).toHaveLength(65);
    expect(names).not.toContain("old");
  });
});
