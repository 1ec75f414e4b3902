import { describe, expect, it } from "vitest";
import type { Json, JsonObject } from "../../runtime/index.ts";
import { builtInShape } from "../kinds/schema-shape.ts";
import { TestServer } from "../testing/client.ts";
import { CONFIG_MAPS, CRDS, configMap, SETS, statefulSet, WIDGETS, widget, widgetCrd } from "../testing/objects.ts";
import { mergePatch } from "./merge.ts";
import { strategicMerge } from "./strategic.ts";

const SHAPE = builtInShape("apps", "v1", "StatefulSet");

/** Patches a pod template's spec. */
function patched(podSpec: JsonObject, patch: JsonObject): Json | undefined {
  const wrap = (spec: JsonObject) => ({ spec: { template: { spec } } });
  const result = strategicMerge(wrap(podSpec), wrap(patch), SHAPE);
  return (result.spec as { template: { spec: JsonObject } }).template.spec;
}

describe("strategic merge patch", () => {
  it("merges containers by name, env by name, ports by containerPort", () => {
    const original = {
      containers: [
        { name: "a", image: "a:1", env: [{ name: "X", value: "1" }], ports: [{ containerPort: 80, name: "web" }] },
        { name: "b", image: "b:1" },
      ],
    };
    const patch = {
      containers: [
        { name: "a", image: "a:2", env: [{ name: "Y", value: "2" }], ports: [{ containerPort: 80, name: "http" }] },
        { name: "c", image: "c:1" },
      ],
    };
    expect(patched(original, patch)).toEqual({
      containers: [
        {
          name: "a",
          image: "a:2",
          env: [
            { name: "X", value: "1" },
            { name: "Y", value: "2" },
          ],
          ports: [{ containerPort: 80, name: "http" }],
        },
        { name: "b", image: "b:1" },
        { name: "c", image: "c:1" },
      ],
    });
  });

  it("deletes with null and with $patch: delete", () => {
    const original = { containers: [{ name: "a", image: "a:1", command: ["x"] }, { name: "b" }] };
    const patch = {
      containers: [
        { name: "a", command: null },
        { name: "b", $patch: "delete" },
      ],
    };
    expect(patched(original, patch)).toEqual({ containers: [{ name: "a", image: "a:1" }] });
  });

  it("replaces a list and a map with $patch: replace", () => {
    expect(patched({ containers: [{ name: "a" }] }, { containers: [{ name: "b" }, { $patch: "replace" }] })).toEqual({
      containers: [{ name: "b" }],
    });
    expect(
      patched({ securityContext: { runAsUser: 1 } }, { securityContext: { $patch: "replace", fsGroup: 2 } }),
    ).toEqual({
      securityContext: { fsGroup: 2 },
    });
  });

  it("orders by $setElementOrder, and keeps other items behind their neighbour", () => {
    const original = { containers: [{ name: "a" }, { name: "injected" }, { name: "b" }] };
    const patch = {
      "$setElementOrder/containers": [{ name: "c" }, { name: "b" }, { name: "a" }],
      containers: [{ name: "c" }],
    };
    expect(patched(original, patch)).toEqual({
      containers: [{ name: "c" }, { name: "b" }, { name: "a" }, { name: "injected" }],
    });
  });

  it("merges and unmerges lists of scalars that are sets", () => {
    const original = { metadata: { name: "x", finalizers: ["a.io/1", "a.io/2"] } };
    const patch = { metadata: { "$deleteFromPrimitiveList/finalizers": ["a.io/1"], finalizers: ["a.io/3"] } };
    expect(strategicMerge(original, patch, SHAPE)).toEqual({
      metadata: { name: "x", finalizers: ["a.io/2", "a.io/3"] },
    });
  });

  it("keeps only what $retainKeys names", () => {
    const original = { spec: { updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 1 } } } };
    const patch = { spec: { updateStrategy: { $retainKeys: ["type"], type: "OnDelete" } } };
    expect(strategicMerge(original, patch, SHAPE)).toEqual({ spec: { updateStrategy: { type: "OnDelete" } } });
  });

  it("replaces lists without a merge key", () => {
    expect(patched({ tolerations: [{ key: "a" }] }, { tolerations: [{ key: "b" }] })).toEqual({
      tolerations: [{ key: "b" }],
    });
  });

  it("refuses items without their key, and unknown directives", () => {
    expect(() => patched({}, { containers: [{ image: "x" }] })).toThrow("does not contain declared merge key: name");
    expect(() => patched({}, { $patch: "explode" })).toThrow("unrecognized patch directive");
  });

  it("works only for built-in kinds", async () => {
    const server = new TestServer();
    await server.create(CRDS, widgetCrd());
    await server.create(WIDGETS, widget("w"));
    const headers = { "content-type": "application/strategic-merge-patch+json" };
    expect((await server.ask("PATCH", `${WIDGETS}/w`, {}, headers)).status).toBe(415);
    await server.create(SETS, statefulSet("db"));
    const patch = { spec: { template: { spec: { containers: [{ name: "db", image: "db:2" }] } } } };
    const answer = await server.ask("PATCH", `${SETS}/db`, patch, headers);
    expect(answer.body.spec).toMatchObject({
      template: { spec: { containers: [{ name: "db", image: "db:2", imagePullPolicy: "IfNotPresent" }] } },
    });
  });
});

describe("merge patch", () => {
  it("follows RFC 7386", () => {
    expect(mergePatch({ a: "b", c: { d: "e", f: "g" } }, { a: "z", c: { f: null } })).toEqual({
      a: "z",
      c: { d: "e" },
    });
    expect(mergePatch({ a: [{ b: "c" }] }, { a: [1] })).toEqual({ a: [1] });
    expect(mergePatch({ a: "foo" }, { b: { c: { d: null } } })).toEqual({ a: "foo", b: { c: {} } });
  });
});

describe("JSON patch", () => {
  const headers = { "content-type": "application/json-patch+json" };

  it("applies all its steps or none", async () => {
    const server = new TestServer();
    await server.create(CONFIG_MAPS, configMap("a", { x: "1" }));
    const steps = [
      { op: "test", path: "/data/x", value: "1" },
      { op: "add", path: "/data/y", value: "2" },
      { op: "move", from: "/data/x", path: "/data/z" },
    ];
    expect((await server.ask("PATCH", `${CONFIG_MAPS}/a`, steps, headers)).body.data).toEqual({ y: "2", z: "1" });
    const failing = [
      { op: "add", path: "/data/w", value: "3" },
      { op: "test", path: "/data/z", value: "other" },
    ];
    const refused = await server.ask("PATCH", `${CONFIG_MAPS}/a`, failing, headers);
    expect([refused.status, refused.body.message]).toEqual([
      422,
      expect.stringContaining("testing value /data/z failed"),
    ]);
    const missing = await server.ask("PATCH", `${CONFIG_MAPS}/a`, [{ op: "remove", path: "/nope/x" }], headers);
    expect([missing.status, missing.body.message]).toEqual([422, expect.stringContaining("/nope/x")]);
    expect((await server.read(`${CONFIG_MAPS}/a`)).data).toEqual({ y: "2", z: "1" });
  });

  it("respects the version that it tests or sets", async () => {
    const server = new TestServer();
    await server.create(CONFIG_MAPS, configMap("a", { x: "1" }));
    const steps = [{ op: "replace", path: "/metadata/resourceVersion", value: "1" }];
    expect((await server.ask("PATCH", `${CONFIG_MAPS}/a`, steps, headers)).status).toBe(409);
  });
});
