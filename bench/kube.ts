/**
 * Lists and watches of 10,000 objects: this project's reflector compared with client-node's informer, and fan-out in
 * memory.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { performance } from "node:perf_hooks";
import { ApiServer } from "../src/apiserver/index.ts";
import { KubeClient, Reflector, resource } from "../src/kube/index.ts";
import { seededRandom, systemClock } from "../src/runtime/index.ts";
import type { ClientFigures, ClientTask } from "./kube/client.ts";
import type { ServerReady } from "./kube/server.ts";
import type { BenchRow } from "./main.ts";

export const title = "list and watch of 10,000 pods over HTTP; one change to 100 watches in memory";

const PODS = 10_000;
const EVENTS = 10_000;
const TRICKLE = 500;
const WATCHES = 100;
const CHANGES = 200;
const CLIENT_LIMIT_MS = 120_000;

export async function run(): Promise<BenchRow[]> {
  const rows: BenchRow[] = [];
  for (const kind of ["reflector", "client-node"] as const) rows.push(await overHttp(kind));
  rows.push(await fanOut());
  return rows;
}

function start(file: string, ...args: string[]): ChildProcess {
  return fork(new URL(file, import.meta.url), args, { execArgv: process.execArgv });
}

/** Server and client each have their own process: the measured event loop does nothing else. */
async function overHttp(kind: ClientTask["kind"]): Promise<BenchRow> {
  const server = start("./kube/server.ts", String(PODS));
  const client = start("./kube/client.ts");
  try {
    const [{ port }] = (await once(server, "message")) as [ServerReady];
    const task: ClientTask = { kind, port, pods: PODS, events: EVENTS, trickle: TRICKLE };
    const figures = await new Promise<ClientFigures>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`${kind} did not finish`)), CLIENT_LIMIT_MS);
      client.on("message", (message: { figures?: ClientFigures; failed?: string }) => {
        if (message.failed) reject(new Error(message.failed));
        else if (message.figures) resolve(message.figures);
        else server.send(message);
        if (message.failed || message.figures) clearTimeout(timer);
      });
      client.send(task);
    });
    return {
      what: kind === "reflector" ? "reflector (this project)" : "informer (client-node)",
      "list ms": Math.round(figures.listMs),
      "longest block ms": Math.round(figures.listBlockMs),
      "in CPU ms": Math.round(figures.listBlockCpuMs),
      "heap MB": Math.round(figures.heapMb),
      "10,000 events ms": Math.round(figures.burstMs),
      "block in events ms": Math.round(figures.burstBlockMs),
      "latency p50 ms": figures.latencyP50Ms.toFixed(2),
      "latency p99 ms": figures.latencyP99Ms.toFixed(2),
    };
  } finally {
    client.disconnect();
    server.disconnect();
  }
}

/** From the write until the last of many caches shows it, all in one process on the embedded API server. */
async function fanOut(): Promise<BenchRow> {
  const random = seededRandom(1);
  const server = new ApiServer({ clock: systemClock, random });
  const client = new KubeClient({ transport: server.transport(), clock: systemClock, random });
  const configMaps = resource({ apiVersion: "v1", kind: "ConfigMap", plural: "configmaps", namespaced: true });
  const stop = new AbortController();
  let shown = 0;
  let allShown: () => void = () => {};
  for (let index = 0; index < WATCHES; index++) {
    const reflector = new Reflector({ client, resource: configMaps, clock: systemClock, random });
    const count = () => {
      if (++shown === WATCHES) allShown();
    };
    reflector.cache.subscribe({ added: count, updated: count });
    void reflector.run(stop.signal);
    await reflector.cache.synced();
  }
  await systemClock.sleep(20);
  const latencies: number[] = [];
  for (let change = 0; change < CHANGES; change++) {
    shown = 0;
    const everywhere = new Promise<void>((resolve) => {
      allShown = resolve;
    });
    const startMs = performance.now();
    const metadata = { name: "a", namespace: "default" };
    const object = { apiVersion: "v1", kind: "ConfigMap", metadata, data: { change: String(change) } };
    await client.apply(configMaps, object, { fieldManager: "bench", force: true });
    await everywhere;
    latencies.push(performance.now() - startMs);
  }
  stop.abort(new Error("over"));
  const sorted = latencies.toSorted((a, b) => a - b);
  return {
    what: `one change to ${WATCHES} watches, in memory`,
    "latency p50 ms": (sorted[Math.floor(CHANGES * 0.5)] ?? Number.NaN).toFixed(2),
    "latency p99 ms": (sorted[Math.floor(CHANGES * 0.99)] ?? Number.NaN).toFixed(2),
  };
}
