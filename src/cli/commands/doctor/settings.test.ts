import { describe, expect, it } from "vitest";
import type { KubeObject } from "../../../kube/index.ts";
import type { JsonObject } from "../../../runtime/index.ts";
import { judge, type Managed, type Surroundings } from "./settings.ts";

const TEMPLATE = { apiVersion: "apps/v1", kind: "StatefulSet", namespace: "shop", name: "web" };
const WEB: Managed = { owner: "shop/web", template: TEMPLATE, status: {} };
const NOTHING: Surroundings = { bindings: [], clusters: [], rebalancers: [], autoscalers: new Map() };
const TARGET = { apiVersion: "apps/v1", kind: "StatefulSet", name: "web" };

function object(kind: string, name: string, spec: JsonObject, namespace?: string): KubeObject {
  return { apiVersion: "v1", kind, metadata: { name, ...(namespace !== undefined && { namespace }) }, spec };
}

const found = (around: Partial<Surroundings>, managed: Managed = WEB) => judge([managed], { ...NOTHING, ...around });

describe("doctor finds what would work against a rollout, with the exact remedy", () => {
  it("a setting of the policy, from the binding that Karmada made for the template", () => {
    const marks = { "propagationpolicy.karmada.io/name": "web", "propagationpolicy.karmada.io/namespace": "shop" };
    const of = (name: string) => {
      const resource = { ...TEMPLATE, name };
      const made = object("ResourceBinding", `${name}-statefulset`, { resource, failover: {} }, "shop");
      return { ...made, metadata: { ...made.metadata, annotations: marks } };
    };
    expect(found({ bindings: [of("other")] })).toEqual([]);
    expect(found({ bindings: [of("other"), of("web")] })).toMatchObject([
      {
        check: "settings",
        state: "warning",
        message: expect.stringContaining("shop/web: PropagationPolicy shop/web sets failover"),
        remedy: `kubectl patch propagationpolicy web -n shop --type=merge -p '{"spec":{"failover":null}}'`,
      },
    ]);
  });

  it("a WorkloadRebalancer that names the template", () => {
    const rebalancers = [
      object("WorkloadRebalancer", "again", { workloads: [{ ...TARGET, namespace: "shop" }] }),
      object("WorkloadRebalancer", "elsewhere", { workloads: [{ ...TARGET, namespace: "bank" }] }),
    ];
    expect(found({ rebalancers }).map(({ remedy }) => remedy)).toEqual(["kubectl delete workloadrebalancer again"]);
  });

  it("an autoscaler in a member that targets the member's object", () => {
    const vertical = (name: string, updateMode: string) =>
      object("VerticalPodAutoscaler", name, { targetRef: TARGET, updatePolicy: { updateMode } }, "shop");
    const autoscalers = new Map([
      ["member1", [object("HorizontalPodAutoscaler", "web", { scaleTargetRef: TARGET }, "shop")]],
      ["member2", [vertical("web", "Auto"), vertical("advice", "Off")]],
      ["member3", [object("HorizontalPodAutoscaler", "web", { scaleTargetRef: TARGET }, "bank")]],
    ]);
    expect(found({ autoscalers }).map(({ remedy }) => remedy)).toEqual([
      expect.stringContaining("kubectl --context member1 -n shop delete hpa web"),
      `kubectl --context member2 -n shop patch vpa web --type=merge -p '{"spec":{"updatePolicy":{"updateMode":"Off"}}}'`,
    ]);
  });

  it("a Work of another writer, which the controller has put into the status", () => {
    const status = { reason: "HoldDefeated", message: "Work karmada-es-member1/mine carries StatefulSet shop/web" };
    expect(found({}, { ...WEB, status })).toMatchObject([
      { message: `shop/web: ${status.message}`, remedy: "lockstep why web -n shop" },
    ]);
  });
});
