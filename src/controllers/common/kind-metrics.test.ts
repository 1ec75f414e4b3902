import { expect, it } from "vitest";
import type { KubeObject } from "../../kube/index.ts";
import { MetricsRegistry } from "../../runtime/index.ts";
import { VirtualClock } from "../../runtime/testing/virtual-clock.ts";
import { queueHooks, serveKindMetrics } from "./kind-metrics.ts";

const KIND = "DistributedApplication";

function object(name: string, status: object): KubeObject {
  return {
    apiVersion: "apps.karmada.io/v1alpha1",
    kind: KIND,
    metadata: { namespace: "shop", name },
    status: { ...status },
  };
}

it("a kind's objects are counted, with the reasons for which they wait and the time since they came further", () => {
  const metrics = new MetricsRegistry();
  const clock = new VirtualClock({ startWallMs: Date.parse("2026-01-01T00:10:00Z") });
  const objects = [
    object("web", { phase: "Settled", since: "2026-01-01T00:00:00Z" }),
    object("api", { phase: "Waiting", reason: "Paused", since: "2026-01-01T00:00:00Z" }),
    object("new", {}),
  ];
  const cache = { list: () => objects };
  const stop = serveKindMetrics({ metrics, clock, kind: KIND, cache, depth: () => 4 });
  const hooks = queueHooks(metrics, KIND);
  hooks.started?.("shop/web", 2_000, 3);
  const lines = metrics.text().split("\n");
  expect(lines).toContain(`applications{kind="${KIND}"} 3`);
  expect(lines).toContain(`application_waiting{kind="${KIND}",reason="Paused",needs_person="true"} 1`);
  expect(lines).toContain(`application_without_progress_seconds{kind="${KIND}",namespace="shop",name="api"} 600`);
  expect(lines.filter((line) => line.startsWith("application_without_progress_seconds{"))).toHaveLength(1);
  expect(lines).toContain('workqueue_depth{name="distributedapplication"} 4');
  expect(lines).toContain('workqueue_queue_duration_seconds_count{name="distributedapplication"} 1');
  stop();
  expect(metrics.text()).not.toContain("applications{");
});
