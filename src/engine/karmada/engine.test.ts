import { afterEach, beforeEach, expect, test } from "vitest";
import { KubeClient, type KubeObject } from "../../kube/index.ts";
import { FakeApi, type SeenRequest, status } from "../../kube/testing/fake-api.ts";
import { type HttpRequest, seededRandom, type Transport } from "../../runtime/index.ts";
import { VirtualClock } from "../../runtime/testing/virtual-clock.ts";
import type { EngineApp } from "../port.ts";
import { STATEFULSETS, statefulSet } from "../testing/contract.ts";
import { KarmadaEngine } from "./engine.ts";
import { CLUSTERS, WORKS } from "./resources.ts";
import { workFor } from "./works.ts";

const APP: EngineApp = {
  namespace: "default",
  name: "db",
  template: { apiVersion: "apps/v1", kind: "StatefulSet", namespace: "default", name: "db" },
};
const PROXY = "/apis/cluster.karmada.io/v1alpha1/clusters/east/proxy";
const KINDS: Record<string, object> = {
  "/apis/apps/v1": { resources: [{ name: "statefulsets", kind: "StatefulSet", namespaced: true }] },
  "/api/v1": { resources: [{ name: "pods", kind: "Pod", namespaced: true }] },
};

let stop = new AbortController();
let clock = new VirtualClock();
let hub = new FakeApi({ clock });
let member = new FakeApi({ clock });

beforeEach(() => {
  stop = new AbortController();
  clock = new VirtualClock();
  hub = new FakeApi({ clock });
  member = new FakeApi({ clock });
});

afterEach(async () => {
  stop.abort();
  await clock.settle();
});

/** The hub, which says what kinds there are and passes on what is meant for its one cluster. */
const transport: Transport = {
  async request(request) {
    const kinds = KINDS[request.path];
    if (kinds) return { status: 200, headers: {}, body: JSON.stringify({ kind: "APIResourceList", ...kinds }) };
    return isForMember(request) ? member.request(passedOn(request)) : hub.request(request);
  },
  stream: (request) => (isForMember(request) ? member.stream(passedOn(request)) : hub.stream(request)),
};
const isForMember = ({ path }: HttpRequest) => path.startsWith(PROXY);
const passedOn = (request: HttpRequest) => ({ ...request, path: request.path.slice(PROXY.length) });

function cluster(ready: "True" | "False", minute: number): KubeObject {
  const lastTransitionTime = new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString();
  return {
    apiVersion: CLUSTERS.apiVersion,
    kind: CLUSTERS.kind,
    metadata: { name: "east" },
    status: { conditions: [{ type: "Ready", status: ready, lastTransitionTime }] },
  };
}

const scaled = (replicas: number) => statefulSet("db", replicas, "app:1");

/** The engine on a fleet of one Ready cluster with the StatefulSet in it, after `afterMs`. */
async function started(afterMs: number): Promise<{ seen: () => string; told: () => number }> {
  hub.put(CLUSTERS, cluster("True", 0));
  member.put(STATEFULSETS, scaled(3));
  const random = seededRandom(1);
  const engine = new KarmadaEngine({ hub: new KubeClient({ transport, clock, random }), clock, random });
  let told = 0;
  void engine.run(stop.signal);
  engine.track(APP, () => told++);
  await clock.advance(afterMs);
  const seen = () => {
    const snapshot = engine.snapshot(APP, "east");
    if (snapshot.kind === "unreachable") return `unreachable: ${snapshot.message}`;
    if (snapshot.kind === "absent") return "absent";
    return `${(snapshot.object.spec as { replicas: number }).replicas} replicas, ${snapshot.pods?.length ?? "unknown"} pods`;
  };
  return { seen, told: () => told };
}

const isOfPods = ({ path }: SeenRequest) => path.endsWith("/pods");

test("what was seen of a cluster before it came back counts for nothing until it is listed anew", async () => {
  const { seen } = await started(2_000);
  expect(seen()).toBe("3 replicas, 0 pods");

  // Its watches stand still, and nobody notices.
  for (const watch of member.watches) watch.goSilent();
  member.fault = () => ({ kind: "slow", delayMs: 500 });
  member.put(STATEFULSETS, scaled(4));
  hub.put(CLUSTERS, cluster("False", 1));
  await clock.settle();
  hub.put(CLUSTERS, cluster("True", 2));
  await clock.settle();
  expect(seen()).toContain("unreachable: cluster east is back");
  await clock.advance(2_000);
  expect(seen()).toBe("4 replicas, 0 pods");

  // Away and back, and the hub's watch brought only the end of it.
  for (const watch of member.watches) watch.goSilent();
  member.put(STATEFULSETS, scaled(5));
  hub.put(CLUSTERS, cluster("True", 4));
  await clock.settle();
  expect(seen()).toContain("unreachable: cluster east is back");
  await clock.advance(2_000);
  expect(seen()).toBe("5 replicas, 0 pods");
});

test("a StatefulSet whose pods cannot be read is unreachable: its status counts those going away as ready", async () => {
  member.fault = (request) => (isOfPods(request) ? { kind: "slow", delayMs: 5_000 } : undefined);
  const { seen, told } = await started(2_000);
  expect(seen()).toBe("unreachable: its pods cannot be read: Pod has not been listed yet in east");
  const before = told();
  await clock.advance(10_000);
  expect(seen()).toBe("3 replicas, 0 pods");
  expect(told()).toBeGreaterThan(before);

  member.fault = (request) => (isOfPods(request) ? { kind: "answer", status: 503 } : undefined);
  for (const watch of member.watches) if (isOfPods(watch.request)) watch.reset();
  await clock.advance(2_000);
  expect(seen()).toContain("unreachable: its pods cannot be read: ");
});

test("where pods may not be read at all, now or any more, the StatefulSet's status has to do", async () => {
  const forbidden = { kind: "answer", status: 403, body: status(403, "pods is forbidden", "Forbidden") } as const;
  member.fault = (request) => (isOfPods(request) ? forbidden : undefined);
  const { seen, told } = await started(2_000);
  expect(seen()).toBe("3 replicas, unknown pods");

  member.fault = () => undefined;
  await clock.advance(60_000);
  expect(seen()).toBe("3 replicas, 0 pods");

  // First the connection breaks, then the right turns out to be gone.
  for (const watch of member.watches) if (isOfPods(watch.request)) watch.reset();
  member.fault = (request) => (isOfPods(request) ? { kind: "refuse" } : undefined);
  await clock.advance(2_000);
  expect(seen()).toContain("unreachable: its pods cannot be read: ");
  const before = told();
  member.fault = (request) => (isOfPods(request) ? forbidden : undefined);
  await clock.advance(60_000);
  expect(seen()).toBe("3 replicas, unknown pods");
  expect(told()).toBeGreaterThan(before);
});

test("a first list under way is waited for; a cluster that cannot be read is known by Karmada's copy", async () => {
  const order = { cluster: "east", manifest: scaled(3), term: 1, notes: {}, expected: null };
  const manifestStatuses = [{ identifier: { ordinal: 0 }, status: { readyReplicas: 3 } }];
  hub.put(WORKS, { ...workFor(APP, order, undefined), status: { manifestStatuses } });
  member.fault = (request) => (isOfPods(request) ? undefined : { kind: "hang" });
  const { seen } = await started(2_000);
  expect(seen()).toBe("unreachable: StatefulSet has not been listed yet in east");
  member.fault = () => ({ kind: "refuse" });
  await clock.advance(60_000);
  expect(seen()).toBe("3 replicas, unknown pods");
});
