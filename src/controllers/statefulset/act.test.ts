import { describe, expect, it } from "vitest";
import { ANNOTATIONS } from "../../contract/index.ts";
import type { Dispatched, EngineApp } from "../../engine/index.ts";
import { emptyLedger, type Grant } from "../../plan/index.ts";
import { grantsOutstanding, leftToDo } from "./act.ts";

const APP: EngineApp = {
  namespace: "default",
  name: "web",
  template: { apiVersion: "apps/v1", kind: "StatefulSet", namespace: "default", name: "web" },
};

function one(
  kind: "StatefulSet" | "ConfigMap",
  state: Partial<Pick<Dispatched, "deleting" | "keeps">> = {},
): Dispatched {
  return {
    cluster: "member2",
    ref: { apiVersion: "v1", kind, namespace: "default", name: "web", ...(kind === "StatefulSet" && APP.template) },
    manifest: {},
    notes: {},
    term: 1,
    version: "1",
    uid: kind,
    deleting: false,
    keeps: true,
    delivery: { state: "unknown", message: "" },
    ...state,
  };
}

const left = (finished: boolean, dispatched: readonly Dispatched[]) =>
  leftToDo({ ledger: emptyLedger(), finished, actions: [] }, dispatched, APP, "Delete");

describe("what is dispatched to a cluster that the planner has forgotten", () => {
  const removal = [{ kind: "remove", cluster: "member2", volumes: "Delete" }];
  const release = [{ kind: "release", cluster: "member2" }];

  it("[S9] is removed, once its workload is gone or going", () => {
    expect(left(false, [one("ConfigMap")])).toEqual(removal);
    expect(left(false, [one("StatefulSet", { deleting: true, keeps: false }), one("ConfigMap")])).toEqual(removal);
    expect(left(true, [one("StatefulSet", { deleting: true, keeps: false }), one("ConfigMap")])).toEqual(removal);
  });

  it("is never removed with a workload that is still dispatched, whatever the ledger says", () => {
    expect(left(false, [one("StatefulSet"), one("ConfigMap")])).toEqual([]);
  });

  it("[T3] is let go when a teardown has nothing more to do, and stays let go until it is gone", () => {
    expect(left(true, [one("StatefulSet"), one("ConfigMap")])).toEqual(release);
    expect(left(true, [one("StatefulSet", { deleting: true }), one("ConfigMap")])).toEqual(release);
    expect(left(true, [one("ConfigMap", { deleting: true })])).toEqual(release);
  });
});

describe("a grant", () => {
  const grant = { cluster: "member2", epoch: 3 } as Grant;
  const dispatchedAt = (epoch: number): Dispatched => ({
    ...one("StatefulSet"),
    notes: { grant: "{}" },
    manifest: { metadata: { annotations: { [ANNOTATIONS.epoch]: String(epoch) } } },
  });
  const refs = [one("ConfigMap").ref, APP.template];
  const isOutstanding = (dispatched: readonly Dispatched[], known?: number) => {
    const dispatchedRefs = new Map(known === undefined ? [] : [["member2", { epoch: known, refs }]]);
    return grantsOutstanding([grant], dispatched, APP, dispatchedRefs).length > 0;
  };

  it("is outstanding until its workload is dispatched", () => {
    expect(isOutstanding([])).toBe(true);
    expect(isOutstanding([dispatchedAt(2), one("ConfigMap")], 2)).toBe(true);
    expect(isOutstanding([dispatchedAt(3), one("ConfigMap")], 3)).toBe(false);
  });

  it("is outstanding again when what the workload needs is not dispatched any more, as far as that is known", () => {
    expect(isOutstanding([dispatchedAt(3)], 3)).toBe(true);
    expect(isOutstanding([dispatchedAt(3), { ...one("ConfigMap"), cluster: "member1" }], 3)).toBe(true);
    expect(isOutstanding([dispatchedAt(3)], 2)).toBe(false);
    expect(isOutstanding([dispatchedAt(3)])).toBe(false);
  });
});
