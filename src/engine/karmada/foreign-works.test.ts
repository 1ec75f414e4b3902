import { describe, expect, it } from "vitest";
import type { KubeObject } from "../../kube/index.ts";
import { carriedBy } from "../dispatch-objects.ts";
import { MARKS } from "../marks.ts";
import type { EngineApp } from "../port.ts";
import { foreignOutline, rivalWords } from "./foreign-works.ts";
import { holdPolicy, isHolding } from "./hub.ts";
import { BINDING_ID } from "./resources.ts";
import { outlineOf } from "./works.ts";

const APP: EngineApp = {
  namespace: "default",
  name: "web",
  template: { apiVersion: "apps/v1", kind: "StatefulSet", namespace: "default", name: "web" },
};
const OTHER = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "conf", namespace: "default" } };

function work(cluster: string, name: string, metadata: Partial<KubeObject["metadata"]> = {}): KubeObject {
  const { apiVersion, kind, ...named } = APP.template;
  const managedFields = [{ manager: "karmada", fieldsV1: { long: "x".repeat(10_000) } }];
  return {
    apiVersion: "work.karmada.io/v1alpha1",
    kind: "Work",
    metadata: { name, namespace: `karmada-es-${cluster}`, uid: "u", resourceVersion: "7", generation: 2, ...metadata },
    spec: { workload: { manifests: [OTHER, { apiVersion, kind, metadata: named, spec: { managedFields } }] } },
    status: { manifestStatuses: [{ status: { long: "y".repeat(10_000) } }] },
  };
}

describe("the outline of another writer's Work", () => {
  const whole = work("member1", "theirs", {
    labels: { [BINDING_ID]: "b", app: "z".repeat(60) },
    annotations: { "policy.karmada.io/applied-overrides": "o".repeat(10_000) },
    deletionTimestamp: "2026-01-01T00:00:00Z",
  });
  const outline = foreignOutline(whole);

  it("names everything that it carries, without the content", () => {
    expect(carriedBy(outline)).toEqual([{ ...OTHER.metadata, apiVersion: "v1", kind: "ConfigMap" }, APP.template]);
    expect(JSON.stringify(outline).length).toBeLessThan(700);
  });

  it("keeps what distinguishes versions and owners, and is its own outline", () => {
    const { name, namespace, uid, resourceVersion, generation, deletionTimestamp } = whole.metadata;
    expect(outline.metadata).toEqual({
      ...{ name, namespace, uid, resourceVersion, generation, deletionTimestamp },
      labels: { [BINDING_ID]: "b" },
    });
    expect(foreignOutline(outline)).toEqual(outline);
  });
});

it("the outline of a Work with our label keeps the names of everything that it carries, because it may not be ours", () => {
  expect(carriedBy(outlineOf(work("member1", "theirs")))).toEqual(carriedBy(work("member1", "theirs")));
});

describe("the message about rivals", () => {
  it("gives name and cluster, with commands that keep what runs", () => {
    const { message, remedy } = rivalWords(APP, [work("member2", "theirs")]);
    expect(message).toContain(
      "StatefulSet default/web is also delivered by Work karmada-es-member2/theirs (cluster member2)",
    );
    expect(remedy).toContain("kubectl patch work theirs -n karmada-es-member2 --type merge");
    expect(remedy).toContain("kubectl delete work theirs -n karmada-es-member2");
  });

  it("names the application that they belong to, and only the first few of many", () => {
    const annotations = { [MARKS.appNamespace]: "default", [MARKS.appName]: "other" };
    const rivals = ["a", "b", "c", "d", "e"].map((cluster) => work(cluster, "theirs", { annotations }));
    const { message } = rivalWords(APP, rivals);
    expect(message).toContain("(cluster a, of CrossClusterStatefulset default/other)");
    expect(message).toContain("cluster c");
    expect(message).not.toContain("cluster d");
    expect(message).toContain("and 2 more");
  });
});

describe("a hold", () => {
  const hold = holdPolicy(APP);

  it("is recognized also if an API server adds or removes empty fields", () => {
    const { name, namespace, labels, annotations } = hold.metadata;
    const stored = { ...hold, metadata: { name, namespace, annotations, labels: { ...labels, more: "yes" } } };
    expect(isHolding(stored, APP)).toBe(true);
    const spelledOut = JSON.parse(
      JSON.stringify(hold).replace('"overriders":{', '"targetCluster":{},"overriders":{"argsOverrider":[],'),
    );
    expect(isHolding(spelledOut, APP)).toBe(true);
  });

  it("of another template, or without its protection, does not count", () => {
    expect(isHolding(hold, { ...APP, template: { ...APP.template, name: "other" } })).toBe(false);
    expect(isHolding({ ...hold, metadata: { ...hold.metadata, labels: {} } }, APP)).toBe(false);
  });
});
