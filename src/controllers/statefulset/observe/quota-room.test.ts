import { describe, expect, it } from "vitest";
import type { KubeObject } from "../../../kube/index.ts";
import { emptyLedger } from "../../../plan/index.ts";
import type { JsonObject } from "../../../runtime/index.ts";
import { quotaRoom, quotaRooms } from "./quota-room.ts";

const REQUESTS = { cpu: "500m", memory: "1Gi" };

function shape(resources: JsonObject = { requests: REQUESTS }, more: JsonObject = {}) {
  const template: KubeObject = {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { name: "db", namespace: "shop" },
    spec: { template: { spec: { containers: [{ name: "db", resources }], ...more } } },
  };
  return { template, request: {} };
}

function quota(hard: JsonObject, used: JsonObject, spec: JsonObject = {}): KubeObject {
  const metadata = { name: "compute", namespace: "shop" };
  return { apiVersion: "v1", kind: "ResourceQuota", metadata, spec: { hard, ...spec }, status: { hard, used } };
}

function limitRange(limit: JsonObject): KubeObject {
  const metadata = { name: "sizes", namespace: "shop" };
  return { apiVersion: "v1", kind: "LimitRange", metadata, spec: { limits: [{ type: "Container", ...limit }] } };
}

const of = (...quotas: KubeObject[]) => ({ quotas, limitRanges: [] });

describe("the room that a namespace's quotas leave", () => {
  it("is what the scarcest resource of the scarcest quota allows, under either name of a resource", () => {
    const compute = quota(
      { "requests.cpu": "4", memory: "3Gi", pods: "10" },
      { "requests.cpu": "1", memory: "1Gi", pods: "1" },
    );
    expect(quotaRoom(of(compute), shape(), 0)).toEqual({
      instances: 2,
      evidence: "ResourceQuota compute leaves 2Gi of 3Gi memory, an instance takes 1Gi",
    });
    expect(quotaRoom(of(compute, quota({ "count/pods": "2" }, { "count/pods": "1" })), shape(), 0)?.instances).toBe(1);
  });

  it("does not count instances that were granted and are not there yet as free", () => {
    const pods = quota({ pods: "3" }, { pods: "1" });
    expect(quotaRoom(of(pods), shape(), 1)?.instances).toBe(1);
    const ledger = emptyLedger();
    const moment = { members: new Map() };
    expect(quotaRooms(shape(), new Map([["member1", of(pods)]]), ledger, moment)).toMatchObject({
      member1: { instances: 2 },
    });
  });

  it("is not known where no quota limits such pods, or its status is not known yet", () => {
    expect(quotaRoom(of(), shape(), 0)).toBeUndefined();
    expect(quotaRoom(of(quota({ secrets: "1" }, { secrets: "1" })), shape(), 0)).toBeUndefined();
    const { status: _unknown, ...fresh } = quota({ pods: "0" }, {});
    expect(quotaRoom(of(fresh as KubeObject), shape(), 0)).toBeUndefined();
  });

  it("follows a limit that was lowered before the quota's controller has seen it", () => {
    const lowered = { ...quota({ pods: "5" }, { pods: "1" }), spec: { hard: { pods: "1" } } };
    expect(quotaRoom(of(lowered), shape(), 0)?.instances).toBe(0);
  });

  it("is judged by a quota's scope, and not if that scope cannot be judged", () => {
    const full = (spec: JsonObject) => quotaRoom(of(quota({ pods: "1" }, { pods: "1" }, spec)), shape(), 0)?.instances;
    expect(full({ scopes: ["NotTerminating"] })).toBe(0);
    expect(full({ scopes: ["NotBestEffort"] })).toBe(0);
    expect(full({ scopes: ["BestEffort"] })).toBeUndefined();
    expect(full({ scopes: ["Terminating"] })).toBeUndefined();
    expect(full({ scopeSelector: { matchExpressions: [] } })).toBeUndefined();
  });

  it("is none if a quota limits what a container does not state, unless a LimitRange or the pod states it", () => {
    const limits = quota({ "limits.memory": "4Gi" }, { "limits.memory": "0" });
    expect(quotaRoom(of(limits), shape(), 0)).toEqual({
      instances: 0,
      evidence: "ResourceQuota compute limits limits.memory, and container db states none",
    });
    const byDefault = { quotas: [limits], limitRanges: [limitRange({ default: { memory: "2Gi" } })] };
    expect(quotaRoom(byDefault, shape(), 0)?.instances).toBe(2);
    const pod = { resources: { limits: { memory: "2Gi" } } };
    expect(quotaRoom(of(limits), shape(undefined, pod), 0)).toBeUndefined();
  });

  it("is none if a LimitRange refuses every such pod", () => {
    const limits = { quotas: [], limitRanges: [limitRange({ max: { cpu: "250m" } })] };
    expect(quotaRoom(limits, shape(), 0)).toEqual({
      instances: 0,
      evidence: "LimitRange sizes allows less cpu than container db has",
    });
  });

  it("counts an init container instead of the others only where it takes more", () => {
    const cpu = quota({ "requests.cpu": "2" }, { "requests.cpu": "0" });
    const init = (value: string, more: JsonObject = {}) => ({
      initContainers: [{ name: "init", resources: { requests: { cpu: value } }, ...more }],
    });
    expect(quotaRoom(of(cpu), shape(undefined, init("100m")), 0)?.instances).toBe(4);
    expect(quotaRoom(of(cpu), shape(undefined, init("1")), 0)?.instances).toBe(2);
    expect(quotaRoom(of(cpu), shape(undefined, init("500m", { restartPolicy: "Always" })), 0)?.instances).toBe(2);
  });

  it("of a kind whose pods it does not describe is judged by what the interpreter reads", () => {
    const template: KubeObject = { apiVersion: "db.example.com/v1", kind: "Cluster", metadata: { name: "db" } };
    const cpu = quota({ "requests.cpu": "2", "limits.cpu": "2" }, { "requests.cpu": "0", "limits.cpu": "2" });
    expect(quotaRoom(of(cpu), { template, request: { cpu: "1" } }, 0)?.instances).toBe(2);
  });
});
