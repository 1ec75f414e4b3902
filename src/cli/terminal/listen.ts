import { createServer } from "node:http";
import { CommandError } from "../errors.ts";

export interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

export interface Listening {
  /** With the port that the system chose, if 0 was asked for. */
  readonly address: string;
  close(): Promise<void>;
}

/** A client gets this long to send its request: probes and Prometheus send theirs at once. */
const REQUEST_MS = 5_000;
/** Probes of several kubelets and a few scrapers; more is not meant for this server. */
const MAX_CONNECTIONS = 64;
const MAX_HEADER_BYTES = 8 * 1024;

/** A small HTTP server: GET and HEAD of fixed paths, and nothing that a request could change. */
export async function listen(address: string, answer: (path: string) => Answer): Promise<Listening> {
  const { host, port } = addressOf(address);
  const server = createServer({ maxHeaderSize: MAX_HEADER_BYTES, requestTimeout: REQUEST_MS }, (request, response) => {
    const isRead = request.method === "GET" || request.method === "HEAD";
    const { status, contentType, body } = isRead
      ? answer((request.url ?? "/").split("?")[0] ?? "/")
      : { status: 405, contentType: "text/plain; charset=utf-8", body: "only GET\n" };
    response.writeHead(status, {
      "content-type": contentType,
      "content-length": Buffer.byteLength(body),
      "cache-control": "no-store",
    });
    response.end(request.method === "HEAD" ? "" : body);
  });
  server.maxConnections = MAX_CONNECTIONS;
  server.headersTimeout = REQUEST_MS;
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error) => reject(new CommandError(`cannot listen on ${address}: ${error.message}`)));
    server.listen({ host, port }, resolve);
  });
  const bound = server.address();
  const boundPort = typeof bound === "object" && bound !== null ? bound.port : port;
  return {
    address: `${host}:${boundPort}`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Throws CommandError for anything but HOST:PORT. */
function addressOf(address: string): { host: string; port: number } {
  const match = /^(\[[0-9a-fA-F:.]+\]|[^:\s]+):([0-9]{1,5})$/.exec(address);
  const port = Number(match?.[2]);
  if (!match?.[1] || port > 65_535) {
    throw new CommandError(`--metrics '${address}': give HOST:PORT, such as 127.0.0.1:8080 or 0.0.0.0:8080`);
  }
  return { host: match[1].replace(/^\[|\]$/g, ""), port };
}
