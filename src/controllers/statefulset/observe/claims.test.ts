import { describe, expect, it } from "vitest";
import type { KubeObject } from "../../../kube/index.ts";
import type { JsonObject } from "../../../runtime/index.ts";
import { OWN } from "../../common/resources.ts";
import { type Claimant, type Contender, claimantOf, ownershipOf, placeKey, selectedBy, targetKey } from "./claims.ts";

function claimant(name: string, more: Partial<Contender> = {}): Contender {
  return { namespace: "default", name, uid: name, createdMs: 1_000, hasBegun: false, selects: "it", ...more };
}

function ownerAmong(claimants: readonly Contender[]): string[] {
  return claimants.flatMap((own) => {
    const others = claimants.filter((other) => other !== own);
    return ownershipOf(own, others).kind === "owner" ? [own.name] : [];
  });
}

describe("[I16] an object has one owner", () => {
  const [a, b, c] = [claimant("a", { createdMs: 3_000 }), claimant("b"), claimant("c", { createdMs: 2_000 })];

  it.each([[[a, b, c]], [[c, b, a]], [[b, a, c]]])("the oldest, in whatever order they are looked at", (claimants) => {
    expect(ownerAmong(claimants)).toEqual(["b"]);
    expect(ownershipOf(c, [a, b])).toMatchObject({ kind: "claimed", by: { name: "b" } });
  });

  it("the one with the lower uid of two that were created in the same second", () => {
    expect(ownerAmong([claimant("y", { uid: "2" }), claimant("x", { uid: "1" })])).toEqual(["x"]);
  });

  it("the one that runs, whatever older one comes to select the same", () => {
    const runs = { ...a, hasBegun: true };
    expect(ownerAmong([runs, b, c])).toEqual(["a"]);
    expect(ownerAmong([runs, { ...b, hasBegun: true }])).toEqual(["b"]);
  });

  it("of several that do not select the same, each", () => {
    expect(ownershipOf(a, [{ ...b, selects: "another" }])).toEqual({ kind: "owner" });
  });

  it("is not decided while an older one may select it; a younger one is not waited for", () => {
    expect(ownershipOf(c, [{ ...b, selects: "unknown" }])).toEqual({ kind: "undecided" });
    expect(ownershipOf(b, [{ ...c, selects: "unknown" }])).toEqual({ kind: "owner" });
  });
});

function object(metadata: JsonObject = {}, spec: JsonObject = {}): KubeObject {
  return {
    apiVersion: "apps.karmada.io/v1alpha1",
    kind: "CrossClusterStatefulset",
    metadata: { name: "web", namespace: "shop", uid: "u", creationTimestamp: "2026-01-01T00:00:00Z", ...metadata },
    spec: { resourceSelector: { apiVersion: "apps/v1", kind: "StatefulSet", name: "db" }, ...spec },
  };
}

describe("a claim", () => {
  const begun = { finalizers: [OWN.finalizer] };
  const deleting = { deletionTimestamp: "2026-01-02T00:00:00Z" };

  it("is as old as the object", () => {
    const expected: Claimant = {
      namespace: "shop",
      name: "web",
      uid: "u",
      createdMs: Date.UTC(2026, 0, 1),
      hasBegun: false,
    };
    expect(claimantOf(object(), true)).toEqual(expected);
    expect(claimantOf(object(begun), true)).toEqual({ ...expected, hasBegun: true });
  });

  it("of what was never applied is the youngest", () => {
    const { creationTimestamp: _none, ...metadata } = object().metadata;
    expect(claimantOf({ ...object(), metadata }, true)?.createdMs).toBe(Number.POSITIVE_INFINITY);
  });

  it("is none where the object is going away or cannot be read, unless something runs for it", () => {
    expect(claimantOf(object(deleting), true)).toBeUndefined();
    expect(claimantOf(object(), false)).toBeUndefined();
    expect(claimantOf(object({ ...deleting, ...begun }), true)).toBeDefined();
    expect(claimantOf(object(begun), false)).toBeDefined();
  });

  it("is on the same object in every version of its kind", () => {
    const selected = selectedBy(object());
    if (selected?.kind !== "by name") throw new Error("it selects by name");
    expect(targetKey(selected.ref)).toBe("apps/StatefulSet/shop/db");
    expect(targetKey({ ...selected.ref, apiVersion: "apps/v1beta2" })).toBe(targetKey(selected.ref));
    expect(placeKey({ apiVersion: "v1", kind: "Pod", namespace: "shop" })).toBe("/Pod/shop");
  });

  it("by label is on what matches, which only the hub can tell", () => {
    const labelSelector = { matchLabels: { app: "db" } };
    const resourceSelector = { apiVersion: "apps/v1", kind: "StatefulSet", labelSelector };
    expect(selectedBy(object({}, { resourceSelector }))).toEqual({
      kind: "by label",
      place: { apiVersion: "apps/v1", kind: "StatefulSet", namespace: "shop" },
    });
    expect(selectedBy(object({}, { resourceSelector: null }))).toBeUndefined();
  });
});
