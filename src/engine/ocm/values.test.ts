import { describe, expect, it } from "vitest";
import type { KubeObject } from "../../kube/index.ts";
import { feedbackPaths, podOf } from "./feedback.ts";
import { APP, LINEAGE, orderFor, reported, SENT_AT_MS, written } from "./testing/agent.ts";
import { podsToObserve, podsUnobserved, snapshotByValues } from "./values.ts";
import { askingPatch, outlineOf, workFor } from "./works.ts";

const look = (work: KubeObject) => snapshotByValues(APP.template, outlineOf(work), SENT_AT_MS);
const observing = (replicas: number, previous?: KubeObject) => {
  const order = orderFor(replicas);
  const pods = podsToObserve(order.manifest, previous);
  const work = workFor(APP, order, previous, { plural: "statefulsets", lineage: LINEAGE, nowMs: SENT_AT_MS, pods });
  return { ...work, metadata: { ...work.metadata, uid: "u1", generation: 1 } };
};

describe("a workload by what its agent reports", () => {
  it("has the reported fields, at one version, and the written spec if the mark is from that write", () => {
    const values = { "/metadata/generation": 4, "/status/observedGeneration": 4, "/status/readyReplicas": 2 };
    const seen = look(reported(written(orderFor(2)), { values }));
    expect(seen).toMatchObject({
      kind: "present",
      source: "values",
      object: { metadata: { name: "web", generation: 4 }, spec: { replicas: 2 }, status: { readyReplicas: 2 } },
    });
  });

  it("has no spec while the mark is from an earlier write, because then the object's spec is unknown", () => {
    const first = reported(written(orderFor(2)), { values: { "/spec/replicas": 2 } });
    const second = { ...written(orderFor(3), first), status: first.status ?? null };
    expect(look(second)).toMatchObject({ kind: "present", object: { spec: { replicas: 2 } } });
  });

  it("shows the member's values, not the written ones, if others have changed them", () => {
    const seen = look(reported(written(orderFor(2)), { values: { "/spec/replicas": 7 } }));
    expect(seen).toMatchObject({ object: { spec: { replicas: 7 } } });
  });

  it("is absent only if the agent has checked and found nothing", () => {
    expect(look(reported(written(orderFor(1)), { there: false })).kind).toBe("absent");
    expect(look(written(orderFor(1))).kind).toBe("unreachable");
  });

  it("is not shown if another writer created it, because its unknown parts would look missing", () => {
    const refused = reported(written(orderFor(1)), { applied: false, message: "conflict with kubectl", mark: "x" });
    expect(look(refused)).toMatchObject({
      kind: "unreachable",
      message: expect.stringContaining("conflict with kubectl"),
    });
    const made = reported(written(orderFor(1)), { mark: `other123.1.${SENT_AT_MS}` });
    expect(look(made).kind).toBe("unreachable");
  });

  it("is another writer's only if the agent has read it and found no mark of Lockstep's on it", () => {
    const values = { "/metadata/uid": "o1" };
    const strangers = look(reported(written(orderFor(1)), { mark: null, values }));
    expect(strangers).toMatchObject({ kind: "unreachable", isForeign: true });
    const earlier = look(reported(written(orderFor(1)), { mark: `other123.1.${SENT_AT_MS}`, values }));
    expect(earlier).not.toHaveProperty("isForeign");
    expect(look(reported(written(orderFor(1)), { mark: null }))).not.toHaveProperty("isForeign");
  });
});

