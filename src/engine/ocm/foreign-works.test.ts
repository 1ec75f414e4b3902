import { beforeEach, describe, expect, it } from "vitest";
import type { Cache, KubeObject } from "../../kube/index.ts";
import type { JsonObject } from "../../runtime/index.ts";
import { refKey } from "../dispatch-objects.ts";
import { MARKS } from "../marks.ts";
import { deliveredBy, ForeignWorks, foreignOutline } from "./foreign-works.ts";
import { APP, orderFor, written } from "./testing/agent.ts";

const STATEFUL_SET = { apiVersion: "apps/v1", kind: "StatefulSet", metadata: { name: "web", namespace: "default" } };
const CONFIG_MAP = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "web", namespace: "default" } };

function theirs(manifests: JsonObject[], metadata: JsonObject = {}, manifestConfigs: JsonObject[] = []): KubeObject {
  return foreignOutline({
    apiVersion: "work.open-cluster-management.io/v1",
    kind: "ManifestWork",
    metadata: { name: "by-hand", namespace: "east", ...metadata },
    spec: { workload: { manifests }, manifestConfigs },
  });
}

let unlabelled: KubeObject[];
let labelled: KubeObject[];
const cacheOf = (works: () => KubeObject[]) =>
  ({
    byIndex: (_index: string, key: string) => works().filter((work) => deliveredBy(work).map(refKey).includes(key)),
    get: ({ name }: { name: string }) => works().find(({ metadata }) => metadata.name === name),
  }) as unknown as Cache<KubeObject>;
const state = () => {
  const caches = { unlabelled: cacheOf(() => unlabelled), labelled: cacheOf(() => labelled) };
  return new ForeignWorks({ ...caches, isCluster: (namespace) => namespace === "east" }).state(APP);
};

beforeEach(() => {
  unlabelled = [];
  labelled = [];
});

describe("a ManifestWork of another writer", () => {
  it("that delivers our object and nothing else can be adopted if ours does not deliver it", () => {
    unlabelled = [theirs([STATEFUL_SET])];
    expect(state()).toEqual({ kind: "adopting", clusters: ["east"] });
  });

  it("that delivers it where ours does is a rival, and is named with the remedy", () => {
    labelled = [written(orderFor(1))];
    unlabelled = [theirs([STATEFUL_SET])];
    expect(state()).toMatchObject({
      kind: "unsafe",
      message: expect.stringContaining("ManifestWork east/by-hand (cluster east)"),
      remedy: expect.stringContaining("kubectl delete manifestwork by-hand -n east"),
    });
  });

  it("that also delivers other objects cannot be adopted, because they would be released with it", () => {
    unlabelled = [theirs([CONFIG_MAP, STATEFUL_SET])];
    expect(state()).toMatchObject({ kind: "unsafe", remedy: expect.stringContaining("a separate ManifestWork") });
  });

  it("that a ManifestWorkReplicaSet created cannot be adopted, because it would be recreated", () => {
    unlabelled = [
      theirs([STATEFUL_SET], { labels: { "work.open-cluster-management.io/manifestworkreplicaset": "default.all" } }),
    ];
    expect(state()).toMatchObject({ kind: "unsafe", message: expect.stringContaining("default.all") });
  });

  it("that only observes our object does not count", () => {
    const resourceIdentifier = { group: "apps", resource: "statefulsets", name: "web", namespace: "default" };
    unlabelled = [theirs([STATEFUL_SET], {}, [{ resourceIdentifier, updateStrategy: { type: "ReadOnly" } }])];
    expect(state()).toEqual({ kind: "held" });
  });

  it("that we have released no longer counts during its deletion; one that others delete counts until it is gone", () => {
    const deletionTimestamp = "2025-01-01T00:00:00Z";
    unlabelled = [theirs([STATEFUL_SET], { deletionTimestamp, annotations: { [MARKS.adopted]: "true" } })];
    expect(state()).toEqual({ kind: "held" });
    unlabelled = [theirs([STATEFUL_SET], { deletionTimestamp })];
    expect(state().kind).toBe("adopting");
  });

  it("in a namespace that is no cluster's does not count: a tenant could stop another one's application with it", () => {
    unlabelled = [theirs([STATEFUL_SET], { namespace: "vault" })];
    expect(state()).toEqual({ kind: "held" });
  });

  it("of another Lockstep application is a rival, and is never adopted", () => {
    labelled = [theirs([STATEFUL_SET], { labels: { [MARKS.app]: "other" } })];
    expect(state().kind).toBe("unsafe");
  });
});
