import { describe, expect, it } from "vitest";
import type { Dispatched, EngineApp } from "../../engine/index.ts";
import { emptyLedger, type FoundGrant, type Ledger, rebuildLedger } from "../../plan/index.ts";
import { leftToDo } from "./act.ts";

const APP: EngineApp = {
  namespace: "default",
  name: "web",
  template: { apiVersion: "apps/v1", kind: "StatefulSet", namespace: "default", name: "web" },
};

function one(
  kind: "StatefulSet" | "ConfigMap",
  state: Partial<Pick<Dispatched, "deleting" | "keeps" | "notes">> = {},
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

function grantFor(replicas: number): FoundGrant {
  const grant = { cluster: "member2", revision: "web-1", replicas, partition: 0, processor: true, onDelete: false };
  const more = { topologyVersion: 1, epoch: 2, start: 0, initialClusterState: "existing" } as const;
  const app = { name: "web", namespace: "default", service: "web", clusterToken: "token" };
  return {
    grant: { ...grant, ...more },
    index: 1,
    clusterId: "member2",
    instances: [],
    highWater: 1,
    staleVolumes: false,
    baseRevision: "web-1",
    writtenAtMs: 0,
    currentRevision: "web-1",
    override: null,
    undoHeard: null,
    halt: null,
    identity: { mode: "Blocks", blockSize: 100, addressTemplate: "", reuseVolumes: true, app },
    nextIndex: 2,
    nextOrdinal: 0,
    topology: {},
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

  it("is removed if it was drained to nothing by the ledger's last grant, whatever list said that it was gone", () => {
    const drained = (replicas: number, finished = false, edit: Partial<Ledger["clusters"][string]> = {}) => {
      const found = grantFor(replicas);
      const { clusters, ...rest } = rebuildLedger([found]);
      const entry = clusters.member2;
      if (!entry) throw new Error("the rebuilt ledger lacks the cluster");
      const ledger = { ...rest, clusters: { member2: { ...entry, grant: null, ...edit } } };
      const dispatched = [one("StatefulSet", { notes: { grant: JSON.stringify(found) } }), one("ConfigMap")];
      return leftToDo({ ledger, finished, actions: [] }, dispatched, APP, "Delete");
    };
    expect(drained(0)).toEqual(removal);
    expect(drained(0, true)).toEqual(removal);
    expect(drained(1)).toEqual([]);
    expect(drained(0, false, { epoch: 3 })).toEqual([]);
    expect(drained(0, true, { lostAtMs: 1 })).toEqual(release);
  });

  it("[T3] is let go when a teardown has nothing more to do, and stays let go until it is gone", () => {
    expect(left(true, [one("StatefulSet"), one("ConfigMap")])).toEqual(release);
    expect(left(true, [one("StatefulSet", { deleting: true }), one("ConfigMap")])).toEqual(release);
    expect(left(true, [one("ConfigMap", { deleting: true })])).toEqual(release);
  });
});
