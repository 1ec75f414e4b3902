import { afterEach, beforeEach, expect, it } from "vitest";
import { KubeClient, type KubeObject } from "../../kube/index.ts";
import { FakeApi, type Fault } from "../../kube/testing/fake-api.ts";
import { type JsonObject, seededRandom } from "../../runtime/index.ts";
import { VirtualClock } from "../../runtime/testing/virtual-clock.ts";
import { SupersededError } from "../errors.ts";
import { MEMBER_ACCESS_LABEL, SECRETS } from "../members/access.ts";
import { STATEFULSETS } from "../testing/contract/objects.ts";
import { SETTLING_MS } from "./drops.ts";
import { OcmEngine } from "./engine.ts";
import {
  MANAGED_CLUSTERS,
  MANIFEST_WORKS,
  PLACEMENT_DECISIONS,
  PLACEMENT_LABEL,
  PLACEMENT_SCORES,
  PLACEMENTS,
} from "./resources.ts";
import { FRESH_MS } from "./signs-of-life.ts";
import { APP, orderFor, reported, written } from "./testing/agent.ts";

let stop: AbortController;
let clock: VirtualClock;
let hub: FakeApi;
let told: number;
/** The servers that Lockstep has tried to reach. */
let opened: string[];
/** What answers there; absent: nothing does. */
let member: FakeApi | undefined;

beforeEach(() => {
  stop = new AbortController();
  clock = new VirtualClock();
  // It knows no JSON patches; that one was sent is all that is asked.
  const isQuestion = (body: unknown) => Array.isArray(body);
  hub = new FakeApi({ clock, fault: ({ body }) => (isQuestion(body) ? { kind: "answer", status: 422 } : undefined) });
  told = 0;
  opened = [];
  member = undefined;
});

afterEach(async () => {
  stop.abort();
  await clock.settle();
});

function cluster(available: "True" | "Unknown"): KubeObject {
  const condition = (type: string, status: string) => ({ type, status, lastTransitionTime: "2024-12-31T00:00:00Z" });
  return {
    apiVersion: MANAGED_CLUSTERS.apiVersion,
    kind: MANAGED_CLUSTERS.kind,
    metadata: { name: "east" },
    spec: { hubAcceptsClient: true },
    status: {
      conditions: [condition("ManagedClusterJoined", "True"), condition("ManagedClusterConditionAvailable", available)],
    },
  };
}

const report = (term: number) => reported(written(orderFor(1, { term }), undefined, clock.now()));
const questions = () => hub.requests.filter(({ body }) => Array.isArray(body)).length;

async function started(): Promise<OcmEngine> {
  hub.put(MANAGED_CLUSTERS, cluster("True"));
  hub.put(MANIFEST_WORKS, report(1));
  const engine = new OcmEngine({
    hub: new KubeClient({ transport: hub, clock, random: seededRandom(1) }),
    clock,
    random: seededRandom(2),
    openMember: ({ server }) => {
      opened.push(server);
      if (!member) return Promise.reject(new Error("no server answers here"));
      return Promise.resolve({ transport: member, close: async () => {} });
    },
  });
  engine.track(APP, () => told++);
  void engine.run(stop.signal);
  await clock.advance(1_000);
  expect(engine.synced()).toBe(true);
  return engine;
}

function select(clusterName: string): void {
  const metadata = { name: "zones", namespace: APP.namespace };
  const conditions = [{ type: "PlacementSatisfied", status: "True" }];
  const placed = { apiVersion: PLACEMENTS.apiVersion, kind: PLACEMENTS.kind, metadata, spec: {} };
  hub.put(PLACEMENTS, { ...placed, status: { conditions, numberOfSelectedClusters: 1 } });
  hub.put(PLACEMENT_DECISIONS, {
    apiVersion: PLACEMENT_DECISIONS.apiVersion,
    kind: PLACEMENT_DECISIONS.kind,
    // A while after the cluster was last away.
    metadata: { ...metadata, labels: { [PLACEMENT_LABEL]: "zones" }, creationTimestamp: "2025-01-01T00:00:00Z" },
    status: { decisions: [{ clusterName, reason: "" }] },
  });
}

