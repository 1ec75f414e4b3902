import { describe, expect, it } from "vitest";
import { prunedForWork } from "../../interpret/index.ts";
import type { KubeObject } from "../../kube/index.ts";
import type { JsonObject } from "../../runtime/index.ts";
import { appMark, manifestOf, termPatch, workName } from "../dispatch-objects.ts";
import { MARKS } from "../marks.ts";
import type { EngineApp, EngineOwner } from "../port.ts";
import { holdName } from "./hub.ts";
import {
  freeingPatch,
  outlineOf,
  readWork,
  reflectedStatus,
  reservationFor,
  wholeManifestOf,
  workFor,
} from "./works.ts";

const APP: EngineApp = {
  namespace: "default",
  name: "web",
  template: { apiVersion: "apps/v1", kind: "StatefulSet", namespace: "default", name: "web" },
};

function manifest(apiVersion: string, kind: string): KubeObject {
  const annotations = { "crossclusterstatefulset.karmada.io/epoch": "7", topology: "long ".repeat(100) };
  return {
    apiVersion,
    kind,
    metadata: { name: "web", namespace: "default", annotations },
    spec: { replicas: 3, template: { spec: { containers: [{ name: "app", image: "app:1" }] } } },
  };
}

/** As Karmada leaves it: stored, applied, and with the member's status. */
function work(object: KubeObject, status: JsonObject = { readyReplicas: 3 }): KubeObject {
  const notes = { grant: '{"epoch":7}', content: "abc" };
  const made = workFor(APP, { cluster: "member1", manifest: object, term: 4, notes, expected: null }, undefined);
  const conditions = [
    { type: "Applied", status: "False", message: "denied" },
    { type: "Degraded", status: "True" },
  ];
  return {
    ...made,
    metadata: { ...made.metadata, uid: "u", resourceVersion: "12", generation: 2 },
    status: { conditions, manifestStatuses: [{ identifier: { ordinal: 0 }, status, health: "Healthy" }] },
  };
}

describe("[J10] a Job that may reach one object only", () => {
  const labels = { "batch.kubernetes.io/controller-uid": "u1", "controller-uid": "u1" };
  const delivered = (object: KubeObject) => prunedForWork(manifestOf(work(object)) ?? {}).spec;

  it("keeps that from a selector, which Karmada's webhook leaves alone", () => {
    const job = { ...manifest("batch/v1", "Job"), spec: { parallelism: 2, template: { metadata: { labels } } } };
    expect(delivered(job)).toEqual({
      parallelism: 2,
      template: { metadata: { labels: {} } },
      selector: { matchLabels: { "lockstep.karmada.io/only-for-uid": "u1" } },
    });
  });

  it("no other object gets a selector", () => {
    for (const [apiVersion, kind] of [
      ["batch/v1", "Job"],
      ["batch.volcano.sh/v1alpha1", "Job"],
      ["apps/v1", "StatefulSet"],
    ] as const) {
      const own = kind === "Job" && apiVersion === "batch/v1" ? {} : labels;
      const object = { ...manifest(apiVersion, kind), spec: { template: { metadata: { labels: own } } } };
      expect(delivered(object)).not.toHaveProperty("selector");
    }
  });
});

