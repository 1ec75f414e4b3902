import { describe, expect, it } from "vitest";
import { customResourceDefinitions } from "../../api/index.ts";
import type { JsonObject } from "../../runtime/index.ts";
import { listAt, setAt } from "../store/values.ts";
import { TestServer } from "../testing/client.ts";
import { CRDS, WIDGETS, widget, widgetCrd } from "../testing/objects.ts";

const SCHEMA = ["schema", "openAPIV3Schema"];

describe("custom resources", () => {
  it("are pruned, defaulted and validated by their schema", async () => {
    const server = new TestServer();
    await server.create(CRDS, widgetCrd());
    const created = await server.create(WIDGETS, widget("w", { unknown: 1 }));
    expect(created.spec).toEqual({ size: 1 });
    const refused = await server.ask("POST", WIDGETS, widget("x", { size: -1 }));
    expect([refused.status, refused.body.message]).toEqual([
      422,
      'Widget.example.io "x" is invalid: spec.size: Invalid value: -1: spec.size in body should be greater than or equal to 0',
    ]);
  });

  it("are served in every version, stored in one", async () => {
    const server = new TestServer();
    await server.create(CRDS, widgetCrd());
    const beta = "/apis/example.io/v1beta1/namespaces/default/widgets";
    await server.create(beta, { ...widget("w", { size: 5 }), apiVersion: "example.io/v1beta1" });
    expect(await server.read(`${WIDGETS}/w`)).toMatchObject({ apiVersion: "example.io/v1", spec: { size: 5 } });
    await server.merge(`${beta}/w`, { spec: { size: 6 } });
    expect(await server.read(`${beta}/w`)).toMatchObject({ apiVersion: "example.io/v1beta1", spec: { size: 6 } });
    expect((await server.items(beta))[0]).toMatchObject({ apiVersion: "example.io/v1beta1" });
    expect(server.server.snapshot().objects.filter(({ resource }) => resource === "example.io/widgets")).toMatchObject([
      { object: { apiVersion: "example.io/v1" } },
    ]);
  });

  it("use a changed schema at once", async () => {
    const server = new TestServer();
    const crd = await server.create(CRDS, widgetCrd());
    const before = server.server.registry.revision;
    const versions = structuredClone(listAt(crd, "spec", "versions"));
    setAt(versions[0] as JsonObject, [...SCHEMA, "properties", "spec", "properties", "extra"], { type: "boolean" });
    await server.merge(`${CRDS}/widgets.example.io`, { spec: { versions } });
    expect((await server.create(WIDGETS, widget("w", { extra: true }))).spec).toEqual({ size: 1, extra: true });
    expect(server.server.registry.revision).toBeGreaterThan(before);
  });

  it("get the defaults of a changed schema even if a write changes nothing", async () => {
    const server = new TestServer();
    const crd = await server.create(CRDS, widgetCrd());
    await server.create(WIDGETS, widget("w", { size: 5 }));
    await server.merge(`${WIDGETS}/w`, { metadata: { labels: { a: "1" } } });
    const versions = structuredClone(listAt(crd, "spec", "versions"));
    const extra = { type: "string", default: "new" };
    setAt(versions[0] as JsonObject, [...SCHEMA, "properties", "spec", "properties", "extra"], extra);
    await server.merge(`${CRDS}/widgets.example.io`, { spec: { versions } });
    const label = { metadata: { labels: { a: "2" } } };
    expect((await server.merge(`${WIDGETS}/w`, label)).spec).toEqual({ size: 5, extra: "new" });
  });

  it("keep every version unchanged, even if later ones share parts of it", async () => {
    const server = new TestServer();
    await server.create(CRDS, widgetCrd());
    const path = `${WIDGETS}/w`;
    const first = await server.create(WIDGETS, widget("w", { size: 5 }));
    const seen: JsonObject[] = [];
    server.server.onCommit(({ object }) => seen.push(object));
    for (const size of [6, 6, 7]) await server.merge(path, { spec: { size } });
    await server.merge(path, { metadata: { labels: { a: "1" } } });
    const texts = seen.map((object) => JSON.stringify(object));
    await server.merge(path, { spec: { size: 8, unknown: 1 } });
    expect(seen.slice(0, texts.length).map((object) => JSON.stringify(object))).toEqual(texts);
    expect(seen.map(({ spec }) => spec)).toEqual([{ size: 6 }, { size: 7 }, { size: 7 }, { size: 8 }]);
    expect(seen[1]?.spec).toBe(seen[2]?.spec);
    expect(first.spec).toEqual({ size: 5 });
  });

  it("cannot use names that another kind of the group has", async () => {
    const server = new TestServer();
    await server.create(CRDS, widgetCrd());
    const other = widgetCrd({ names: { plural: "gadgets", kind: "Gadget", shortNames: ["wd"] } });
    const crd = await server.create(CRDS, { ...other, metadata: { name: "gadgets.example.io" } });
    expect((crd.status as JsonObject).conditions).toMatchObject([
      { type: "NamesAccepted", status: "False", reason: "ShortNamesConflict", message: '"wd" is already in use' },
      { type: "Established", status: "False" },
    ]);
    expect((await server.get("/apis/example.io/v1/gadgets")).status).toBe(404);
  });

  it.each([
    [{ metadata: { name: "other.example.io" } }, 'must be spec.names.plural+"."+spec.group'],
    [{ spec: { ...(widgetCrd().spec as JsonObject), scope: "Galaxy" } }, "spec.scope: Unsupported value"],
    [widgetCrd({ versions: [{ name: "v1", served: true, storage: true }] }), "schemas are required"],
    [
      widgetCrd({
        versions: [{ name: "v1", served: true, storage: false, schema: { openAPIV3Schema: { type: "object" } } }],
      }),
      "exactly one version marked as storage version",
    ],
    [
      widgetCrd({
        versions: [
          {
            name: "v1",
            served: true,
            storage: true,
            schema: { openAPIV3Schema: { type: "object", properties: { spec: {} } } },
          },
        ],
      }),
      "openAPIV3Schema",
    ],
  ])("refuse a broken definition %#", async (change, words) => {
    const server = new TestServer();
    const answer = await server.ask("POST", CRDS, { ...widgetCrd(), ...change });
    expect(answer.status).toBe(422);
    expect(answer.body.message).toContain(words);
  });

  it("Lockstep's own definitions are served", async () => {
    const server = new TestServer();
    for (const crd of customResourceDefinitions()) {
      const created = await server.create(`${CRDS}?fieldValidation=Strict`, crd);
      expect((created.status as JsonObject).conditions).toMatchObject([{ status: "True" }, { status: "True" }]);
    }
    expect(await server.names("/apis/apps.karmada.io/v1alpha1/crossclusterstatefulsets")).toEqual([]);
  });
});
