/**
 * How long a rolling update takes, divided by the time that the members themselves need for it: everything above 1 is
 * added by Lockstep and by the connection between hub and members. It runs on the embedded fleet with all its parts
 * (agents, StatefulSet controllers, simulated nodes). Virtual time counts waiting and not computing, so the figures are
 * the same on every machine; the last row is real time.
 */
import { performance } from "node:perf_hooks";
import { runManager } from "../src/controllers/index.ts";
import { EmbeddedFleet } from "../src/embedded/index.ts";
import { World } from "../src/embedded/testing/world.ts";
import { KarmadaEngine } from "../src/engine/index.ts";
import { type KubeClient, type KubeObject, resource } from "../src/kube/index.ts";
import { type JsonObject, seededRandom, systemClock } from "../src/runtime/index.ts";
import type { BenchRow } from "./main.ts";
import { machineLoad, round, setting, until } from "./support/measure.ts";

export const title =
  "rolling update: total time over the members' own (embedded fleet, an instance takes 2 s: 0.5 s to stop, 1.5 s to start)";

const TIMINGS = { podStopMs: 500, podStartMs: 1_500 };
/** The largest serial rollout. */
const MAX_CLUSTERS = setting("LOCKSTEP_BENCH_CLUSTERS", 100);
const SERIAL_CLUSTERS = [3, 10, 30, 100];
const PARALLEL_CLUSTERS = 12;
const MAX_UNAVAILABLE = [1, 2, 3, 5];
const REAL_TIME_CLUSTERS = 3;
const STATEFULSETS = "apps/statefulsets";

export async function run(): Promise<BenchRow[]> {
  const rows: BenchRow[] = [];
  for (const clusters of SERIAL_CLUSTERS.filter((count) => count <= MAX_CLUSTERS)) {
    rows.push(await virtualRollout(clusters, 1));
  }
  for (const maxUnavailable of MAX_UNAVAILABLE) rows.push(await virtualRollout(PARALLEL_CLUSTERS, maxUnavailable));
  rows.push(await realRollout(REAL_TIME_CLUSTERS));
  return rows;
}

async function virtualRollout(clusters: number, maxUnavailable: number): Promise<BenchRow> {
  const startedMs = performance.now();
  const members = memberNames(clusters);
  const world = new World(1, { members, timings: TIMINGS, trackUpdates: false });
  await world.start();
  try {
    await world.apply(crossCluster(maxUnavailable));
    await world.until("the hold is in place", () => world.status("app").reason === "TemplateMissing");
    await world.apply(everywhere());
    await world.apply(template(clusters, "app:1"));
    await world.until("it is deployed", () => world.isSettled("app", clusters));
    const own = new OwnTimes(world.fleet, () => world.clock.monotonicMs());
    const beganMs = world.clock.monotonicMs();
    await world.apply(template(clusters, "app:2"));
    await world.until("every member is done", () => own.done === clusters);
    const tookMs = own.lastMs - beganMs;
    return row(clusters, maxUnavailable, "virtual", tookMs, own.sumMs, performance.now() - startedMs);
  } finally {
    await world.stop();
  }
}

async function realRollout(clusters: number): Promise<BenchRow> {
  const startedMs = performance.now();
  const members = memberNames(clusters);
  const clock = systemClock;
  const random = seededRandom(1);
  const fleet = new EmbeddedFleet({ clock, random, members, timings: TIMINGS });
  await fleet.start();
  const hub = fleet.client();
  const stop = new AbortController();
  const webhookTransports = () => {
    throw new Error("no webhook is configured here");
  };
  const engine = () => new KarmadaEngine({ hub, clock, random });
  const log = { debug() {}, info() {}, warn() {}, error() {}, with: () => log };
  const running = runManager(
    { hub, clock, random, log, engine, webhookTransports, systemNamespace: "lockstep-system", identity: "bench" },
    stop.signal,
  );
  try {
    await apply(hub, crossCluster(1));
    const phase = () => fleet.hubObject("apps.karmada.io/crossclusterstatefulsets", "default", "app")?.status;
    const isHeld = () => ((phase() ?? {}) as JsonObject).reason === "TemplateMissing";
    await until("the hold is in place", isHeld, phase);
    await apply(hub, everywhere());
    await apply(hub, template(clusters, "app:1"));
    await until("it is deployed", () => isSettled(phase(), clusters), phase);
    const own = new OwnTimes(fleet, () => performance.now());
    const beganMs = performance.now();
    await apply(hub, template(clusters, "app:2"));
    await until("every member is done", () => own.done === clusters, phase);
    return row(clusters, 1, "real", own.lastMs - beganMs, own.sumMs, performance.now() - startedMs);
  } finally {
    stop.abort(new Error("the benchmark is over"));
    await running;
    await fleet.stop();
  }
}

