import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SEED_ANNOTATIONS } from "../../src/contract/index.ts";
import type { Observer } from "../../src/engine/testing/observer.ts";
import { type KubeObject, resource } from "../../src/kube/index.ts";
import { CCS, startWorld, type World } from "./world.ts";
import { startXlineOperator, type XlineOperator } from "./xline-operator.ts";

const XLINES = resource({
  apiVersion: "apps.my.io/v1alpha1",
  kind: "XlineCluster",
  plural: "xlineclusters",
  namespaced: true,
});
const MANAGER = { fieldManager: "test", force: true };

/** The custom kind of the proposal: the members' operators act on it, the hub only stores it. */
function xlineCrd() {
  const anything = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "xlineclusters.apps.my.io" },
    spec: {
      group: "apps.my.io",
      names: { kind: "XlineCluster", plural: "xlineclusters", singular: "xlinecluster" },
      scope: "Namespaced",
      versions: [
        {
          name: "v1alpha1",
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: "object", properties: { spec: anything, status: anything } } },
          subresources: { status: {} },
        },
      ],
    },
  };
}

/** How Karmada and Lockstep read it: word for word the way a user would write it. */
const customization = {
  apiVersion: "config.karmada.io/v1alpha1",
  kind: "ResourceInterpreterCustomization",
  metadata: { name: "xline" },
  spec: {
    target: { apiVersion: "apps.my.io/v1alpha1", kind: "XlineCluster" },
    customizations: {
      replicaResource: {
        luaScript: "function GetReplicas(obj)\n  return obj.spec.replicas, nil\nend",
      },
      replicaRevision: {
        luaScript:
          "function ReviseReplica(obj, desiredReplica)\n  obj.spec.replicas = desiredReplica\n  return obj\nend",
      },
      healthInterpretation: {
        luaScript:
          "function InterpretHealth(obj)\n  if obj.status == nil then return false end\n  return obj.status.ready == obj.spec.replicas\nend",
      },
      statusReflection: {
        luaScript: "function ReflectStatus(obj)\n  return obj.status\nend",
      },
    },
  },
};

function xline(image: string): KubeObject {
  return {
    apiVersion: XLINES.apiVersion,
    kind: XLINES.kind,
    metadata: { name: "xline", namespace: "default" },
    spec: { replicas: 3, image },
  };
}

const SEED_MANIFEST = {
  apiVersion: "apps.karmada.io/v1alpha1",
  kind: "CrossClusterStatefulset",
  metadata: { name: "xline", namespace: "default" },
  spec: {
    resourceSelector: { apiVersion: "apps.my.io/v1alpha1", kind: "XlineCluster", name: "xline", namespace: "default" },
    updateStrategy: { type: "RollingUpdate" },
  },
};

const POLICY = {
  apiVersion: "policy.karmada.io/v1alpha1",
  kind: "PropagationPolicy",
  metadata: { name: "xline", namespace: "default" },
  spec: {
    resourceSelectors: [{ apiVersion: "apps.my.io/v1alpha1", kind: "XlineCluster", name: "xline" }],
    placement: {
      clusterAffinity: { clusterNames: ["member1", "member2", "member3"] },
      replicaScheduling: {
        replicaSchedulingType: "Divided",
        replicaDivisionPreference: "Weighted",
        weightPreference: {
          staticWeightList: ["member1", "member2", "member3"].map((name) => ({
            targetCluster: { clusterNames: [name] },
            weight: 1,
          })),
        },
      },
    },
  },
};

describe.each([
  ["written to the proposal's annotations", true],
  ["that ignores every annotation", false],
])("the proposal's manifest and XlineCluster with an operator %s", (_what, readsAnnotations) => {
  let world: World;
  let observer: Observer;
  let operators: XlineOperator[];

  beforeAll(async () => {
    world = await startWorld();
    const crd = xlineCrd();
    await world.stack.hub.apply(crd);
    for (const api of world.stack.members.values()) await api.apply(crd);
    await world.until("every cluster serves XlineCluster", async () => {
      const clusters = await world.stack.hub.get<{
        items: { status?: { apiEnablements?: { groupVersion: string }[] } }[];
      }>("/apis/cluster.karmada.io/v1alpha1/clusters");
      return (clusters?.items ?? []).every(({ status }) =>
        status?.apiEnablements?.some(({ groupVersion }) => groupVersion === "apps.my.io/v1alpha1"),
      );
    });
    await world.stack.hub.apply(customization);
    observer = await world.watch(XLINES);
    operators = [...world.stack.members].map(([name, api]) => startXlineOperator(name, api, { readsAnnotations }));
  });
  afterAll(async () => {
    await Promise.all((operators ?? []).map((operator) => operator.stop()));
    await world?.stop();
  });

  const settled = async () => {
    const status = await world.status("xline");
    return status.phase === "Settled" && status.readyReplicas === 3;
  };

  it("is deployed with one instance in each cluster, one cluster at a time", async () => {
    await world.hub.apply(CCS, SEED_MANIFEST, MANAGER);
    await world.until("the hold is in place", async () => (await world.status("xline")).reason === "TemplateMissing");
    await world.stack.hub.apply(POLICY);
    await world.hub.apply(XLINES, xline("xline:1"), MANAGER);
    await world.until("three instances are ready", settled);
    expect(XlineLog.overlap(operators)).toEqual([]);
  });

  it("tells every member the replicas of all, in the proposal's own words", async () => {
    for (const name of ["member1", "member2", "member3"]) {
      const object = await world.member(name).get(XLINES, { namespace: "default", name: "xline" });
      const told = JSON.parse(object.metadata.annotations?.[SEED_ANNOTATIONS.replicas] ?? "null");
      expect(told).toEqual(
        ["member1", "member2", "member3"].map((cluster) => ({ [cluster]: "1", self: cluster === name })),
      );
      expect(["true", "false"]).toContain(object.metadata.annotations?.[SEED_ANNOTATIONS.processer]);
    }
  });

  it("is updated one cluster at a time", async () => {
    for (const operator of operators) operator.log.length = 0;
    await world.hub.apply(XLINES, xline("xline:2"), MANAGER);
    await world.until("all run the new image", () => operators.every((operator) => operator.image === "xline:2"));
    await world.until("it is settled", settled);
    expect(XlineLog.overlap(operators)).toEqual([]);
  });

  it("never ran what it was not granted", () => {
    expect(observer.violations()).toEqual([]);
    expect(observer.states).toBeGreaterThan(5);
  });
});

/** Whether two operators were ever at work at the same time. */
const XlineLog = {
  overlap(operators: readonly XlineOperator[]): string[] {
    const spans = operators.flatMap((operator) => operator.log.map((span) => ({ ...span, name: operator.name })));
    return spans.flatMap((a) =>
      spans
        .filter((b) => a.name < b.name && a.fromMs < b.toMs && b.fromMs < a.toMs)
        .map((b) => `${a.name} ${a.what} and ${b.name} ${b.what} at the same time`),
    );
  },
};
