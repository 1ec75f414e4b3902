/** A rolling update of five instances over three clusters on a real engine: where each step's time goes. */
import { statefulSet } from "../../src/engine/testing/contract/index.ts";
import type { World } from "../../test/stories/world.ts";
import type { BenchRow } from "../main.ts";

/** What the benchmarks that use it say about their stage. */
export const STAGE = "kubelets are simulated: 0.2 s to stop, 0.3 s to start";

const ROLLOUTS = 6;
/** No grant of the next rollout comes sooner after its edit. */
const REVISION_SETTLES_MS = 2_000;
const EPOCH = "crossclusterstatefulset.karmada.io/epoch";

/** When something was first seen, by cluster and epoch. All three come from the benchmark's own watches. */
interface Moments {
  readonly granted: Map<string, number>;
  readonly delivered: Map<string, number>;
  readonly finished: Map<string, number>;
}

/** `engine`: what it is called in the table. */
export async function stepTimes(engine: string, startWorld: () => Promise<World>): Promise<BenchRow[]> {
  const world = await startWorld();
  const stop = new AbortController();
  try {
    const moments: Moments = { granted: new Map(), delivered: new Map(), finished: new Map() };
    const watching = [...world.stack.members].map(([cluster, api]) => watchMember(cluster, api, moments, stop.signal));
    watching.push(watchWorks(world, moments, stop.signal));
    const declare = (image: string) => world.stage.declare(world, "web", statefulSet("web", 5, image));
    await declare("web:0");
    await world.until("it is deployed", () => isSettled(world));
    for (const map of Object.values(moments)) map.clear();
    const started = performance.now();
    for (let rollout = 1; rollout <= ROLLOUTS; rollout++) {
      await declare(`web:${rollout}`);
      await world.until("it is updating", async () => !(await isSettled(world)));
      await world.until("it is settled", () => isSettled(world));
    }
    const perRollout = (performance.now() - started) / ROLLOUTS;
    stop.abort();
    await Promise.allSettled(watching);
    return rows(engine, moments, perRollout);
  } finally {
    stop.abort();
    await world.stop();
  }
}

async function isSettled(world: World): Promise<boolean> {
  const status = await world.status("web");
  return status.phase === "Settled" && status.readyReplicas === 5;
}

async function watchWorks(world: World, { granted }: Moments, signal: AbortSignal): Promise<void> {
  const { works, namespaceOf } = world.stage;
  const clusters = new Map([...world.stack.members.keys()].map((name) => [namespaceOf(name), name]));
  const path = `/apis/${works.apiVersion}/${works.plural}`;
  for await (const { type, object } of world.stack.hub.watch(path, signal)) {
    if (type === "DELETED") continue;
    const epoch = new RegExp(`"${EPOCH}":"(\\d+)"`).exec(JSON.stringify(object.spec))?.[1];
    const cluster = clusters.get(object.metadata.namespace ?? "");
    if (epoch !== undefined && isStatefulSetWork(object.spec)) note(granted, `${cluster}/${epoch}`);
  }
}

function isStatefulSetWork(spec: unknown): boolean {
  return JSON.stringify(spec).includes('"kind":"StatefulSet"');
}

interface StatefulSetStatus {
  readonly observedGeneration?: number;
  readonly replicas?: number;
  readonly readyReplicas?: number;
  readonly availableReplicas?: number;
  readonly updatedReplicas?: number;
}

async function watchMember(
  cluster: string,
  api: World["stack"]["hub"],
  { delivered, finished }: Moments,
  signal: AbortSignal,
): Promise<void> {
  for await (const { type, object } of api.watch("/apis/apps/v1/namespaces/default/statefulsets", signal)) {
    const epoch = (object.metadata.annotations as Record<string, string> | undefined)?.[EPOCH];
    if (type === "DELETED" || epoch === undefined) continue;
    const key = `${cluster}/${epoch}`;
    note(delivered, key);
    const { replicas } = object.spec as { replicas: number };
    const status = (object.status ?? {}) as StatefulSetStatus;
    const counts = [status.replicas, status.readyReplicas, status.availableReplicas, status.updatedReplicas];
    const observed = status.observedGeneration === object.metadata.generation;
    if (observed && counts.every((count) => (count ?? 0) === replicas)) note(finished, key);
  }
}

function note(map: Map<string, number>, key: string): void {
  if (!map.has(key)) map.set(key, performance.now());
}

function rows(engine: string, { granted, delivered, finished }: Moments, perRolloutMs: number): BenchRow[] {
  const propagation: number[] = [];
  const member: number[] = [];
  const own: number[] = [];
  const grants = [...granted.values()].sort((a, b) => a - b);
  for (const [key, at] of granted) {
    const arrived = delivered.get(key);
    const done = finished.get(key);
    if (arrived === undefined || done === undefined) continue;
    propagation.push(arrived - at);
    member.push(done - arrived);
    const next = grants.find((time) => time > done);
    // The next grant after the last step of a rollout comes with the next edit, so it does not count.
    if (next !== undefined && next - done < REVISION_SETTLES_MS) own.push(next - done);
  }
  const row = (what: string, values: number[]): BenchRow => {
    const sorted = values.sort((a, b) => a - b);
    const at = (share: number) => Math.round(sorted[Math.floor((sorted.length - 1) * share)] ?? 0);
    const mean = sorted.reduce((sum, value) => sum + value, 0) / Math.max(1, sorted.length);
    return {
      part: what,
      steps: sorted.length,
      "mean ms": Math.round(mean),
      "p50 ms": at(0.5),
      "p90 ms": at(0.9),
      "max ms": at(1),
    };
  };
  return [
    row(`${engine}: grant on the hub to the member's spec`, propagation),
    row("member: spec to everything in place", member),
    row("Lockstep: in place to the next grant on the hub", own),
    { part: `one rollout of five instances: ${Math.round(perRolloutMs)} ms` },
  ];
}
