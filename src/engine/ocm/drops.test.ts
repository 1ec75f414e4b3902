import { afterEach, beforeEach, expect, it } from "vitest";
import { KubeClient, type KubeObject } from "../../kube/index.ts";
import { FakeApi } from "../../kube/testing/fake-api.ts";
import { type JsonObject, seededRandom, silentLog, timestamp } from "../../runtime/index.ts";
import { VirtualClock } from "../../runtime/testing/virtual-clock.ts";
import { Drops, SETTLING_MS, STUCK_MS } from "./drops.ts";
import { MANAGED_CLUSTERS, PLACEMENT_DECISIONS, PLACEMENT_LABEL, PLACEMENTS } from "./resources.ts";
import { APP } from "./testing/agent.ts";

const MINUTE_MS = 60_000;
const APPLICATION = { ...APP, placement: "zones" };
const AT = { namespace: APP.namespace, name: "zones" };
const UNREACHABLE = { key: "cluster.open-cluster-management.io/unreachable", effect: "NoSelect" };

let stop: AbortController;
let clock: VirtualClock;
let hub: FakeApi;
let drops: Drops;
let told: number;
/** When the cluster's availability last changed. */
let sinceMs: number;

function begin(): void {
  stop = new AbortController();
  told = 0;
  const client = new KubeClient({ transport: hub, clock, random: seededRandom(1) });
  drops = new Drops({ hub: client, clock, log: silentLog, changed: () => told++ });
  drops.run(stop.signal);
}

beforeEach(() => {
  clock = new VirtualClock();
  hub = new FakeApi({ clock });
  sinceMs = clock.now() - 60 * MINUTE_MS;
  const conditions = [{ type: "PlacementSatisfied", status: "True" }];
  const { apiVersion, kind } = PLACEMENTS;
  hub.put(PLACEMENTS, {
    apiVersion,
    kind,
    metadata: AT,
    spec: {},
    status: { conditions, numberOfSelectedClusters: 1 },
  });
  begin();
});

afterEach(async () => {
  stop.abort();
  await clock.settle();
});

/** As the API server notes it: the last write of the status. */
const writtenAt = (ms: number) => [{ manager: "hub", operation: "Update", subresource: "status", time: timestamp(ms) }];

interface Availability {
  readonly status?: string;
  readonly taints?: JsonObject[];
  /** The agent's clock is ahead or behind. */
  readonly skewMs?: number;
}

function becomes({ status = "True", taints = [], skewMs = 0 }: Availability): void {
  sinceMs = clock.now();
  putCluster({ status, taints, skewMs });
}

function putCluster({ status = "True", taints = [], skewMs = 0 }: Availability = {}, reportedMs = sinceMs): void {
  const lastTransitionTime = timestamp(sinceMs + skewMs);
  const managedFields = writtenAt(reportedMs);
  hub.put(MANAGED_CLUSTERS, {
    apiVersion: MANAGED_CLUSTERS.apiVersion,
    kind: MANAGED_CLUSTERS.kind,
    metadata: { name: "east", uid: "u-east", ...{ managedFields } },
    spec: { hubAcceptsClient: true, taints },
    status: {
      conditions: [
        { type: "ManagedClusterJoined", status: "True" },
        { type: "ManagedClusterConditionAvailable", status, lastTransitionTime },
      ],
    },
  });
}

/** The Placement decides now. */
function decides(clusterName: string): void {
  hub.put(PLACEMENT_DECISIONS, {
    apiVersion: PLACEMENT_DECISIONS.apiVersion,
    kind: PLACEMENT_DECISIONS.kind,
    metadata: {
      ...AT,
      uid: "u-decision",
      creationTimestamp: timestamp(clock.now() - 90 * MINUTE_MS),
      labels: { [PLACEMENT_LABEL]: "zones" },
      ...{ managedFields: writtenAt(clock.now()) },
    },
    status: { decisions: [{ clusterName, reason: "" }] },
  });
}

/** What is on the hub, or what a cache that lags shows of it. */
const shown = () => ({
  cluster: hub.list(MANAGED_CLUSTERS)[0],
  placement: hub.list(PLACEMENTS)[0],
  decisions: hub.list(PLACEMENT_DECISIONS),
});
const kept = (cached: { cluster: KubeObject | undefined; decisions: readonly KubeObject[] } = shown()) =>
  drops.kept(APPLICATION, "east", { ...shown(), ...cached });

it("a cluster that was available throughout leaves after two readings of the hub, and that is news", async () => {
  putCluster();
  decides("west");
  expect(kept()?.message).toContain("Placement default/zones does not select east");
  await clock.advance(SETTLING_MS - 1_000);
  expect(kept()).toMatchObject({ isStuck: false });
  const before = told;
  await clock.advance(2_000);
  expect(told).toBe(before + 1);
  expect(kept()).toBeUndefined();
});

it("a cluster that is back, and not yet selected again, stays: its taint is removed later, and the decision later still", async () => {
  putCluster();
  decides("east");
  await clock.advance(MINUTE_MS);
  becomes({ status: "Unknown", taints: [UNREACHABLE] });
  decides("west");
  expect(kept()?.message).toContain("east is not available");
  await clock.advance(MINUTE_MS);
  becomes({ taints: [UNREACHABLE] });
  await clock.advance(2 * SETTLING_MS);
  expect(kept()?.message).toContain("has just come back");
  putCluster();
  await clock.advance(5 * SETTLING_MS);
  kept();
  await clock.advance(3 * SETTLING_MS);
  expect(kept()?.message).toContain("decided before the cluster came back");
});

