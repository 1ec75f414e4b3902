/**
 * The API server in memory: requests per second, the requests of one seed, list and watch of ten thousand pods with the
 * longest time that the event loop was blocked, and how long a change takes to a hundred watchers.
 * bench/apiserver-front.ts measures the same over HTTPS, and the boot of four servers.
 */
import { performance } from "node:perf_hooks";
import { customResourceDefinitions } from "../src/api/index.ts";
import { ApiServer, SchemaCache } from "../src/apiserver/index.ts";
import { type HttpRequest, seededRandom, systemClock } from "../src/runtime/index.ts";
import { run as overHttp } from "./apiserver-front.ts";
import type { BenchRow } from "./main.ts";

export const title = "the API server, in memory and over HTTPS";

const PODS = "/api/v1/namespaces/default/pods";
const SETS = "/apis/apps/v1/namespaces/default/statefulsets";
const OBJECTS = 10_000;
const WATCHERS = 100;
const REQUESTS = 5_000;
const JSON_HEADERS = { "content-type": "application/json", "user-agent": "bench/1" };
const MERGE_HEADERS = { "content-type": "application/merge-patch+json", "user-agent": "bench/1" };
const APPLY_HEADERS = { "content-type": "application/apply-patch+yaml", "user-agent": "bench/1" };

const schemas = new SchemaCache();
const newServer = (trackUpdates = true) =>
  new ApiServer({ clock: systemClock, random: seededRandom(1), trackUpdates, schemas });

function pod(name: string): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels: { app: "db", shard: String(name.length % 7) }, annotations: { note: "x".repeat(200) } },
    spec: {
      containers: [
        {
          name: "db",
          image: "registry.example/db:1.2.3",
          ports: [{ containerPort: 2379, name: "client" }],
          env: Array.from({ length: 8 }, (_, index) => ({ name: `SETTING_${index}`, value: `value-${index}` })),
          resources: { requests: { cpu: "500m", memory: "1Gi" } },
        },
      ],
      volumes: [{ name: "data", persistentVolumeClaim: { claimName: `data-${name}` } }],
    },
  });
}

function statefulSet(name: string, replicas: number): string {
  return JSON.stringify({
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { name },
    spec: {
      replicas,
      serviceName: name,
      selector: { matchLabels: { app: name } },
      template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: "db", image: "db:1" }] } },
    },
  });
}

async function ask(server: ApiServer, request: Omit<HttpRequest, "headers"> & { headers?: HttpRequest["headers"] }) {
  const response = await server.handle({ headers: JSON_HEADERS, ...request });
  if (response.status >= 300) throw new Error(response.body);
  return response;
}

async function timed(count: number, work: (index: number) => Promise<unknown>): Promise<number> {
  const start = performance.now();
  for (let index = 0; index < count; index++) await work(index);
  return performance.now() - start;
}

const rate = (count: number, elapsedMs: number) => Math.round(count / (elapsedMs / 1000));
const round = (value: number) => Math.round(value * 100) / 100;
const megabytes = () => Math.round(process.memoryUsage().heapUsed / 1e6);

async function requests(trackUpdates: boolean): Promise<BenchRow[]> {
  const server = newServer(trackUpdates);
  const label = trackUpdates ? "" : " (updates not tracked)";
  const patch = (index: number) => JSON.stringify({ metadata: { annotations: { n: String(index) } } });
  const status = (index: number) => JSON.stringify({ status: { readyReplicas: index } });
  const kinds: [string, (index: number) => Promise<unknown>][] = [
    ["create", (index) => ask(server, { method: "POST", path: PODS, body: pod(`p-${index}`) })],
    ["get", (index) => ask(server, { method: "GET", path: `${PODS}/p-${index}` })],
    [
      "merge patch",
      (index) =>
        ask(server, { method: "PATCH", path: `${PODS}/p-${index}`, body: patch(index), headers: MERGE_HEADERS }),
    ],
    [
      "create set",
      () =>
        ask(server, {
          method: "PATCH",
          path: `${SETS}/db?fieldManager=a&force=true`,
          body: statefulSet("db", 1),
          headers: APPLY_HEADERS,
        }),
    ],
    [
      "apply",
      (index) =>
        ask(server, {
          method: "PATCH",
          path: `${SETS}/db?fieldManager=a`,
          body: statefulSet("db", index),
          headers: APPLY_HEADERS,
        }),
    ],
    [
      "status patch",
      (index) =>
        ask(server, { method: "PATCH", path: `${SETS}/db/status`, body: status(index), headers: MERGE_HEADERS }),
    ],
    ["delete", (index) => ask(server, { method: "DELETE", path: `${PODS}/p-${index}` })],
  ];
  const rows: BenchRow[] = [];
  for (const [name, work] of kinds) {
    const count = name === "create set" ? 1 : REQUESTS;
    const elapsed = await timed(count, work);
    if (count > 1)
      rows.push({ what: name + label, "requests/s": rate(count, elapsed), "us each": round((elapsed / count) * 1000) });
  }
  return rows;
}