/** Each member's own time: from the arrival of the new spec until its status reports that everything is in place. */
class OwnTimes {
  done = 0;
  sumMs = 0;
  lastMs = 0;

  constructor(fleet: EmbeddedFleet, nowMs: () => number) {
    for (const name of fleet.memberNames) {
      const before = fleet.member(name).api.get(STATEFULSETS, "default", "app")?.metadata.generation ?? 0;
      let arrivedMs: number | undefined;
      let isDone = false;
      fleet.member(name).api.on(STATEFULSETS, ({ object }) => {
        if (isDone || (object.metadata.generation ?? 0) <= before) return;
        arrivedMs ??= nowMs();
        if (!isInPlace(object)) return;
        isDone = true;
        this.done++;
        this.lastMs = nowMs();
        this.sumMs += this.lastMs - arrivedMs;
      });
    }
  }
}

function isInPlace({ metadata, spec, status }: KubeObject): boolean {
  const { replicas } = spec as { replicas: number };
  const shown = (status ?? {}) as JsonObject;
  const counts = [shown.replicas, shown.readyReplicas, shown.availableReplicas, shown.updatedReplicas];
  return shown.observedGeneration === metadata.generation && counts.every((count) => count === replicas);
}

function isSettled(status: unknown, replicas: number): boolean {
  const { phase, readyReplicas } = (status ?? {}) as JsonObject;
  return phase === "Settled" && readyReplicas === replicas;
}

function row(
  clusters: number,
  maxUnavailable: number,
  time: string,
  tookMs: number,
  ownMs: number,
  spentMs: number,
): BenchRow {
  return {
    clusters,
    maxUnavailable,
    time,
    "rollout s": round(tookMs / 1000, 2),
    "members' own s": round(ownMs / 1000, 2),
    "rollout / own": round(tookMs / ownMs, 3),
    "spent computing s": round(spentMs / 1000),
    "machine load": machineLoad(),
  };
}

function memberNames(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `member${index + 1}`);
}

async function apply(hub: KubeClient, object: KubeObject): Promise<void> {
  const found = await hub.discovery.resource(object.apiVersion, object.kind);
  await hub.apply(resource(found), object, { fieldManager: "bench", force: true });
}

function crossCluster(maxUnavailable: number): KubeObject {
  return {
    apiVersion: "apps.karmada.io/v1alpha1",
    kind: "CrossClusterStatefulset",
    metadata: { name: "app", namespace: "default" },
    spec: {
      resourceSelector: { apiVersion: "apps/v1", kind: "StatefulSet", name: "app", namespace: "default" },
      podManagementPolicy: "Parallel",
      // The benchmark measures steps, not the settling time of a user's edits.
      revisionSettleSeconds: 0,
      updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable } },
    },
  };
}

/** As many instances as clusters, one in each: more clusters than a topology may list. */
function everywhere(): KubeObject {
  const replicaScheduling = { replicaSchedulingType: "Divided", replicaDivisionPreference: "Weighted" };
  return {
    apiVersion: "policy.karmada.io/v1alpha1",
    kind: "PropagationPolicy",
    metadata: { name: "app", namespace: "default" },
    spec: {
      resourceSelectors: [{ apiVersion: "apps/v1", kind: "StatefulSet", name: "app", namespace: "default" }],
      placement: { replicaScheduling },
    },
  };
}

function template(replicas: number, image: string): KubeObject {
  return {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { name: "app", namespace: "default" },
    spec: {
      replicas,
      serviceName: "app",
      selector: { matchLabels: { app: "app" } },
      template: { metadata: { labels: { app: "app" } }, spec: { containers: [{ name: "app", image }] } },
    },
  };
}
