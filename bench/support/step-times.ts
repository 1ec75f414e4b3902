/** A rolling update of five instances over three clusters on a real engine: where each step's time goes. */
import { performance } from "node:perf_hooks";
import { statefulSet } from "../../src/engine/testing/contract/index.ts";
import type { HttpRequest, Transport } from "../../src/runtime/index.ts";
import type { World, WorldOptions } from "../../test/stories/world.ts";
import type { BenchRow } from "../main.ts";
import { machineLoad, setting } from "./measure.ts";

/** What the benchmarks that use it say about their stage. */
export const STAGE = "kubelets are simulated: 0.2 s to stop, 0.3 s to start";

/** LOCKSTEP_BENCH_ROLLOUTS makes a run shorter or longer. */
const ROLLOUTS = setting("LOCKSTEP_BENCH_ROLLOUTS", 6);
/** No grant of the next rollout comes sooner after its edit. */
const REVISION_SETTLES_MS = 2_000;
const EPOCH = "crossclusterstatefulset.karmada.io/epoch";

/** When something was first seen, by cluster and epoch. All three come from the benchmark's own watches. */
interface Moments {
  readonly granted: Map<string, number>;
  readonly delivered: Map<string, number>;
  readonly finished: Map<string, number>;
}

/** One request of the controller to the hub, without the streams. */
interface Sent {
  readonly what: string;
  readonly fromMs: number;
  toMs: number;
}

/** What the controller asks the hub for, and when. */
class Requests {
  readonly sent: Sent[] = [];

  through(transport: Transport): Transport {
    return {
      stream: (request) => transport.stream(request),
      request: async (request) => {
        const sent: Sent = { what: wordsFor(request), fromMs: performance.now(), toMs: Number.POSITIVE_INFINITY };
        this.sent.push(sent);
        try {
          return await transport.request(request);
        } finally {
          sent.toMs = performance.now();
        }
      },
    };
  }
}

/** Such as `PUT crossclusterledgers`. */
function wordsFor({ method, path }: HttpRequest): string {
  const { pathname } = new URL(path, "http://hub");
  const [, namespaced, plural] = /\/namespaces\/[^/]+\/([^/]+)|\/([^/]+)(?:\/[^/]+)?$/.exec(pathname) ?? [];
  return `${method} ${namespaced ?? plural}${pathname.endsWith("/status") ? "/status" : ""}`;
}

/** `engine`: what it is called in the table. */
export async function stepTimes(
  engine: string,
  startWorld: (options: WorldOptions) => Promise<World>,
): Promise<BenchRow[]> {
  const requests = new Requests();
  const world = await startWorld({ through: (transport) => requests.through(transport) });
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
    return rows(engine, moments, requests.sent, perRollout);
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

interface StatefulSetSpec {
  readonly replicas: number;
  readonly updateStrategy?: { readonly rollingUpdate?: { readonly partition?: number } };
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
    const { replicas, updateStrategy } = object.spec as StatefulSetSpec;
    const partition = updateStrategy?.rollingUpdate?.partition ?? 0;
    const status = (object.status ?? {}) as StatefulSetStatus;
    const counts = [status.replicas, status.readyReplicas, status.availableReplicas];
    const observed = status.observedGeneration === object.metadata.generation;
    const isUpdated = (status.updatedReplicas ?? 0) >= Math.max(0, replicas - partition);
    if (observed && isUpdated && counts.every((count) => (count ?? 0) === replicas)) note(finished, key);
  }
}

function note(map: Map<string, number>, key: string): void {
  if (!map.has(key)) map.set(key, performance.now());
}

function rows(
  engine: string,
  { granted, delivered, finished }: Moments,
  sent: readonly Sent[],
  perRolloutMs: number,
): BenchRow[] {
  const propagation: number[] = [];
  const member: number[] = [];
  const own: number[] = [];
  const waiting: number[] = [];
  const thinking: number[] = [];
  const asked = new Map<string, number>();
  const grants = [...granted.values()].sort((a, b) => a - b);
  for (const [key, at] of granted) {
    const arrived = delivered.get(key);
    const done = finished.get(key);
    if (arrived === undefined || done === undefined) continue;
    propagation.push(arrived - at);
    member.push(done - arrived);
    const next = grants.find((time) => time > done);
    // The next grant after the last step of a rollout comes with the next edit, so it does not count.
    if (next === undefined || next - done >= REVISION_SETTLES_MS) continue;
    own.push(next - done);
    const during = sent.filter(({ fromMs, toMs }) => toMs > done && fromMs < next);
    const waitedMs = coveredMs(during, done, next);
    waiting.push(waitedMs);
    thinking.push(next - done - waitedMs);
    for (const { what } of during) asked.set(what, (asked.get(what) ?? 0) + 1);
  }
  const perStep = [...asked].map(([what, count]) => `${what} ${(count / Math.max(1, own.length)).toFixed(1)}`);
  return [
    row(`${engine}: grant on the hub to the member's spec`, propagation),
    row("member: spec to everything in place", member),
    row("Lockstep: in place to the next grant on the hub", own),
    row("  of which the hub's answers to Lockstep's requests", waiting),
    row("  of which Lockstep itself, and the news on its way", thinking),
    { part: `Lockstep's requests to the hub in a step: ${perStep.join(", ")}` },
    { part: `one rollout of five instances: ${Math.round(perRolloutMs)} ms; load of the machine: ${machineLoad()}` },
  ];
}

/** How much of the time some request was under way. */
function coveredMs(requests: readonly Sent[], fromMs: number, toMs: number): number {
  let covered = 0;
  let upTo = fromMs;
  for (const each of [...requests].sort((a, b) => a.fromMs - b.fromMs)) {
    const start = Math.max(upTo, each.fromMs);
    const end = Math.min(toMs, each.toMs);
    if (end > start) covered += end - start;
    upTo = Math.max(upTo, end);
  }
  return covered;
}

function row(what: string, values: readonly number[]): BenchRow {
  const sorted = [...values].sort((a, b) => a - b);
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
}