/** The requests of one seed of the simulator: four servers, Lockstep's CRDs, about 200 requests. */
async function seed(): Promise<BenchRow> {
  const crds = customResourceDefinitions().map((crd) => JSON.stringify(crd));
  const run = async () => {
    const servers = Array.from({ length: 4 }, () => newServer());
    for (const crd of crds) {
      const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
      await ask(servers[0]!, { method: "POST", path, body: crd });
    }
    for (let index = 0; index < 200; index++) {
      const server = servers[index % 4]!;
      const name = `db-${Math.floor(index / 20)}`;
      if (index % 20 < 4)
        await ask(server, {
          method: "PATCH",
          path: `${SETS}/${name}?fieldManager=a`,
          body: statefulSet(name, 3),
          headers: APPLY_HEADERS,
        });
      else if (index % 3 === 0) await ask(server, { method: "GET", path: SETS });
      else {
        const body = JSON.stringify({ status: { readyReplicas: index } });
        await ask(server, { method: "PATCH", path: `${SETS}/${name}/status`, body, headers: MERGE_HEADERS });
      }
    }
  };
  for (let warmUp = 0; warmUp < 5; warmUp++) await run();
  const before = process.cpuUsage();
  for (let round = 0; round < 20; round++) await run();
  const { user, system } = process.cpuUsage(before);
  return { what: "one seed: 4 servers, CRDs, 200 requests", ms: round((user + system) / 1000 / 20) };
}

async function blocked<T>(work: () => Promise<T>): Promise<{ result: T; ms: number; blockMs: number }> {
  let last = performance.now();
  let blockMs = 0;
  const tick = setInterval(() => {
    const now = performance.now();
    blockMs = Math.max(blockMs, now - last);
    last = now;
  }, 1);
  await new Promise((resolve) => setTimeout(resolve, 20));
  blockMs = 0;
  const start = performance.now();
  const result = await work();
  const ms = performance.now() - start;
  await new Promise((resolve) => setTimeout(resolve, 20));
  clearInterval(tick);
  return { result, ms: round(ms), blockMs: round(blockMs) };
}

async function tenThousand(): Promise<BenchRow[]> {
  globalThis.gc?.();
  const before = megabytes();
  const server = newServer();
  for (let index = 0; index < OBJECTS; index++)
    await ask(server, { method: "POST", path: PODS, body: pod(`p-${index}`) });
  const rows: BenchRow[] = [{ what: `${OBJECTS} pods stored`, "heap MB": megabytes() - before }];
  const list = () => blocked(() => ask(server, { method: "GET", path: PODS }));
  for (const name of ["list, first", "list, again"]) {
    const { result, ms, blockMs } = await list();
    rows.push({ what: name, ms, "block ms": blockMs, MB: round(result.body.length / 1e6) });
  }
  rows.push({ what: "stored and texts cached", "heap MB": megabytes() - before });
  const selected = await blocked(() => ask(server, { method: "GET", path: `${PODS}?labelSelector=shard%3D1` }));
  rows.push({ what: "list by label", ms: selected.ms, "block ms": selected.blockMs });
  const paged = await blocked(async () => {
    let token = "";
    do {
      const { body } = await ask(server, { method: "GET", path: `${PODS}?limit=500&continue=${token}` });
      token = /"continue":"([^"]+)"/.exec(body.slice(0, 500))?.[1] ?? "";
      await new Promise((resolve) => setImmediate(resolve));
    } while (token !== "");
  });
  rows.push({ what: "list in pages of 500", ms: paged.ms, "block ms": paged.blockMs });
  const watched = await blocked(async () => {
    const abort = new AbortController();
    const { chunks } = await server.stream({
      method: "GET",
      path: `${PODS}?watch=1`,
      headers: {},
      signal: abort.signal,
    });
    let events = 0;
    for await (const chunk of chunks) {
      for (let at = chunk.indexOf("\n"); at >= 0; at = chunk.indexOf("\n", at + 1)) events += 1;
      await new Promise((resolve) => setImmediate(resolve));
      if (events >= OBJECTS) break;
    }
    return events;
  });
  rows.push({ what: "watch, initial events", ms: watched.ms, "block ms": watched.blockMs });
  return rows;
}

async function fanOut(): Promise<BenchRow> {
  const server = newServer();
  await ask(server, { method: "POST", path: PODS, body: pod("p") });
  const readers: AsyncIterator<string>[] = [];
  for (let index = 0; index < WATCHERS; index++) {
    const path = `${PODS}?watch=1&resourceVersion=${server.resourceVersion}`;
    readers.push((await server.stream({ method: "GET", path, headers: {} })).chunks[Symbol.asyncIterator]());
  }
  const latencies: number[] = [];
  for (let index = 0; index < 300; index++) {
    const waiting = readers.map(async (reader) => {
      await reader.next();
      return performance.now();
    });
    const start = performance.now();
    const body = JSON.stringify({ metadata: { annotations: { n: String(index) } } });
    await ask(server, { method: "PATCH", path: `${PODS}/p`, body, headers: MERGE_HEADERS });
    latencies.push(...(await Promise.all(waiting)).map((end) => (end - start) * 1000));
  }
  server.closeWatches();
  latencies.sort((left, right) => left - right);
  const at = (share: number) => round(latencies[Math.floor((latencies.length - 1) * share)] ?? 0);
  return { what: `a change to ${WATCHERS} watchers`, "p50 us": at(0.5), "p99 us": at(0.99) };
}

export async function run(): Promise<BenchRow[]> {
  return [
    ...(await requests(true)),
    ...(await requests(false)),
    await seed(),
    ...(await tenThousand()),
    await fanOut(),
    ...(await overHttp()),
  ];
}
