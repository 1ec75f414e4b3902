import { afterEach, expect, test } from "vitest";
import { KubeClient, type KubeObject } from "../../kube/index.ts";
import { FakeApi } from "../../kube/testing/fake-api.ts";
import { type HttpRequest, seededRandom, type Transport } from "../../runtime/index.ts";
import { VirtualClock } from "../../runtime/testing/virtual-clock.ts";
import type { EngineApp } from "../port.ts";
import { STATEFULSETS, statefulSet } from "../testing/contract.ts";
import { KarmadaEngine } from "./engine.ts";
import { CLUSTERS } from "./resources.ts";

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

const stop = new AbortController();
const clock = new VirtualClock();
const hub = new FakeApi({ clock });
const member = new FakeApi({ clock });

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

test("what was seen of a cluster before it came back counts for nothing until it is listed anew", async () => {
  hub.put(CLUSTERS, cluster("True", 0));
  member.put(STATEFULSETS, scaled(3));
  const random = seededRandom(1);
  const engine = new KarmadaEngine({ hub: new KubeClient({ transport, clock, random }), clock, random });
  void engine.run(stop.signal);
  engine.track(APP, () => {});
  await clock.advance(2_000);
  const seen = () => {
    const snapshot = engine.snapshot(APP, "east");
    return snapshot.kind === "present"
      ? `${(snapshot.object.spec as { replicas: number }).replicas} replicas`
      : snapshot.kind;
  };
  expect(seen()).toBe("3 replicas");

  // Its watches stand still, and nobody notices.
  for (const watch of member.watches) watch.goSilent();
  const slowly = () => ({ kind: "slow", delayMs: 500 }) as const;
  member.fault = slowly;
  member.put(STATEFULSETS, scaled(4));
  hub.put(CLUSTERS, cluster("False", 1));
  await clock.settle();
  hub.put(CLUSTERS, cluster("True", 2));
  await clock.settle();
  expect(seen()).toBe("unreachable");
  await clock.advance(2_000);
  expect(seen()).toBe("4 replicas");

  // Away and back, and the hub's watch brought only the end of it.
  for (const watch of member.watches) watch.goSilent();
  member.put(STATEFULSETS, scaled(5));
  hub.put(CLUSTERS, cluster("True", 4));
  await clock.settle();
  expect(seen()).toBe("unreachable");
  await clock.advance(2_000);
  expect(seen()).toBe("5 replicas");
});
