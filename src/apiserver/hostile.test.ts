import { describe, expect, it } from "vitest";
import { TestServer } from "./testing/client.ts";
import { CONFIG_MAPS, CRDS, configMap, SETS, statefulSet, WIDGETS, widget, widgetCrd } from "./testing/objects.ts";

const JSON_PATCH = { "content-type": "application/json-patch+json" };
const MERGE_PATCH = { "content-type": "application/merge-patch+json" };
const APPLY_PATCH = { "content-type": "application/apply-patch+yaml" };

describe("hostile input gets a Status and changes nothing", () => {
  const nested = (depth: number) => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;
  const bomb = `a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [${"*a,".repeat(9)}*a]\nc: &c [${"*b,".repeat(9)}*b]\nd: [${"*c,".repeat(9)}*c]\n`;

  it.each([
    ["malformed JSON", "POST", CONFIG_MAPS, "{", {}, 400],
    ["a body that is not JSON", "POST", CONFIG_MAPS, "", {}, 400],
    ["a list", "POST", CONFIG_MAPS, "[]", {}, 400],
    ["a number", "POST", CONFIG_MAPS, "7", {}, 400],
    ["null", "POST", CONFIG_MAPS, "null", {}, 400],
    [
      "a body above the limit",
      "POST",
      CONFIG_MAPS,
      JSON.stringify(configMap("x", { d: "x".repeat(4_000_000) })),
      {},
      413,
    ],
    ["deep nesting", "POST", CONFIG_MAPS, nested(100_000), {}, 400],
    ["__proto__ at the top", "POST", CONFIG_MAPS, '{"__proto__":{"polluted":1},"apiVersion":"v1"}', {}, 400],
    [
      "__proto__ in data",
      "POST",
      CONFIG_MAPS,
      '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{"__proto__":"1"}}',
      {},
      400,
    ],
    [
      "__proto__ in a merge patch",
      "PATCH",
      `${CONFIG_MAPS}/a`,
      '{"data":{"__proto__":{"polluted":"1"}}}',
      MERGE_PATCH,
      400,
    ],
    [
      "__proto__ in a JSON patch",
      "PATCH",
      `${CONFIG_MAPS}/a`,
      '[{"op":"add","path":"/__proto__/polluted","value":1}]',
      JSON_PATCH,
      422,
    ],
    [
      "constructor in a JSON patch",
      "PATCH",
      `${CONFIG_MAPS}/a`,
      '[{"op":"add","path":"/constructor/prototype/polluted","value":1}]',
      JSON_PATCH,
      422,
    ],
    [
      "a JSON patch that copies into itself",
      "PATCH",
      `${CONFIG_MAPS}/a`,
      JSON.stringify(Array.from({ length: 60 }, (_, step) => ({ op: "copy", from: "", path: `/x${step}` }))),
      JSON_PATCH,
      400,
    ],
    [
      "a JSON patch of one million steps",
      "PATCH",
      `${CONFIG_MAPS}/a`,
      `[${'{"op":"test","path":"","value":1},'.repeat(20_000)}{}]`,
      JSON_PATCH,
      413,
    ],
    ["a YAML bomb", "PATCH", `${CONFIG_MAPS}/a?fieldManager=m`, bomb, APPLY_PATCH, 400],
    ["YAML that is not an object", "PATCH", `${CONFIG_MAPS}/a?fieldManager=m`, "- 1", APPLY_PATCH, 400],
    ["protobuf", "POST", CONFIG_MAPS, "k8s\0", { "content-type": "application/vnd.kubernetes.protobuf" }, 415],
    ["an unknown patch", "PATCH", `${CONFIG_MAPS}/a`, "{}", { "content-type": "application/yaml" }, 415],
    ["metadata of a wrong type", "POST", CONFIG_MAPS, '{"apiVersion":"v1","kind":"ConfigMap","metadata":[]}', {}, 400],
    [
      "labels of a wrong type",
      "POST",
      CONFIG_MAPS,
      '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","labels":{"a":1}}}',
      {},
      400,
    ],
    ["another name than the URL's", "PUT", `${CONFIG_MAPS}/a`, JSON.stringify(configMap("b")), {}, 400],
    ["delete options of a wrong kind", "DELETE", `${CONFIG_MAPS}/a`, '{"kind":"Pod"}', {}, 400],
    ["an unknown propagation policy", "DELETE", `${CONFIG_MAPS}/a`, '{"propagationPolicy":"Sideways"}', {}, 400],
    ["a dot segment", "GET", "/api/v1/namespaces/../secrets", undefined, {}, 404],
    ["an encoded slash", "GET", `${CONFIG_MAPS}/a%2f..%2fb`, undefined, {}, 404],
    ["an encoded dot segment", "GET", "/api/v1/namespaces/%2e%2e/secrets", undefined, {}, 404],
    ["a broken percent-encoding", "GET", `${CONFIG_MAPS}/%zz`, undefined, {}, 400],
    ["doubled slashes", "GET", "/api//v1/namespaces//default/configmaps", undefined, {}, 404],
    ["a namespace of no characters", "GET", "/api/v1/namespaces//configmaps", undefined, {}, 404],
    ["a NUL", "GET", `${CONFIG_MAPS}/a%00`, undefined, {}, 404],
    ["an endless URL", "GET", `${CONFIG_MAPS}/${"a".repeat(70_000)}`, undefined, {}, 414],
    ["an absurd limit", "GET", `${CONFIG_MAPS}?limit=1e99`, undefined, {}, 400],
    ["a negative limit", "GET", `${CONFIG_MAPS}?limit=-1`, undefined, {}, 400],
    ["an absurd version", "GET", `${CONFIG_MAPS}?resourceVersion=banana`, undefined, {}, 400],
    ["a token that is not ours", "GET", `${CONFIG_MAPS}?continue=AAAA`, undefined, {}, 400],
    ["a broken label selector", "GET", `${CONFIG_MAPS}?labelSelector=a%20in%20(`, undefined, {}, 400],
    ["an endless label selector", "GET", `${CONFIG_MAPS}?labelSelector=${"a,".repeat(9_000)}b`, undefined, {}, 400],
    ["an unknown field selector", "GET", `${CONFIG_MAPS}?fieldSelector=spec.x=1`, undefined, {}, 400],
    ["constructor as a field selector", "GET", `${CONFIG_MAPS}?fieldSelector=constructor=1`, undefined, {}, 400],
    ["an unknown subresource", "GET", `${CONFIG_MAPS}/a/exec`, undefined, {}, 404],
    ["a method that a collection does not have", "PUT", CONFIG_MAPS, "{}", {}, 405],
  ] as const)("%s", async (_name, method, path, body, headers, status) => {
    const server = new TestServer();
    await server.create(CONFIG_MAPS, configMap("a", { n: "1" }));
    const before = JSON.stringify(server.server.snapshot());
    const answer = await server.ask(method, path, body, headers);
    expect(answer.body).toMatchObject({ kind: "Status", status: "Failure", code: status });
    expect(answer.status).toBe(status);
    expect(JSON.stringify(server.server.snapshot())).toBe(before);
    expect({}).not.toHaveProperty("polluted");
  });

  it("keys named like Object's own members are data", async () => {
    const server = new TestServer();
    const data = { constructor: "1", prototype: "2", toString: "3", hasOwnProperty: "4" };
    await server.create(CONFIG_MAPS, configMap("a", data));
    await server.merge(`${CONFIG_MAPS}/a`, { data: { valueOf: "5" }, metadata: { labels: { constructor: "yes" } } });
    await server.apply(`${CONFIG_MAPS}/a`, "m", { ...configMap("a", { constructor: "6" }) }, "&force=true");
    expect((await server.read(`${CONFIG_MAPS}/a`)).data).toEqual({ ...data, valueOf: "5", constructor: "6" });
    expect(await server.names(`${CONFIG_MAPS}?labelSelector=constructor%3Dyes`)).toEqual(["a"]);
    expect(await server.names(`${CONFIG_MAPS}?labelSelector=toString`)).toEqual([]);
  });

  it("an unexpected fault is a 500 without details", async () => {
    const server = new TestServer();
    server.server.addRoute({
      prefix: "/broken/",
      handle: () => Promise.reject(new Error("secret detail")),
    });
    const answer = await server.get("/broken/x");
    expect(answer.status).toBe(500);
    expect(answer.text).not.toContain("secret detail");
  });

  it("objects of custom kinds have the same protection", async () => {
    const server = new TestServer();
    await server.create(CRDS, widgetCrd());
    await server.create(WIDGETS, widget("w", { labels: { constructor: "x" } }));
    expect((await server.read(`${WIDGETS}/w`)).spec).toMatchObject({ labels: { constructor: "x" } });
    expect((await server.ask("POST", SETS, { ...statefulSet("x"), spec: 7 })).status).toBe(400);
  });
});
