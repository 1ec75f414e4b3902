/**
 * The API server over HTTPS: how long four servers take from start to their first answer, requests per second, and how
 * long a change takes to reach watchers. Server and client share one process and one thread, so the figures are lower
 * bounds for a server alone.
 */
import { performance } from "node:perf_hooks";
import { Pool } from "undici";
import { ApiServer, type SecureFront, startSecureFront } from "../src/apiserver/index.ts";
import { seededRandom, systemClock } from "../src/runtime/index.ts";
import type { BenchRow } from "./main.ts";

export const title = "the API server over HTTPS";

const SERVERS = 4;
const CONNECTIONS = 8;
const REQUESTS = 4_000;
const WATCHERS = 100;
const CHANGES = 100;
const MAPS = "/api/v1/namespaces/default/configmaps";

const round = (value: number) => Math.round(value * 100) / 100;

async function start(name: string): Promise<SecureFront> {
  const server = new ApiServer({ clock: systemClock, random: seededRandom(1) });
  return await startSecureFront({ name, server, clock: systemClock });
}

async function poolFor(front: SecureFront, connections: number): Promise<Pool> {
  const { certificateAuthority, credentials } = await front.context();
  if (!("certificate" in credentials)) throw new Error("the administrator has a certificate");
  const connect = { ca: certificateAuthority, cert: credentials.certificate, key: credentials.privateKey };
  return new Pool(front.url, { connections, connect, bodyTimeout: 0 });
}

async function ask(pool: Pool, method: "GET" | "POST" | "PATCH", path: string, body?: object): Promise<void> {
  const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
  const response = await pool.request({
    method,
    path,
    headers: { "content-type": type },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.body.text();
  if (response.statusCode >= 300) throw new Error(text);
}

/** From the start (the certificate library is not even loaded) until each server has answered its client. */
export async function boot(): Promise<BenchRow> {
  const started = performance.now();
  const fronts = await Promise.all(Array.from({ length: SERVERS }, (_, index) => start(`member${index}`)));
  const pools = await Promise.all(fronts.map((front) => poolFor(front, 1)));
  await Promise.all(pools.map((pool) => ask(pool, "GET", "/api/v1/namespaces/default")));
  const elapsed = performance.now() - started;
  await Promise.all(pools.map((pool) => pool.close()));
  await Promise.all(fronts.map((front) => front.close()));
  return { what: `boot of ${SERVERS} servers with TLS, to the first answer`, ms: round(elapsed) };
}

export async function requests(): Promise<BenchRow[]> {
  const front = await start("hub");
  const pool = await poolFor(front, CONNECTIONS);
  const map = (name: string) => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name },
    data: { a: "b".repeat(500) },
  });
  const kinds: [string, (index: number) => Promise<void>][] = [
    ["create", (index) => ask(pool, "POST", MAPS, map(`m-${index}`))],
    ["get", (index) => ask(pool, "GET", `${MAPS}/m-${index}`)],
    ["merge patch", (index) => ask(pool, "PATCH", `${MAPS}/m-${index}`, { data: { n: String(index) } })],
  ];
  const rows: BenchRow[] = [];
  for (const [name, work] of kinds) {
    let next = 0;
    const client = async () => {
      while (next < REQUESTS) await work(next++);
    };
    const started = performance.now();
    await Promise.all(Array.from({ length: CONNECTIONS }, client));
    const elapsed = performance.now() - started;
    rows.push({
      what: `${name} over HTTPS, ${CONNECTIONS} connections`,
      "requests/s": Math.round(REQUESTS / (elapsed / 1000)),
      "us each": round((elapsed / REQUESTS) * 1000),
    });
  }
  await pool.close();
  await front.close();
  return rows;
}

/** A change, until each of the watchers has read it from its own connection. */
export async function fanOut(): Promise<BenchRow> {
  const front = await start("hub");
  const watchers = await poolFor(front, WATCHERS);
  const writer = await poolFor(front, 1);
  const seen = new Array<number>(CHANGES).fill(0);
  const latencies: number[] = [];
  let begun = 0;
  let received = () => {};
  const watching = Array.from({ length: WATCHERS }, async () => {
    const { body } = await watchers.request({ method: "GET", path: `${MAPS}?watch=1&fieldSelector=metadata.name%3Dm` });
    // Closing the front at the end disconnects them.
    body.on("error", () => {});
    body.on("data", (chunk: Buffer) => {
      for (const match of chunk.toString().matchAll(/"n":"(\d+)"/g)) {
        const change = Number(match[1]);
        latencies.push((performance.now() - begun) * 1000);
        seen[change] = (seen[change] ?? 0) + 1;
        if (seen[change] === WATCHERS) received();
      }
    });
  });
  await Promise.all(watching);
  await ask(writer, "POST", MAPS, { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "m" }, data: {} });
  for (let change = 0; change < CHANGES; change++) {
    const all = new Promise<void>((resolve) => {
      received = resolve;
    });
    begun = performance.now();
    await ask(writer, "PATCH", `${MAPS}/m`, { data: { n: String(change) } });
    await all;
  }
  await front.close();
  await Promise.all([watchers.destroy(), writer.destroy()]);
  latencies.sort((left, right) => left - right);
  const at = (share: number) => round(latencies[Math.floor((latencies.length - 1) * share)] ?? 0);
  return { what: `a change to ${WATCHERS} watchers over HTTPS`, "p50 us": at(0.5), "p99 us": at(0.99) };
}

export async function run(): Promise<BenchRow[]> {
  return [await boot(), ...(await requests()), await fanOut()];
}
