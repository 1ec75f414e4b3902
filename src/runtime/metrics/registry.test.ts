import { describe, expect, it } from "vitest";
import { VirtualClock } from "../testing/virtual-clock.ts";
import { TransportError } from "../transport.ts";
import { METRICS, type MetricDefinition } from "./definitions.ts";
import { measuredTransport } from "./measured-transport.ts";
import { MetricsRegistry } from "./registry.ts";

describe("MetricsRegistry", () => {
  it("writes counters, gauges and cumulative histograms in Prometheus' text format", () => {
    const registry = new MetricsRegistry();
    registry.count("workqueue_retries_total", { name: "web" });
    registry.count("workqueue_retries_total", { name: "web" }, 2);
    for (const value of [0.001, 0.003, 100])
      registry.observe("workqueue_work_duration_seconds", { name: "web" }, value);
    registry.gauges((set) => set("workqueue_depth", { name: "web" }, 7));
    const lines = registry.text().split("\n");
    expect(lines).toContain("# TYPE workqueue_retries_total counter");
    expect(lines).toContain('workqueue_retries_total{name="web"} 3');
    expect(lines).toContain('workqueue_depth{name="web"} 7');
    expect(lines).toContain('workqueue_work_duration_seconds_bucket{name="web",le="0.001"} 1');
    expect(lines).toContain('workqueue_work_duration_seconds_bucket{name="web",le="0.005"} 2');
    expect(lines).toContain('workqueue_work_duration_seconds_bucket{name="web",le="+Inf"} 3');
    expect(lines).toContain('workqueue_work_duration_seconds_count{name="web"} 3');
  });

  it("serves a gauge no longer when its reader does not set it or is taken out", () => {
    const registry = new MetricsRegistry();
    const names = ["a", "b"];
    const takeOut = registry.gauges((set) => {
      for (const name of names) set("workqueue_depth", { name }, 1);
    });
    expect(registry.text()).toContain('workqueue_depth{name="b"} 1');
    names.pop();
    expect(registry.text()).not.toContain('name="b"');
    takeOut();
    expect(registry.text()).toBe("\n");
  });

  it("limits the series of a metric, says how many were dropped, and escapes what tenants choose", () => {
    const registry = new MetricsRegistry();
    registry.gauges((set) => {
      for (let at = 0; at < 2_500; at++) {
        set("application_quorum_margin", { kind: "k", namespace: 'a"\\\nb', name: `${at}` }, 1);
      }
    });
    const text = registry.text();
    expect(text.match(/^application_quorum_margin\{/gm)).toHaveLength(2_000);
    expect(text).toContain('namespace="a\\"\\\\\\nb"');
    expect(text).toContain('metrics_dropped_series{metric="application_quorum_margin"} 500');
  });
});

describe("measuredTransport", () => {
  it("counts requests by cluster and answer, and those without an answer as an error", async () => {
    const registry = new MetricsRegistry();
    const clock = new VirtualClock();
    const proxy = "/apis/cluster.karmada.io/v1alpha1/clusters/member1/proxy";
    const transport = measuredTransport(
      {
        async request({ path }) {
          if (path.includes("lost")) throw new TransportError("reset");
          return { status: path.startsWith(proxy) ? 403 : 200, headers: {}, body: "" };
        },
        stream: async () => ({ status: 200, headers: {}, chunks: (async function* () {})() }),
      },
      registry,
      clock,
    );
    await transport.request({ method: "GET", path: "/api", headers: {} });
    await transport.request({ method: "DELETE", path: `${proxy}/api/v1/pods/x`, headers: {} });
    await expect(transport.request({ method: "GET", path: "/lost", headers: {} })).rejects.toThrow("reset");
    await transport.stream({ method: "GET", path: "/api?watch=1", headers: {} });
    const text = registry.text();
    for (const series of [
      '{cluster="hub",method="GET",code="200"} 1',
      '{cluster="member1",method="DELETE",code="403"} 1',
      '{cluster="hub",method="GET",code="<error>"} 1',
      '{cluster="hub",method="WATCH",code="200"} 1',
    ]) {
      expect(text).toContain(`rest_client_requests_total${series}`);
    }
    expect(text).toContain('rest_client_request_duration_seconds_count{target="member",method="DELETE"} 1');
  });
});

it("every metric has a legal name, ascending buckets if it is a histogram, and alerts about itself", () => {
  const definitions: [string, MetricDefinition][] = Object.entries(METRICS);
  for (const [name, { type, help, buckets, panel, alerts = [] }] of definitions) {
    expect(name).toMatch(/^[a-z][a-z0-9_]*$/);
    expect(help, name).not.toMatch(/[\n\\]|\.$/);
    expect(buckets !== undefined, name).toBe(type === "histogram");
    expect([...(buckets ?? [])].sort((left, right) => left - right)).toEqual(buckets ?? []);
    if (type === "counter") expect(name).toMatch(/_total$/);
    for (const { expression } of [...alerts, ...(panel ? [panel] : [])]) expect(expression).toContain(name);
  }
});
