/**
 * A stand-in for the user server of OCM's cluster-proxy add-on, in front of real API servers: `https://HOST/<cluster>/<path>`
 * goes to that cluster with the caller's token, watches included; a cluster that is unknown or does not answer is 502.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, request } from "node:https";
import type { AddressInfo } from "node:net";
import { selfSigned } from "../../src/runtime/testing/certificates.ts";
import type { Api } from "../stack/api.ts";

export interface ClusterProxy {
  readonly ca: string;
  /** The address of a cluster, as a Secret names it. */
  addressOf(cluster: string): string;
  stop(): Promise<void>;
}

export async function startClusterProxy(members: ReadonlyMap<string, Api>): Promise<ClusterProxy> {
  const { cert, key } = await selfSigned("127.0.0.1");
  const server = createServer({ cert, key }, (from, to) => {
    const [, cluster = "", path = ""] = /^\/([^/]+)(\/.*)$/.exec(from.url ?? "") ?? [];
    const member = members.get(cluster);
    if (member) forward(from, to, member, path);
    else to.writeHead(502).end(`no tunnel to ${cluster}`);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    ca: cert,
    addressOf: (cluster) => `https://127.0.0.1:${port}/${cluster}`,
    stop() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

function forward(from: IncomingMessage, to: ServerResponse, member: Api, path: string): void {
  const { host: _, ...headers } = from.headers;
  const asked = request(`${member.server}${path}`, { method: from.method, headers, ca: member.tls.ca }, (answer) => {
    to.writeHead(answer.statusCode ?? 502, answer.headers);
    // A watch begins with its headers alone.
    to.flushHeaders();
    answer.pipe(to);
    answer.on("error", () => to.destroy());
  });
  asked.on("error", () => (to.headersSent ? to.destroy() : to.writeHead(502).end("the tunnel is closed")));
  to.on("close", () => asked.destroy());
  from.pipe(asked);
}
