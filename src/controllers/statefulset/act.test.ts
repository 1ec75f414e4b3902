import { describe, expect, it } from "vitest";
import type { Dispatched, EngineApp } from "../../engine/index.ts";
import { emptyLedger } from "../../plan/index.ts";
import { leftToDo } from "./act.ts";

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