describe("the outline of a Work", () => {
  it("contains every field that is read, in a fraction of the size", () => {
    const whole = work(manifest("v1", "ConfigMap"));
    const outline = outlineOf(whole);
    const { manifest: _head, ...read } = readWork(outline) ?? { manifest: {} };
    const { manifest: _whole, ...expected } = readWork(whole) ?? { manifest: {} };
    expect(read).toEqual(expected);
    expect(read).toMatchObject({ term: 4, notes: { grant: '{"epoch":7}' }, delivery: { state: "failed" } });
    expect(JSON.stringify(outline.spec).length).toBeLessThan(JSON.stringify(whole.spec).length / 2);
  });

  it("keeps the manifest's short annotations", () => {
    const annotations = { "crossclusterstatefulset.karmada.io/epoch": "7" };
    const { metadata } = readWork(outlineOf(work(manifest("apps/v1", "StatefulSet"))))?.manifest ?? {};
    expect(metadata).toEqual({ name: "web", namespace: "default", annotations });
  });

  it("keeps that there is a long note of a CrossClusterStatefulset, and the long notes of other kinds", () => {
    const grant = JSON.stringify({ epoch: 7, topology: "long ".repeat(100) });
    const notes = { grant, content: "abc" };
    const outlineFor = (app: EngineOwner) => {
      const order = {
        cluster: "member1",
        manifest: manifest("apps/v1", "StatefulSet"),
        term: 4,
        notes,
        expected: null,
      };
      return outlineOf(workFor(app, order, undefined));
    };
    expect(readWork(outlineFor(APP))?.notes).toEqual({ grant: "", content: "abc" });
    const job: EngineOwner = { namespace: "default", name: "web", kind: "CrossClusterJob", objects: [] };
    expect(readWork(outlineFor(job))?.notes).toEqual(notes);
    // A later write does not carry the shortened note on.
    const order = { cluster: "member1", manifest: manifest("apps/v1", "StatefulSet"), term: 4, notes, expected: null };
    expect(readWork(workFor(APP, order, outlineFor(APP)))?.notes).toEqual(notes);
  });

  it("returns the manifest without its long annotations if a status is reflected with it", () => {
    const whole = work(manifest("apps/v1", "StatefulSet"));
    const outline = outlineOf(whole);
    expect(wholeManifestOf(outline)?.spec).toEqual(manifest("apps/v1", "StatefulSet").spec);
    expect(reflectedStatus(outline)).toEqual({ readyReplicas: 3 });
  });

  it("of an outline is the same", () => {
    const outline = outlineOf(work(manifest("v1", "ConfigMap")));
    expect(outlineOf(outline)).toEqual(outline);
  });
});

describe("a patch of a Work", () => {
  it("requires the version that was read", () => {
    const read = outlineOf(work(manifest("apps/v1", "StatefulSet")));
    for (const patch of [termPatch(read, 5), freeingPatch(read, "keep")]) {
      expect(patch).toMatchObject({ type: "merge", body: { metadata: { resourceVersion: "12" } } });
    }
  });

  it("removes its protection, and sets whether the member's object stays", () => {
    expect(freeingPatch(work(manifest("v1", "ConfigMap")), "remove")).toMatchObject({
      body: {
        metadata: { labels: { "resourcetemplate.karmada.io/deletion-protected": null } },
        spec: { preserveResourcesOnDeletion: false },
      },
    });
  });
});

describe("a reservation", () => {
  const reserved = reservationFor(APP, APP.template, { cluster: "member1", term: 4 });

  it("is read as its reservation, and is empty", () => {
    expect(readWork(reserved)).toMatchObject({
      cluster: "member1",
      ref: APP.template,
      manifest: {},
      keeps: true,
      term: 4,
    });
  });

  it("is not ours if another writer has overwritten its reservation", () => {
    const annotations = { ...reserved.metadata.annotations, [MARKS.reserved]: "{" };
    expect(readWork({ ...reserved, metadata: { ...reserved.metadata, annotations } })).toBeUndefined();
  });
});

describe("two applications never share a mark, a Work's name or a hold", () => {
  const named = (namespace: string, name: string): EngineApp => ({
    namespace,
    name,
    template: { apiVersion: "apps/v1", kind: "StatefulSet", namespace, name },
  });
  const long = "a-name-of-seventy-characters-that-differs-from-another-only-at-its-";
  it.each([
    ["whose names of 70 characters differ at the end", named("default", `${long}one`), named("default", `${long}two`)],
    // A search for two names with the same first 40 bits of a hash takes a second.
    ["whose names were chosen to share a short hash", named("team-952", "db-a9"), named("team-916", "db-jf")],
  ])("%s", (_which, one, other) => {
    const values = (app: EngineApp) => [
      appMark(app),
      workName(app, APP.template),
      holdName({ ...app, template: APP.template }, appMark(app)).name,
    ];
    const [mine, theirs] = [values(one), values(other)];
    for (const [index, value] of mine.entries()) expect(value).not.toBe(theirs[index]);
    for (const value of [...mine.slice(0, 2), ...theirs.slice(0, 2)]) expect(value.length).toBeLessThanOrEqual(63);
  });
});
