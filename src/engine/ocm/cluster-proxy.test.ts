import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { afterEach, expect, it } from "vitest";
import { selfSigned } from "../../runtime/testing/certificates.ts";
import { openMemberOverHttp } from "../members/access.ts";

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/**
 * A stand-in for the user server of OCM's cluster-proxy add-on, not the add-on itself: `https://HOST/<cluster>/<path>`
 * goes to that cluster, with the caller's token; a cluster that is unknown or cut off is 502.
 */
async function standInProxy(): Promise<{ readonly url: string; readonly ca: string }> {
  const { cert, key } = await selfSigned("127.0.0.1");
  const server = createServer({ cert, key }, ({ url = "", headers }, response) => {
    const [, cluster, path] = /^\/([^/]+)(\/.*)$/.exec(url) ?? [];
    const status = cluster !== "east" ? 502 : headers.authorization !== "Bearer t1" ? 401 : 200;
    response.writeHead(status, { "content-type": "application/json" });
    if (path?.includes("watch=true")) {
      response.write('{"type":"ADDED"}\n');
      response.end('{"type":"MODIFIED"}\n');
    } else response.end(JSON.stringify({ cluster, path }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  return { url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`, ca: cert };
}

async function open(cluster: string, token = "t1") {
  const { url, ca } = await standInProxy();
  const connection = await openMemberOverHttp({ server: `${url}/${cluster}`, ca, token });
  closing.push(() => connection.close());
  const request = (path: string) => ({ method: "GET", path, headers: {} }) as const;
  return {
    get: (path: string) => connection.transport.request(request(path)),
    watch: (path: string) => connection.transport.stream(request(path)),
  };
}

it("a cluster is read and watched through a proxy that has the cluster's name in its path", async () => {
  const member = await open("east");
  const answer = await member.get("/apis/apps/v1/statefulsets?limit=500");
  expect(JSON.parse(answer.body)).toEqual({ cluster: "east", path: "/apis/apps/v1/statefulsets?limit=500" });
  const stream = await member.watch("/api/v1/pods?watch=true");
  const lines: string[] = [];
  for await (const chunk of stream.chunks) lines.push(chunk);
  expect(lines.join("")).toBe('{"type":"ADDED"}\n{"type":"MODIFIED"}\n');
});

it("a cluster that the proxy cannot reach, and a token that it refuses, are errors and no absent objects", async () => {
  expect((await (await open("west")).get("/version")).status).toBe(502);
  expect((await (await open("east", "old")).get("/version")).status).toBe(401);
});
