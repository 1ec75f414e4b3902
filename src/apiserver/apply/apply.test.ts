import { describe, expect, it } from "vitest";
import { clone, type JsonObject, valueAt } from "../../runtime/index.ts";
import { setAt } from "../store/values.ts";
import { TestServer } from "../testing/client.ts";
import { CONFIG_MAPS, CRDS, configMap, SETS, statefulSet, WIDGETS, widget, widgetCrd } from "../testing/objects.ts";
import type { KubeObject, ManagedFieldsEntry } from "../types.ts";

const container = (name: string, more: JsonObject = {}) => ({ name, image: `${name}:1`, ...more });

function setWith(containers: JsonObject[], spec: JsonObject = {}): JsonObject {
  const set = clone(statefulSet("db"));
  setAt(set, ["spec", "template", "spec", "containers"], containers);
  return { ...set, spec: { ...(set.spec as JsonObject), ...spec } };
}

function without(object: JsonObject, ...path: string[]): JsonObject {
  const copy = clone(object);
  setAt(copy, path, undefined);
  return copy;
}

function entry(object: JsonObject, manager: string, operation = "Apply"): ManagedFieldsEntry | undefined {
  const { metadata } = object as KubeObject;
  return metadata.managedFields?.find((each) => each.manager === manager && each.operation === operation);
}

describe("managedFields", () => {
  it("record which manager applied which fields, in FieldsV1", async () => {
    const server = new TestServer();
    const { body } = await server.apply(`${CONFIG_MAPS}/a`, "me", configMap("a", { x: "1" }, { labels: { l: "1" } }));
    expect(entry(body, "me")).toEqual({
      manager: "me",
      operation: "Apply",
      apiVersion: "v1",
      time: "2030-01-01T00:00:00Z",
      fieldsType: "FieldsV1",
      fieldsV1: { "f:data": { "f:x": {} }, "f:metadata": { "f:labels": { "f:l": {} } } },
    });
  });

  it("name list items by their keys, and sets by their values", async () => {
    const server = new TestServer();
    await server.create(CRDS, widgetCrd());
    const { body } = await server.apply(
      `${WIDGETS}/w`,
      "me",
      widget("w", { parts: [{ name: "p", weight: 1 }], tags: ["t"] }),
    );
    expect(entry(body, "me")?.fieldsV1).toEqual({
      "f:spec": {
        "f:parts": { 'k:{"name":"p"}': { ".": {}, "f:name": {}, "f:weight": {} } },
        "f:tags": { 'v:"t"': {} },
      },
    });
    const ports = setWith([container("db", { ports: [{ containerPort: 80 }] })]);
    const applied = await server.apply(`${SETS}/db`, "me", ports);
    const containers = valueAt(entry(applied.body, "me")?.fieldsV1, "f:spec", "f:template", "f:spec", "f:containers");
    expect(valueAt(containers, 'k:{"name":"db"}', "f:ports")).toEqual({
      'k:{"containerPort":80,"protocol":"TCP"}': { ".": {}, "f:containerPort": {} },
    });
  });

  it("follow plain writes: the writer owns what it changed, and others lose it", async () => {
    const server = new TestServer();
    await server.apply(`${CONFIG_MAPS}/a`, "applier", configMap("a", { x: "1", y: "1" }));
    server.clock.advance(1000);
    await server.merge(`${CONFIG_MAPS}/a?fieldManager=editor`, { data: { y: "2", z: "3" } });
    const live = await server.read(`${CONFIG_MAPS}/a`);
    expect(entry(live, "applier")?.fieldsV1).toEqual({ "f:data": { "f:x": {} } });
    expect(entry(live, "editor", "Update")).toMatchObject({
      time: "2030-01-01T00:00:01Z",
      fieldsV1: { "f:data": { "f:y": {}, "f:z": {} } },
    });
    await server.merge(`${CONFIG_MAPS}/a?fieldManager=other`, { data: { y: null, z: null } });
    expect(entry(await server.read(`${CONFIG_MAPS}/a`), "editor", "Update")).toBeUndefined();
  });

  it("take the writer's name from its user agent, and separate subresources", async () => {
    const server = new TestServer();
    await server.create(SETS, statefulSet("db"));
    await server.merge(`${SETS}/db/status`, { status: { readyReplicas: 1 } });
    const live = await server.read(`${SETS}/db`);
    const managers = live.metadata.managedFields?.map(({ manager, subresource }) => [manager, subresource]);
    expect(managers).toEqual([
      ["tester", undefined],
      ["tester", "status"],
    ]);
    expect(valueAt(live.metadata.managedFields?.[1]?.fieldsV1, "f:status")).toEqual({ "f:readyReplicas": {} });
    expect(valueAt(live.metadata.managedFields?.[0]?.fieldsV1, "f:status")).toBeUndefined();
  });

  it("can be replaced and cleared by a writer who sends them", async () => {
    const server = new TestServer();
    await server.create(CONFIG_MAPS, configMap("a", { x: "1" }));
    const live = await server.read(`${CONFIG_MAPS}/a`);
    const managedFields = live.metadata.managedFields?.map((each) => ({
      ...each,
      manager: "kubectl",
      operation: "Apply",
    }));
    const headers = { "content-type": "application/json-patch+json" };
    const patch = [{ op: "replace", path: "/metadata/managedFields", value: managedFields }];
    const moved = await server.ask("PATCH", `${CONFIG_MAPS}/a`, patch, headers);
    expect(entry(moved.body, "kubectl")).toBeDefined();
    const cleared = await server.ask(
      "PATCH",
      `${CONFIG_MAPS}/a`,
      [{ op: "replace", path: "/metadata/managedFields", value: [{}] }],
      headers,
    );
    expect((cleared.body as KubeObject).metadata.managedFields).toBeUndefined();
  });

  it("are not changed by plain writes if the server does not track them", async () => {
    const server = new TestServer({ trackUpdates: false });
    const created = await server.create(CONFIG_MAPS, configMap("a"));
    expect(created.metadata.managedFields).toBeUndefined();
    await server.apply(`${CONFIG_MAPS}/a`, "me", configMap("a", { x: "1" }));
    const after = await server.merge(`${CONFIG_MAPS}/a`, { data: { y: "1" } });
    expect(after.metadata.managedFields?.map(({ manager }) => manager)).toEqual(["me"]);
  });
});