it("a process that only looks sees what a leader's questions proved, and writes nothing", async () => {
  const engine = await started();
  expect(engine.snapshot(APP, "east").kind).toBe("present");
  await clock.advance(2 * FRESH_MS);
  expect(questions()).toBe(0);
  // The leader asks no more: what was seen then is not known now.
  expect(engine.snapshot(APP, "east")).toMatchObject({
    kind: "unreachable",
    message: expect.stringContaining("sign of life"),
  });
  hub.put(MANIFEST_WORKS, report(1));
  await clock.advance(1_000);
  expect(engine.snapshot(APP, "east").kind).toBe("present");
});

it("a leader asks for signs of life until a later one has stamped its term", async () => {
  const engine = await started();
  await engine.stamp(APP, 1, ["east"]);
  await clock.advance(FRESH_MS);
  const asked = questions();
  expect(asked).toBeGreaterThan(1);
  hub.put(MANIFEST_WORKS, report(2));
  await clock.advance(2 * FRESH_MS);
  expect(questions()).toBe(asked);
  await expect(engine.stamp(APP, 1, ["east"])).rejects.toThrow(SupersededError);
});

it("a process that has stamped nothing says that a leader is awaited, and the stamp asks at once", async () => {
  const engine = await started();
  expect(engine.awaitsLeader(APP)).toBe(true);
  await engine.stamp(APP, 1, ["east"]);
  expect(engine.awaitsLeader(APP)).toBe(false);
  await clock.advance(1_000);
  expect(questions()).toBe(1);
});

it("an application that is not tracked any more is not asked about", async () => {
  const engine = await started();
  await engine.stamp(APP, 1, ["east"]);
  engine.untrack(APP);
  const asked = questions();
  await clock.advance(FRESH_MS);
  expect(questions()).toBe(asked);
});

it("a cluster that a Placement drops while it is away stays in the schedule; one that is there leaves it when that is proven", async () => {
  const engine = await started();
  const app = { ...APP, placement: "zones" };
  engine.track(app, () => told++);
  select("west");
  await clock.advance(1_000);
  const clusters = () => {
    const schedule = engine.schedule(app);
    return schedule.kind === "known" ? schedule.clusters.map((each) => each.cluster) : schedule.message;
  };
  expect(clusters()).toEqual(["west", "east"]);
  const before = told;
  await clock.advance(SETTLING_MS);
  expect(told).toBeGreaterThan(before);
  expect(clusters()).toEqual(["west"]);
  hub.put(MANAGED_CLUSTERS, cluster("Unknown"));
  await clock.advance(1_000);
  expect(clusters()).toEqual(["west", "east"]);
  // One that is being detached cannot be drained any more.
  const { metadata, ...available } = cluster("True");
  hub.put(MANAGED_CLUSTERS, { ...available, metadata: { ...metadata, deletionTimestamp: "2025-01-01T00:00:00Z" } });
  await clock.advance(1_000);
  expect(clusters()).toEqual(["west", "east"]);
});

it("an application that asks for scores gets the selected clusters with their weights, and news of later ones", async () => {
  const engine = await started();
  const requested = () => hub.requests.filter(({ path }) => path.includes("addonplacementscores")).length;
  expect(requested()).toBe(0);
  select("west");
  const app = { ...APP, placement: "zones", placementScore: { resourceName: "usage", scoreName: "cpu" } };
  engine.track(app, () => told++);
  await clock.advance(1_000);
  expect(engine.schedule(app)).toMatchObject({ isScored: true, clusters: [{ cluster: "west", replicas: 1 }, {}] });
  const before = told;
  hub.put(PLACEMENT_SCORES, {
    apiVersion: PLACEMENT_SCORES.apiVersion,
    kind: PLACEMENT_SCORES.kind,
    metadata: { name: "usage", namespace: "west" },
    status: { scores: [{ name: "cpu", value: 20 }] },
  });
  await clock.advance(1_000);
  expect(told).toBeGreaterThan(before);
  expect(engine.schedule(app)).toMatchObject({
    clusters: [
      { cluster: "west", weight: 120 },
      { cluster: "east", kept: { isStuck: false } },
    ],
  });
});

