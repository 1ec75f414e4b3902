import { getEventListeners } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, it } from "vitest";
import { openHttpTransport, seededRandom, systemClock } from "../runtime/index.ts";
import { KubeClient } from "./client.ts";
import { Reflector } from "./reflector.ts";
import { configMap, configMaps } from "./testing/resources.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const versioned = (name: string, resourceVersion: string) => {
  const object = configMap(name);
  return { ...object, metadata: { ...object.metadata, uid: name, resourceVersion } };
};

it("over real sockets the reflector survives invalid data, half lines and resets, and leaves no listener behind", async () => {
  // Each watch ends in its own way; the next watch proves that the reflector continued.
  const endings: ((response: ServerResponse) => void)[] = [
    (response) => response.write("rubbish\n"),
    (response) =>
      response.write(`${JSON.stringify({ type: "ADDED", object: versioned("a", "11") })}\n{"type":`, () =>
        response.destroy(),
      ),
    (response) => response.end(`${JSON.stringify({ type: "ADDED", object: versioned("ü", "12") })}\n`),
  ];
  const resumedFrom: (string | null)[] = [];
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "/", "http://test");
    response.writeHead(200, { "content-type": "application/json" });
    if (!url.searchParams.has("watch"))
      return response.end(JSON.stringify({ metadata: { resourceVersion: "10" }, items: [] }));
    resumedFrom.push(url.searchParams.get("resourceVersion"));
    response.flushHeaders();
    return endings.shift()?.(response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  const transport = await openHttpTransport({ server: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
  closing.push(() => transport.close());
  // Pauses before a retry take no time, and deadlines never expire: this test is about the stream.
  const clock = {
    ...systemClock,
    sleep: (ms: number, signal?: AbortSignal) =>
      new Promise<void>((resolve, reject) => {
        signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
        if (ms < 10_000) resolve();
      }),
  };
  const client = new KubeClient({ transport, clock, random: seededRandom(1) });
  const reflector = new Reflector({ client, resource: configMaps, clock, random: seededRandom(2), idleTimeoutMs: 1e9 });
  const stop = new AbortController();
  const seen = new Promise<void>((resolve) => {
    reflector.cache.subscribe({ added: (object) => object.metadata.name === "ü" && resolve() });
  });
  const done = reflector.run(stop.signal);
  await seen;
  expect(reflector.cache.list().map((object) => object.metadata.name)).toEqual(["a", "ü"]);
  expect(resumedFrom.slice(0, 3)).toEqual(["10", "10", "11"]);
  stop.abort(new Error("over"));
  await done;
  expect(getEventListeners(stop.signal, "abort")).toEqual([]);
});
