import { describe, expect, it } from "vitest";
import { findAll, findFirst, JsonPathError, parseJsonPath } from "./json-path.ts";

const object = {
  metadata: { labels: { "app.kubernetes.io/name": "xline" } },
  spec: { replicas: 3, ports: [{ port: 80 }, { port: 443 }] },
  status: {
    conditions: [
      { type: "Ready", status: "True", weight: 2 },
      { type: "Synced", status: "False", weight: 1 },
    ],
  },
};

const first = (path: string) => findFirst(parseJsonPath(path), object);
const all = (path: string) => findAll(parseJsonPath(path), object);

describe("JSONPath", () => {
  it.each([
    [".spec.replicas", 3],
    ["spec.replicas", 3],
    ["$.spec.replicas", 3],
    ["{.spec.replicas}", 3],
    [".spec.ports[1].port", 443],
    [".spec.ports[-1].port", 443],
    [".metadata.labels.app\\.kubernetes\\.io/name", "xline"],
    [".metadata.labels['app.kubernetes.io/name']", "xline"],
    ['.metadata.labels["app.kubernetes.io/name"]', "xline"],
    ['.status.conditions[?(@.type=="Ready")].status', "True"],
    [".status.conditions[?(@.type=='Synced')].status", "False"],
    [".status.conditions[?(@.weight>1)].type", "Ready"],
    ['.status.conditions[?(@.type!="Ready")].type', "Synced"],
    [".status.conditions[?(@.weight)].type", "Ready"],
  ])("%s finds %j", (path, expected) => expect(first(path)).toBe(expected));

  it("finds every item with [*]", () => expect(all(".spec.ports[*].port")).toEqual([80, 443]));

  it.each([
    ".spec.missing.deeper",
    ".spec.ports[7]",
    '.status.conditions[?(@.type=="Gone")].status',
    ".spec.replicas.x",
  ])("%s finds nothing", (path) => expect(all(path)).toEqual([]));

  it("does not read inherited properties of JavaScript objects", () => {
    expect(all(".__proto__")).toEqual([]);
    expect(all(".spec.constructor.name")).toEqual([]);
  });

  it.each([".spec[", ".a[?(type)]", ".a[?(@.b==c)]", ".spec..replicas"])("refuses %s", (path) =>
    expect(() => parseJsonPath(path)).toThrow(JsonPathError),
  );
});