it("the agent's clock decides nothing: it may be minutes behind", async () => {
  decides("west");
  await clock.advance(MINUTE_MS);
  becomes({ skewMs: -4 * MINUTE_MS });
  kept();
  await clock.advance(3 * SETTLING_MS);
  expect(kept()?.message).toContain("decided before the cluster came back");
});

it("a Placement that does not decide again is a user's matter after a while, until it decides", async () => {
  decides("west");
  await clock.advance(MINUTE_MS);
  becomes({});
  expect(kept()).toMatchObject({ isStuck: false });
  await clock.advance(1_000);
  const before = told;
  await clock.advance(STUCK_MS + SETTLING_MS);
  expect(told).toBe(before + 1);
  expect(kept()).toMatchObject({ isStuck: true, message: expect.stringContaining("kubectl delete placementdecision") });
  decides("west");
  expect(kept()).toBeDefined();
  await clock.advance(2 * SETTLING_MS + 2_000);
  expect(kept()).toBeUndefined();
});

it("a decision soon after a return counts if nothing was reported of the cluster since", async () => {
  becomes({});
  await clock.advance(2_000);
  decides("west");
  kept();
  await clock.advance(SETTLING_MS + 1_000);
  expect(kept()).toBeUndefined();
});

it("news of the cluster's nodes do not make an old return of it a new one", async () => {
  putCluster();
  decides("west");
  await clock.advance(2_000);
  putCluster({}, clock.now());
  kept();
  await clock.advance(SETTLING_MS + 1_000);
  expect(kept()).toBeUndefined();
});

it("a decision that is seen before the loss that caused it is no removal", async () => {
  putCluster();
  const before = shown().cluster;
  becomes({ status: "Unknown", taints: [UNREACHABLE] });
  decides("west");
  // The watch of clusters has stalled: the caches show the cluster as it was.
  const lagging = () => ({ ...shown(), cluster: before });
  for (let passedMs = 0; passedMs < 4 * SETTLING_MS; passedMs += SETTLING_MS / 2) {
    expect(kept(lagging())).toBeDefined();
    await clock.advance(SETTLING_MS / 2);
  }
  expect(kept(lagging())?.message).toContain("east is not available");
});

it("a cluster that was away between two readings starts over", async () => {
  putCluster();
  decides("west");
  kept();
  await clock.advance(SETTLING_MS / 2);
  becomes({});
  decides("west");
  await clock.advance(SETTLING_MS / 2 + 1_000);
  expect(kept()).toBeDefined();
});

it("a proof is of one decision: the next one needs its own", async () => {
  putCluster();
  decides("west");
  kept();
  await clock.advance(SETTLING_MS + 1_000);
  expect(kept()).toBeUndefined();
  decides("west");
  expect(kept()).toBeDefined();
});

it("a Placement that tolerates loss drops no cluster for it: an old decision counts", async () => {
  const tolerated = async (...tolerations: JsonObject[]) => {
    const [placement] = hub.list(PLACEMENTS);
    if (placement) hub.put(PLACEMENTS, { ...placement, spec: { tolerations } });
    stop.abort();
    await clock.settle();
    begin();
    kept();
    await clock.advance(SETTLING_MS + 1_000);
    return kept() === undefined;
  };
  decides("west");
  await clock.advance(MINUTE_MS);
  becomes({});
  const exists = { operator: "Exists" };
  const unavailable = "cluster.open-cluster-management.io/unavailable";
  expect(await tolerated({ ...exists, tolerationSeconds: 300 })).toBe(false);
  expect(await tolerated({ ...exists, key: UNREACHABLE.key })).toBe(false);
  expect(await tolerated({ ...exists, effect: "NoSelectIfNew" })).toBe(false);
  expect(await tolerated({ ...exists, key: UNREACHABLE.key }, { key: unavailable, operator: "Equal" })).toBe(true);
  expect(await tolerated(exists)).toBe(true);
});

it("nothing leaves while the hub cannot be read, and a process that does not run reads nothing", async () => {
  putCluster();
  decides("west");
  hub.fault = () => ({ kind: "answer", status: 403 });
  kept();
  await clock.advance(3 * SETTLING_MS);
  expect(kept()?.message).toContain("could not be read");
  const client = new KubeClient({ transport: hub, clock, random: seededRandom(1) });
  const preview = new Drops({ hub: client, clock, log: silentLog, changed: () => told++ });
  const requests = hub.requests.length;
  stop.abort();
  await clock.settle();
  expect(preview.kept(APPLICATION, "east", shown())).toBeDefined();
  await clock.advance(3 * SETTLING_MS);
  expect(hub.requests.length).toBe(requests);
});

it("an application that asks no more ends the readings", async () => {
  putCluster();
  decides("west");
  kept();
  await clock.advance(60 * MINUTE_MS);
  const requests = hub.requests.length;
  await clock.advance(60 * MINUTE_MS);
  expect(hub.requests.length).toBe(requests);
});