it("nothing is dispatched to a cluster that is being detached, and the error says what to do", async () => {
  const engine = await started();
  const { metadata, ...available } = cluster("True");
  hub.put(MANAGED_CLUSTERS, { ...available, metadata: { ...metadata, deletionTimestamp: "2025-01-01T00:00:00Z" } });
  await clock.advance(1_000);
  const order = orderFor(2, { expected: engine.dispatched(APP)[0] ?? null });
  await expect(engine.dispatch(APP, order)).rejects.toThrow("lockstep confirm-lost east");
  const ref = { ...APP.template, name: "other" };
  await expect(engine.reserve(APP, [ref], { cluster: "east", term: 1 })).rejects.toThrow("is being detached");
});

it("a cluster that the hub has lost is unreachable, however fresh the last report is", async () => {
  const engine = await started();
  const before = told;
  hub.put(MANAGED_CLUSTERS, cluster("Unknown"));
  await clock.advance(1_000);
  expect(engine.snapshot(APP, "east")).toMatchObject({
    kind: "unreachable",
    message: expect.stringContaining("not available"),
  });
  expect(told).toBeGreaterThan(before);
});

const secretIn = (namespace: string): KubeObject => {
  const text = (value: string) => Buffer.from(value).toString("base64");
  const metadata = { name: "access", namespace, labels: { [MEMBER_ACCESS_LABEL]: "true" } };
  const data = { server: text(`https://${namespace}.example`), token: text("token") };
  return { apiVersion: SECRETS.apiVersion, kind: SECRETS.kind, metadata, data };
};

it("a cluster whose access ends is asked for a report at once, and for the pods that no report has shown yet", async () => {
  const kinds: Record<string, JsonObject> = {
    "/apis/apps/v1": { name: "statefulsets", kind: "StatefulSet" },
    "/api/v1": { name: "pods", kind: "Pod" },
  };
  const discovered = ({ path }: { readonly path: string }): Fault | undefined => {
    const kind = kinds[path];
    const resources = [{ ...kind, namespaced: true, verbs: ["get", "list", "watch"] }];
    const body = { kind: "APIResourceList", groupVersion: "v1", resources };
    return kind && { kind: "answer", status: 200, body };
  };
  member = new FakeApi({ clock, fault: discovered });
  const engine = await started();
  const { manifest } = orderFor(1);
  member.put(STATEFULSETS, manifest);
  hub.put(SECRETS, secretIn("east"));
  await clock.advance(1_000);
  expect(engine.snapshot(APP, "east")).toMatchObject({ kind: "present", source: "live" });
  await engine.stamp(APP, 1, ["east"]);
  const dispatched = engine.dispatched(APP)[0] ?? null;
  await engine.dispatch(APP, orderFor(1, { expected: dispatched }));
  await clock.advance(2 * FRESH_MS);
  expect(questions()).toBe(0);
  hub.remove(SECRETS, { namespace: "east", name: "access" });
  await clock.advance(1_000);
  const [question] = hub.requests.flatMap(({ body }) => (Array.isArray(body) ? [body] : []));
  expect(JSON.stringify(question)).toContain('"op":"add","path":"/spec/workload/manifests/-"');
  expect(JSON.stringify(question)).toContain('"name":"web-0"');
});

it("a Secret gives access only in the namespace of a cluster; one that a tenant writes elsewhere is not followed", async () => {
  await started();
  for (const namespace of ["shop", "east", "west"]) hub.put(SECRETS, secretIn(namespace));
  await clock.advance(1_000);
  expect(opened).toEqual(["https://east.example"]);
  hub.put(MANAGED_CLUSTERS, { ...cluster("True"), metadata: { name: "west" } });
  await clock.advance(1_000);
  expect(opened).toEqual(["https://east.example", "https://west.example"]);
});

it("applications notice a cluster that is back when its taint is removed, too: a Placement's reason may be over", async () => {
  await started();
  const taints = [{ key: "cluster.open-cluster-management.io/unreachable", effect: "NoSelect" }];
  const back = cluster("True");
  hub.put(MANAGED_CLUSTERS, { ...back, spec: { hubAcceptsClient: true, taints } });
  await clock.advance(1_000);
  const before = told;
  hub.put(MANAGED_CLUSTERS, back);
  await clock.advance(1_000);
  expect(told).toBeGreaterThan(before);
});
