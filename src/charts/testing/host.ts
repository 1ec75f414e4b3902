/** A chart repository and an OCI registry on one loopback port, for tests. What is odd about an answer is set by the test. */
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { JsonObject } from "../../runtime/index.ts";

export interface HostedChart {
  readonly name: string;
  readonly version: string;
  readonly archive: Buffer;
  /** What index.yaml states, if it is not the truth. */
  readonly digest?: string;
}

export interface ChartHostOptions {
  readonly charts?: readonly HostedChart[];
  /** `user:password`; without it everything is open. */
  readonly login?: string;
  /** Registry: ask for a token first, as public registries do. */
  readonly wantsToken?: boolean;
  readonly tls?: { readonly cert: string; readonly key: string };
  /** Answers first; false leaves the request to the host. */
  readonly intercept?: (request: IncomingMessage, response: ServerResponse) => boolean;
}

const MANIFEST = "application/vnd.oci.image.manifest.v1+json";
const CHART_CONFIG = "application/vnd.cncf.helm.config.v1+json";
const CHART_LAYER = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";

export class ChartHost {
  readonly requests: string[] = [];
  readonly #server: Server;
  readonly #options: ChartHostOptions;
  #port = 0;

  private constructor(options: ChartHostOptions) {
    this.#options = options;
    const handle = (request: IncomingMessage, response: ServerResponse) => this.#handle(request, response);
    this.#server = options.tls ? createTlsServer(options.tls, handle) : createServer(handle);
  }

  static async start(options: ChartHostOptions = {}): Promise<ChartHost> {
    const host = new ChartHost(options);
    await new Promise<void>((resolve) => host.#server.listen(0, "127.0.0.1", resolve));
    host.#port = (host.#server.address() as AddressInfo).port;
    return host;
  }

  /** `127.0.0.1:PORT`, also after the host has stopped. */
  get address(): string {
    return `127.0.0.1:${this.#port}`;
  }

  /** Of the classic repository; the registry is at `oci://ADDRESS/charts/NAME`. */
  get repository(): string {
    return `http${this.#options.tls ? "s" : ""}://${this.address}/repo`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #handle(request: IncomingMessage, response: ServerResponse): void {
    this.requests.push(`${request.url} ${request.headers.authorization ?? ""}`.trim());
    if (this.#options.intercept?.(request, response)) return;
    const path = (request.url ?? "").split("?")[0] ?? "";
    if (path === "/token") this.#token(request, response);
    else if (!this.#mayRead(request)) {
      const challenge = this.#options.wantsToken
        ? `Bearer realm="http://${this.address}/token",service="tests",scope="pull"`
        : "Basic";
      response.writeHead(401, { "www-authenticate": challenge }).end();
    } else if (path === "/repo/index.yaml") response.end(this.#index());
    else if (path.startsWith("/repo/")) send(response, this.#byFile(path.slice("/repo/".length))?.archive);
    else this.#registry(path, response);
  }

  #mayRead({ headers }: IncomingMessage): boolean {
    const { login, wantsToken } = this.#options;
    if (wantsToken) return headers.authorization === "Bearer the-token";
    return login === undefined || headers.authorization === basic(login);
  }

  #token({ headers }: IncomingMessage, response: ServerResponse): void {
    const { login } = this.#options;
    if (login !== undefined && headers.authorization !== basic(login)) response.writeHead(401).end();
    else response.end(JSON.stringify({ token: "the-token" }));
  }

  #index(): string {
    const lines = ["apiVersion: v1", "entries:"];
    for (const name of new Set(this.#charts.map((chart) => chart.name))) {
      lines.push(`  ${name}:`);
      for (const chart of this.#charts.filter((candidate) => candidate.name === name)) {
        lines.push(
          `  - {apiVersion: v2, name: ${name}, version: "${chart.version}", urls: ["${fileOf(chart)}"], digest: ${chart.digest ?? digestOf(chart.archive)}}`,
        );
      }
    }
    return `${lines.join("\n")}\n`;
  }

  /** `/v2/charts/NAME/...`, as `helm push` leaves it. */
  #registry(path: string, response: ServerResponse): void {
    const [, name, what, reference = ""] = /^\/v2\/charts\/([^/]+)\/(tags|manifests|blobs)\/(.+)$/.exec(path) ?? [];
    const charts = this.#charts.filter((chart) => chart.name === name);
    const isNamed = (bytes: Buffer) => `sha256:${digestOf(bytes)}` === reference;
    if (what === "tags") response.end(JSON.stringify({ tags: charts.map((chart) => tagOf(chart)) }));
    else if (what === "blobs") {
      const blobs = charts.flatMap((chart) => [chart.archive, configOf(chart)]);
      send(response, blobs.find(isNamed));
    } else {
      const found = charts.find((chart) => tagOf(chart) === reference || isNamed(manifestOf(chart)));
      response.setHeader("content-type", MANIFEST);
      send(response, what === "manifests" && found ? manifestOf(found) : undefined);
    }
  }

  #byFile(file: string): HostedChart | undefined {
    return this.#charts.find((chart) => fileOf(chart) === file);
  }

  get #charts(): readonly HostedChart[] {
    return this.#options.charts ?? [];
  }
}

/** The manifest that names a chart's archive by its digest. */
export function manifestOf(chart: HostedChart): Buffer {
  const layers = [descriptor(CHART_LAYER, chart.archive)];
  return Buffer.from(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: MANIFEST,
      config: descriptor(CHART_CONFIG, configOf(chart)),
      layers,
    }),
  );
}

function configOf({ name, version }: HostedChart): Buffer {
  return Buffer.from(JSON.stringify({ apiVersion: "v2", name, version }));
}

function descriptor(mediaType: string, bytes: Buffer): JsonObject {
  return { mediaType, digest: `sha256:${digestOf(bytes)}`, size: bytes.length };
}

export function digestOf(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function fileOf({ name, version }: HostedChart): string {
  return `${name}-${version}.tgz`;
}

function tagOf({ version }: HostedChart): string {
  return version.replaceAll("+", "_");
}

function basic(login: string): string {
  return `Basic ${Buffer.from(login).toString("base64")}`;
}

function send(response: ServerResponse, bytes: Buffer | undefined): void {
  if (bytes) response.end(bytes);
  else response.writeHead(404).end();
}
