/** Settings that would work against a rollout, all of them at once: found, mended by the commands that are given, gone. */
import { expect, it } from "vitest";
import { xline, xlineCrd } from "../stories/xline.ts";
import type { KarmadaWorld } from "./world.ts";

export interface Administrator {
  readonly world: KarmadaWorld;
  shell(command: string): Promise<string>;
  doctor(): Promise<{ check: string; state: string; message: string; remedy?: string }[]>;
}

const MERGE = "application/merge-patch+json";
const POLICY = "/apis/policy.karmada.io/v1alpha1/namespaces/default/propagationpolicies/web";
const TIMEOUT_MS = 180_000;

/** On an application called `web`. */
export function settingsStory(on: () => Administrator): void {
  const settings = async () => (await on().doctor()).filter(({ check }) => check === "settings");
  const conflict = async () => {
    const { conditions } = await on().world.status("web");
    const found = (conditions as { type: string; status: string; message: string }[] | undefined) ?? [];
    return found.find(({ type, status }) => type === "SettingsConflict" && status === "True")?.message;
  };

  it("settings that fight a rollout are in doctor and in the status, and gone after the commands given there", {
    timeout: TIMEOUT_MS,
  }, async () => {
    const { world, shell } = on();
    const { hub } = world.stack;
    expect(await settings()).toMatchObject([{ state: "ok" }]);
    expect(await conflict()).toBeUndefined();

    const fighting = {
      failover: { cluster: { purgeMode: "Gracefully" } },
      suspension: { dispatchingOnClusters: { clusterNames: ["member3"] } },
      conflictResolution: "Overwrite",
    };
    const patched = await hub.request("PATCH", POLICY, { spec: fighting }, MERGE);
    expect(patched.status, patched.text).toBe(200);
    const target = { apiVersion: "apps/v1", kind: "StatefulSet", name: "web" };
    await hub.apply({
      apiVersion: "apps.karmada.io/v1alpha1",
      kind: "WorkloadRebalancer",
      metadata: { name: "again" },
      spec: { workloads: [{ ...target, namespace: "default" }] },
    });
    await world.stack.members.get("member1")?.apply({
      apiVersion: "autoscaling/v2",
      kind: "HorizontalPodAutoscaler",
      metadata: { name: "web", namespace: "default" },
      spec: { scaleTargetRef: target, minReplicas: 1, maxReplicas: 9 },
    });
    const member2 = world.stack.members.get("member2");
    await member2?.apply(VPA_DEFINITION);
    await world.until("member2 serves VerticalPodAutoscalers", async () => {
      const path = "/apis/autoscaling.k8s.io/v1/namespaces/default/verticalpodautoscalers";
      return member2?.ok(path) ?? false;
    });
    await member2?.apply({
      apiVersion: "autoscaling.k8s.io/v1",
      kind: "VerticalPodAutoscaler",
      metadata: { name: "web", namespace: "default" },
      spec: { targetRef: target, updatePolicy: { updateMode: "Auto" } },
    });

    const wanted = [
      /PropagationPolicy default\/web sets failover/,
      /PropagationPolicy default\/web suspends dispatching/,
      /PropagationPolicy default\/web sets conflictResolution: Overwrite/,
      /WorkloadRebalancer again/,
      /HorizontalPodAutoscaler default\/web in cluster member1/,
      /VerticalPodAutoscaler default\/web in cluster member2/,
    ];
    let found = await settings();
    await world.until("doctor has found all of them", async () => {
      found = await settings();
      const missing = wanted.filter((each) => !found.some(({ message }) => each.test(message)));
      return missing.length === 0 || `${missing.join()} in ${JSON.stringify(found)}`;
    });
    await world.until("the status has all of them", async () => {
      const text = (await conflict()) ?? "";
      return wanted.every((each) => each.test(text)) || text;
    });
    const inStatus = await conflict();
    for (const { message, remedy = "" } of found) {
      expect(remedy, message).toMatch(/^kubectl /);
      expect(inStatus).toContain(remedy);
    }
    for (const remedy of new Set(found.map((each) => each.remedy ?? ""))) await shell(remedy);
    await world.until("doctor finds nothing", async () => {
      const [first] = await settings();
      return first?.state === "ok" || JSON.stringify(first);
    });
    await world.until("nothing is left in the status", async () => (await conflict()) === undefined);
    expect(await world.settled("web", 5)).toBe(true);
  });

  it("failover of applications, which Karmada accepts only with propagateDeps, stops the application until one command ends both", {
    timeout: TIMEOUT_MS,
  }, async () => {
    const { world, shell } = on();
    const { hub } = world.stack;
    const failover = { application: { decisionConditions: { tolerationSeconds: 300 }, purgeMode: "Gracefully" } };
    const alone = await hub.request("PATCH", POLICY, { spec: { failover } }, MERGE);
    expect(alone.text).toContain("application failover is set, propagateDeps must be true");
    const both = await hub.request("PATCH", POLICY, { spec: { failover, propagateDeps: true } }, MERGE);
    expect(both.status, both.text).toBe(200);
    const remedy = `kubectl patch propagationpolicy web -n default --type=merge -p '{"spec":{"propagateDeps":null,"failover":null}}'`;
    await world.until("doctor has found it", async () => (await settings()).some((each) => each.remedy === remedy));
    await world.until("the status says it, with the command", async () => {
      const { reason, message } = await world.status("web");
      return (reason === "HoldDefeated" && String(message).includes(remedy)) || `${reason}: ${message}`;
    });
    await shell(remedy);
    await world.until("doctor finds nothing", async () => {
      const [first] = await settings();
      return first?.state === "ok" || JSON.stringify(first);
    });
    await world.until("it is settled", () => world.settled("web", 5));
  });

  it("a kind that a cluster does not serve is in doctor, and the command given there brings it", {
    timeout: TIMEOUT_MS,
  }, async () => {
    const { world, shell } = on();
    const { hub, members } = world.stack;
    for (const api of [hub, members.get("member1"), members.get("member2")]) await api?.apply(xlineCrd());
    await world.until("the hub serves it", () => hub.ok("/apis/apps.my.io/v1alpha1/xlineclusters"));
    await world.stage.declare(world, "xline", xline("xline:1"));
    const lacking = /cluster member3 does not serve XlineCluster/;
    let found: Awaited<ReturnType<typeof settings>>[number] | undefined;
    await world.until("doctor has found it", async () => {
      found = (await settings()).find(({ message }) => lacking.test(message));
      return found !== undefined;
    });
    await shell(found?.remedy ?? "false");
    await world.until("doctor does not find it any more", async () => {
      return !(await settings()).some(({ message }) => lacking.test(message));
    });
    await hub.request("DELETE", "/apis/apps.karmada.io/v1alpha1/namespaces/default/crossclusterstatefulsets/xline");
  });
}

const VPA_DEFINITION = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: {
    name: "verticalpodautoscalers.autoscaling.k8s.io",
    annotations: { "api-approved.kubernetes.io": "https://github.com/kubernetes/kubernetes/pull/63797" },
  },
  spec: {
    group: "autoscaling.k8s.io",
    scope: "Namespaced",
    names: {
      plural: "verticalpodautoscalers",
      singular: "verticalpodautoscaler",
      kind: "VerticalPodAutoscaler",
      shortNames: ["vpa"],
    },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
      },
    ],
  },
};