describe("pods by name", () => {
  const labelled = { "/metadata/labels": { app: "web" }, "/metadata/uid": "p", Ready: "True" };

  it("are those of the manifest", () => {
    const spec = { replicas: 2, ordinals: { start: 100 } };
    const { manifest } = orderFor(2);
    expect(podsToObserve({ ...manifest, spec }, undefined).map(({ name }) => name)).toEqual(["web-100", "web-101"]);
    expect(podsToObserve({ ...manifest, kind: "Deployment" }, undefined)).toEqual([]);
    expect(podsToObserve({ ...manifest, spec: { replicas: 101 } }, undefined)).toEqual([]);
  });

  it("are observed until they are gone", () => {
    const before = reported(observing(2), { values: labelled });
    expect(podsToObserve(orderFor(1).manifest, before).map(({ name }) => name)).toEqual(["web-0", "web-1"]);
    const gone = reported(observing(2), { there: false });
    expect(podsToObserve(orderFor(1).manifest, gone).map(({ name }) => name)).toEqual(["web-0"]);
  });

  it("are shown with their readiness, all of them or none", () => {
    const seen = look(reported(observing(2), { values: labelled }));
    expect(seen.kind === "present" && seen.pods?.map(({ metadata }) => metadata.name)).toEqual(["web-0", "web-1"]);
    expect(seen).toMatchObject({ pods: [{ status: { conditions: [{ type: "Ready", status: "True" }] } }, {}] });
    const withoutLabels = look(reported(observing(2), { values: { "/metadata/uid": "p" } }));
    expect(withoutLabels.kind === "present" && withoutLabels.pods).toBeUndefined();
  });

  it("are shown by an agent that reports no whole parts, as all do by default; which of them leads is not known then", () => {
    const plain = {
      "/metadata/uid": "p",
      "/metadata/labels/controller-revision-hash": "web-1",
      ownerKind: "StatefulSet",
      ownerName: "web",
      Ready: "True",
    };
    const seen = look(reported(observing(2), { podValues: plain }));
    expect(seen).toMatchObject({
      lacksLabels: true,
      pods: [{ metadata: { name: "web-0", labels: { "controller-revision-hash": "web-1" } } }, {}],
    });
    const strangers = look(reported(observing(2), { podValues: { ...plain, ownerName: "other" } }));
    expect(strangers).toMatchObject({ pods: [] });
    const whole = look(reported(observing(2), { podValues: { ...plain, ...labelled } }));
    expect(whole).not.toHaveProperty("lacksLabels");
  });

  it("that were not named when it was written are named by the next question, with those that are going away", () => {
    const bare = workFor(APP, orderFor(2), undefined, {
      plural: "statefulsets",
      lineage: LINEAGE,
      nowMs: SENT_AT_MS,
      pods: [],
    });
    const work = { ...bare, metadata: { ...bare.metadata, uid: "u1", generation: 7 } };
    const seen = reported(work, { values: { "/status/replicas": 3 } });
    expect(look(seen)).not.toHaveProperty("pods");
    const pods = podsUnobserved(outlineOf(seen));
    expect(pods.map(({ name }) => name)).toEqual(["web-0", "web-1", "web-2"]);
    const patch = askingPatch(outlineOf(seen), SENT_AT_MS + 5, pods);
    const operations = patch?.type === "json" ? patch.operations : [];
    expect(operations).toContainEqual({ op: "test", path: "/metadata/generation", value: 7 });
    const added = operations.filter(({ op }) => op === "add");
    expect(added.map(({ path }) => path).slice(0, 2)).toEqual([
      "/spec/workload/manifests/-",
      "/spec/manifestConfigs/-",
    ]);
    expect(added[1]).toMatchObject({
      value: { resourceIdentifier: { resource: "pods", name: "web-0" }, updateStrategy: { type: "ReadOnly" } },
    });
    expect(podsUnobserved(outlineOf(observing(2)))).toEqual([]);
  });

  it("are not returned without labels, because a leader would look like a follower", () => {
    const ref = { apiVersion: "v1", kind: "Pod", namespace: "default", name: "web-0" };
    expect(podOf(ref, new Map([["/metadata/uid", "p"]]))).toBeUndefined();
  });
});

describe("what agents are asked for", () => {
  it("escapes the dots of an annotation's key, and asks for no long annotation", () => {
    const paths = feedbackPaths(APP.template).map(({ path }) => path);
    expect(paths).toContain(".metadata.annotations.crossclusterstatefulset\\.karmada\\.io/epoch");
    expect(paths).toContain(".status.updateRevision");
    expect(paths.some((path) => path.endsWith("/topology"))).toBe(false);
  });

  it("requests every field of an operator's report by itself, because agents report no whole parts by default", () => {
    const kind = { apiVersion: "apps.my.io/v1alpha1", kind: "XlineCluster", namespace: "default", name: "x" };
    const paths = feedbackPaths(kind).map(({ path }) => path);
    for (const field of ["epoch", "revision", "phase", "desired", "updated", "ready", "leader"])
      expect(paths).toContain(`.status.crossCluster.${field}`);
  });

  it("requests of supporting objects only whether they exist, and from which write", () => {
    const paths = feedbackPaths({ apiVersion: "v1", kind: "Secret", namespace: "default", name: "s" });
    expect(paths.every(({ path }) => path.startsWith(".metadata."))).toBe(true);
  });
});