describe("server-side apply", () => {
  it("creates with 201, applies again with 200, and changes nothing the second time", async () => {
    const server = new TestServer();
    const config = setWith([container("db")]);
    expect((await server.apply(`${SETS}/db`, "me", config)).status).toBe(201);
    const before = server.server.resourceVersion;
    server.clock.advance(60_000);
    expect((await server.apply(`${SETS}/db`, "me", config)).status).toBe(200);
    expect(server.server.resourceVersion).toBe(before);
  });

  it("takes YAML", async () => {
    const server = new TestServer();
    const yaml = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  x: '1'\n";
    expect((await server.apply(`${CONFIG_MAPS}/a`, "me", yaml)).body.data).toEqual({ x: "1" });
  });

  it("needs a field manager", async () => {
    const server = new TestServer();
    const answer = await server.ask("PATCH", `${CONFIG_MAPS}/a`, configMap("a"), {
      "content-type": "application/apply-patch+yaml",
    });
    expect(answer.body.message).toBe(
      'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch',
    );
  });

  it("removes what the applier no longer applies, unless another manager owns it", async () => {
    const server = new TestServer();
    const url = `${CONFIG_MAPS}/a`;
    await server.apply(url, "one", configMap("a", { mine: "1", shared: "1" }));
    await server.apply(url, "two", configMap("a", { shared: "1" }));
    await server.merge(url, { data: { edited: "1" } });
    await server.apply(url, "one", configMap("a", {}));
    expect((await server.read(url)).data).toEqual({ shared: "1", edited: "1" });
    await server.apply(url, "two", without(configMap("a"), "data"));
    expect((await server.read(url)).data).toEqual({ edited: "1" });
  });

  it("removes a list item with its defaults, and keeps other managers' fields in the rest", async () => {
    const server = new TestServer();
    const url = `${SETS}/db`;
    await server.apply(url, "me", setWith([container("db"), container("sidecar")]));
    const patch = { spec: { template: { spec: { containers: [{ name: "db", env: [{ name: "A", value: "1" }] }] } } } };
    await server.ask("PATCH", url, patch, { "content-type": "application/strategic-merge-patch+json" });
    await server.apply(url, "me", setWith([container("db")]));
    const containers = valueAt(await server.read(url), "spec", "template", "spec", "containers") as JsonObject[];
    expect(containers.map(({ name }) => name)).toEqual(["db"]);
    expect(containers[0]?.env).toEqual([{ name: "A", value: "1" }]);
  });

  it("refuses to take what others own, and lists it in Kubernetes' wording", async () => {
    const server = new TestServer();
    const url = `${SETS}/db`;
    await server.apply(url, "one", setWith([container("db")]));
    const single = await server.apply(url, "two", setWith([container("db")], { replicas: 5 }));
    expect([single.status, single.body.reason, single.body.message]).toEqual([
      409,
      "Conflict",
      'Apply failed with 1 conflict: conflict with "one": .spec.replicas',
    ]);
    await server.merge(`${url}?fieldManager=kubectl-edit`, { spec: { replicas: 4 } });
    const several = await server.apply(url, "two", setWith([container("db", { image: "db:2" })], { replicas: 5 }));
    expect(several.body.message).toBe(
      [
        'Apply failed with 2 conflicts: conflicts with "kubectl-edit" using apps/v1:',
        "- .spec.replicas",
        'conflicts with "one":',
        '- .spec.template.spec.containers[name="db"].image',
      ].join("\n"),
    );
    expect((several.body.details as { causes: unknown[] }).causes).toContainEqual({
      reason: "FieldManagerConflict",
      message: 'conflict with "kubectl-edit" using apps/v1',
      field: ".spec.replicas",
    });
    expect((await server.read(url)).spec).toMatchObject({ replicas: 4 });
  });

  it("takes it by force, and the former owner loses it", async () => {
    const server = new TestServer();
    const url = `${CONFIG_MAPS}/a`;
    await server.apply(url, "one", configMap("a", { x: "1", y: "1" }));
    const forced = await server.apply(url, "two", configMap("a", { x: "2" }), "&force=true");
    expect(forced.body.data).toEqual({ x: "2", y: "1" });
    expect(entry(forced.body, "one")?.fieldsV1).toEqual({ "f:data": { "f:y": {} } });
  });

  it("shares a field that both apply with the same value", async () => {
    const server = new TestServer();
    const url = `${CONFIG_MAPS}/a`;
    await server.apply(url, "one", configMap("a", { x: "1" }));
    expect((await server.apply(url, "two", configMap("a", { x: "1" }))).status).toBe(200);
    await server.apply(url, "one", without(configMap("a"), "data"));
    expect((await server.read(url)).data).toEqual({ x: "1" });
  });

  it("merges lists by key and sets by value, in the applier's order", async () => {
    const server = new TestServer();
    await server.create(CRDS, widgetCrd());
    const url = `${WIDGETS}/w`;
    await server.apply(url, "one", widget("w", { parts: [{ name: "a" }, { name: "b", weight: 1 }], tags: ["x"] }));
    await server.apply(url, "two", widget("w", { parts: [{ name: "c" }, { name: "a", weight: 3 }], tags: ["y"] }));
    expect((await server.read(url)).spec).toMatchObject({
      parts: [{ name: "c" }, { name: "a", weight: 3 }, { name: "b", weight: 1 }],
      tags: ["x", "y"],
    });
    await server.apply(url, "one", widget("w", { parts: [{ name: "b", weight: 1 }] }));
    expect((await server.read(url)).spec).toMatchObject({
      parts: [{ name: "c" }, { name: "a", weight: 3 }, { name: "b", weight: 1 }],
      tags: ["y"],
    });
    await server.apply(url, "two", widget("w"));
    expect((await server.read(url)).spec).toEqual({ size: 1, parts: [{ name: "b", weight: 1 }] });
  });

  it("applies status only through its own subresource", async () => {
    const server = new TestServer();
    await server.create(CRDS, widgetCrd());
    await server.apply(`${WIDGETS}/w`, "me", { ...widget("w"), status: { ready: 9 } });
    expect((await server.read(`${WIDGETS}/w`)).status).toBeUndefined();
    await server.apply(`${WIDGETS}/w/status`, "me", { ...widget("w", { size: 7 }), status: { ready: 2 } });
    const live = await server.read(`${WIDGETS}/w`);
    expect([live.spec, live.status]).toEqual([{ size: 1 }, { ready: 2 }]);
    expect((await server.apply(`${WIDGETS}/nope/status`, "me", { ...widget("nope"), status: {} })).status).toBe(404);
  });

  it("respects a resource version and uid in the configuration", async () => {
    const server = new TestServer();
    await server.create(CONFIG_MAPS, configMap("a"));
    const stale = await server.apply(`${CONFIG_MAPS}/a`, "me", configMap("a", { x: "1" }, { resourceVersion: "1" }));
    expect(stale.status).toBe(409);
  });

  it("lets kubectl take over what it applied client-side, as long as no other manager has changed it since", async () => {
    const server = new TestServer();
    const url = `${CONFIG_MAPS}/a`;
    const LAST = "kubectl.kubernetes.io/last-applied-configuration";
    const sent = configMap("a", { x: "1", y: "1" });
    const annotations = { [LAST]: JSON.stringify(sent) };
    await server.create(`${CONFIG_MAPS}?fieldManager=kubectl-client-side-apply`, {
      ...sent,
      metadata: { name: "a", annotations },
    });
    expect((await server.apply(url, "other", configMap("a", { x: "2" }))).status).toBe(409);
    const taken = await server.apply(url, "kubectl", configMap("a", { x: "2" }));
    expect([taken.status, taken.body.data]).toEqual([200, { x: "2", y: "1" }]);
    expect((taken.body as KubeObject).metadata.annotations?.[LAST]).toContain('{"x":"2"}');
    await server.merge(`${url}?fieldManager=editor`, { data: { y: "edited" } });
    expect((await server.apply(url, "kubectl", configMap("a", { x: "2", y: "3" }))).body.message).toBe(
      'Apply failed with 1 conflict: conflict with "editor" using v1: .data.y',
    );
  });

  it("does nothing in a dry run", async () => {
    const server = new TestServer();
    const answer = await server.apply(`${CONFIG_MAPS}/a`, "me", configMap("a", { x: "1" }), "&dryRun=All");
    expect(answer.body.data).toEqual({ x: "1" });
    expect(await server.names(CONFIG_MAPS)).toEqual([]);
  });
});
