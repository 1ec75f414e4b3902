/** The HTTP server of the dashboard: the page, sign-in, live streams and actions. It has no rights of its own. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Clock, Log } from "../runtime/index.ts";
import { type Assets, readAssets } from "./assets.ts";
import { CLEAR_COOKIE, cookieOf, keyOf, refusalOf, SECURITY_HEADERS, setCookie } from "./guard.ts";
import { LiveStream } from "./live.ts";
import {
  readAct,
  readApplicationName,
  readCredentials,
  readJson,
  readLogsOf,
  readPodsOf,
  readRecordOf,
  readTopic,
} from "./requests.ts";
import { type Session, Sessions } from "./sessions.ts";
import type { LiveEvent, SessionView } from "./types.ts";
import { Refused, type Viewer } from "./viewer.ts";

export interface DashboardOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** At least 128 random bits, in characters that a cookie may have. */
  readonly newSecret: () => string;
  /** Where the page's files are. */
  readonly pageFolder: string;
  /** Opens a connection to the hub with this bearer token. Throws Refused if the hub does not accept it. */
  readonly signIn: (token: string) => Promise<Viewer>;
  readonly readOnly: boolean;
  /** How commands to paste begin. */
  readonly program: string;
  /** Loopback only. */
  readonly host?: string;
  /** By default 0 (a free port). */
  readonly port?: number;
}

export interface Dashboard {
  /** For example http://127.0.0.1:45123/. */
  readonly url: string;
  /** An address that signs one browser in, once, as the given viewer. */
  oneTimeLink(open: () => Promise<Viewer>): string;
  close(): Promise<void>;
}

/** Thrown for an address that other machines can reach: the dashboard has no TLS, and tokens are typed into it. */
export class NotLoopbackError extends Error {
  override readonly name = "NotLoopbackError";

  constructor(host: string) {
    super(
      `the dashboard does not listen on ${host}, which other machines can reach: use 127.0.0.1 and a port forwarding`,
    );
  }
}

const HEADER_BYTES = 32 * 1024;
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;
/** Tokens and comments; nothing else is sent. */
const BODY_BYTES = 64 * 1024;
/** Pages and their streams on one machine. */
const MAX_CONNECTIONS = 512;
const MAX_STREAMS = 200;
/** Sign-ins that wait for the hub at a time: an attacker who guesses tokens is slow, and the hub is protected. */
const MAX_SIGN_INS = 4;

export async function startDashboard(options: DashboardOptions): Promise<Dashboard> {
  const host = options.host ?? "127.0.0.1";
  if (!/^(?:localhost|::1|127(?:\.\d{1,3}){3})$/.test(host)) throw new NotLoopbackError(host);
  const server = new DashboardServer(options, host, await readAssets(options.pageFolder));
  await server.listen(options.port ?? 0);
  return server;
}

/** Of a session, as a request brings them. */
interface Halves {
  readonly secret: string | undefined;
  readonly key: string | undefined;
}

class DashboardServer implements Dashboard {
  readonly #options: DashboardOptions;
  readonly #host: string;
  readonly #assets: Assets;
  readonly #sessions: Sessions;
  readonly #http: Server;
  readonly #streams = new Set<AbortController>();
  #signIns = 0;
  #port = 0;

  constructor(options: DashboardOptions, host: string, assets: Assets) {
    this.#options = options;
    this.#host = host;
    this.#assets = assets;
    this.#sessions = new Sessions(options);
    this.#http = createServer({
      maxHeaderSize: HEADER_BYTES,
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      noDelay: true,
    });
    this.#http.maxConnections = MAX_CONNECTIONS;
    this.#http.on("request", (request, response) => void this.#serve(request, response));
  }

  get url(): string {
    return `http://${this.#host.includes(":") ? `[${this.#host}]` : this.#host}:${this.#port}/`;
  }

  /** The secret is in the fragment, which browsers send to no server and write into no referrer. */
  oneTimeLink(open: () => Promise<Viewer>): string {
    return `${this.url}#link=${this.#sessions.oneTimeLink(open)}`;
  }

  async listen(port: number): Promise<void> {
    this.#http.listen(port, this.#host);
    await once(this.#http, "listening");
    const address = this.#http.address();
    if (typeof address === "object" && address !== null) this.#port = address.port;
  }

  async close(): Promise<void> {
    this.#sessions.endAll();
    for (const stream of this.#streams) stream.abort();
    const closed = once(this.#http, "close");
    this.#http.close();
    this.#http.closeAllConnections();
    await closed;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const method = request.method ?? "";
      const refusal = refusalOf({ method, headers: request.headers });
      if (refusal) throw new Refused(refusal.status, refusal.message);
      const url = new URL(request.url ?? "/", "http://dashboard");
      if (!url.pathname.startsWith("/api/")) return this.#file(url.pathname, request, response);
      await this.#api(`${method} ${url.pathname}`, url.searchParams, request, response);
    } catch (error) {
      if (response.headersSent) return void response.destroy();
      if (error instanceof Refused) return json(response, error.status, { error: error.message });
      this.#options.log.error("A request to the dashboard failed.", { error });
      json(response, 500, { error: "an error on the server; its log has the details" });
    }
  }

  async #api(route: string, query: URLSearchParams, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const secret = cookieOf(request.headers.cookie);
    const key = keyOf(request);
    try {
      await this.#route(route, query, { secret, key }, request, response);
    } catch (error) {
      // The hub no longer accepts the credentials: they are kept no longer.
      const isExpired = error instanceof Refused && error.status === 401 && !route.endsWith("/api/session");
      if (isExpired) this.#sessions.endOwn(secret, key);
      throw error;
    }
  }

  async #route(
    route: string,
    query: URLSearchParams,
    { secret, key }: Halves,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    switch (route) {
      case "GET /api/session":
        return json(response, 200, this.#view(this.#signedIn(secret, key)));
      case "POST /api/session":
        return this.#signIn({ secret, key }, await bodyOf(request), response);
      case "DELETE /api/session":
        this.#sessions.endOwn(secret, key);
        return json(response, 200, {}, { "set-cookie": CLEAR_COOKIE });
      case "POST /api/act": {
        const { viewer } = this.#signedIn(secret, key);
        if (this.#options.readOnly) throw new Refused(403, "this dashboard is read-only: it was started that way");
        return json(response, 200, { effect: await viewer.act(readAct(readJson(await bodyOf(request)))) });
      }
      case "GET /api/logs":
        return json(response, 200, { text: await this.#signedIn(secret, key).viewer.logs(readLogsOf(query)) });
      case "GET /api/pods":
        return json(response, 200, { pods: await this.#signedIn(secret, key).viewer.pods(readPodsOf(query)) });
      case "GET /api/pod-reports":
        return json(response, 200, await this.#signedIn(secret, key).viewer.podReports(readApplicationName(query)));
      case "GET /api/record":
        return json(response, 200, await this.#signedIn(secret, key).viewer.record(readRecordOf(query)));
      case "GET /api/live/application":
      case "GET /api/live/overview":
        return this.#live(secret, key, route.slice("GET ".length), query, response);
      default:
        throw new Refused(404, "there is nothing at this address");
    }
  }

  #signedIn(secret: string | undefined, key: string | undefined): Session {
    const session = this.#sessions.find(secret, key);
    if (!session) throw new Refused(401, "sign in first");
    return session;
  }

  #view({ viewer: { user, server } }: Pick<Session, "viewer">): SessionView {
    const { readOnly, program } = this.#options;
    return { user, server, readOnly, program };
  }

  async #signIn(before: Halves, body: string, response: ServerResponse): Promise<void> {
    const credentials = readCredentials(readJson(body));
    if (this.#signIns >= MAX_SIGN_INS) throw new Refused(429, "too many sign-ins at a time; retry in a moment");
    this.#signIns += 1;
    try {
      const viewer = await this.#open(credentials);
      // A new secret at each sign-in: one that was known before is worth nothing.
      this.#sessions.endOwn(before.secret, before.key);
      const { secret, key } = this.#sessions.begin(viewer);
      json(response, 200, { ...this.#view({ viewer }), key }, { "set-cookie": setCookie(secret) });
    } finally {
      this.#signIns -= 1;
    }
  }

  #open(credentials: ReturnType<typeof readCredentials>): Promise<Viewer> {
    if (credentials.kind === "token") return this.#options.signIn(credentials.token);
    const open = this.#sessions.useLink(credentials.secret);
    if (!open)
      throw new Refused(
        401,
        "this link was used already, is older than 15 minutes, or is of another run. Make another one: lockstep dashboard",
      );
    return open();
  }

  async #live(
    secret: string | undefined,
    key: string | undefined,
    path: string,
    query: URLSearchParams,
    response: ServerResponse,
  ): Promise<void> {
    const { viewer, ended } = this.#signedIn(secret, key);
    const topic = readTopic(path, query);
    const free = this.#streams.size < MAX_STREAMS ? this.#sessions.stream(secret ?? "") : undefined;
    if (!free) throw new Refused(429, "too many pages are open; close one");
    const stop = new AbortController();
    const stream = new LiveStream(response, this.#options.clock);
    const end = () => stop.abort();
    response.on("close", end);
    ended.addEventListener("abort", end, { once: true });
    this.#streams.add(stop);
    let goodbye: LiveEvent = { event: "signed-out", data: {} };
    stream.open(SECURITY_HEADERS);
    try {
      const send = (event: LiveEvent) => {
        if (event.event !== "signed-out") return stream.send(event);
        goodbye = event;
        this.#sessions.end(secret);
      };
      await viewer.watch(topic, send, stop.signal);
    } catch (error) {
      if (!stop.signal.aborted) this.#options.log.error("A live stream of the dashboard failed.", { error });
    } finally {
      this.#streams.delete(stop);
      free();
      ended.removeEventListener("abort", end);
      if (ended.aborted) stream.send(goodbye);
      stream.close();
    }
  }

  #file(path: string, request: IncomingMessage, response: ServerResponse): void {
    const asset = this.#assets.get(path);
    if (!asset) throw new Refused(404, "there is nothing at this address");
    if (request.method !== "GET" && request.method !== "HEAD") throw new Refused(405, "only GET is served here");
    const headers = { ...SECURITY_HEADERS, "cache-control": "no-cache", etag: asset.etag, vary: "accept-encoding" };
    if (request.headers["if-none-match"] === asset.etag) return void response.writeHead(304, headers).end();
    const zipped = /\bgzip\b/.test(String(request.headers["accept-encoding"] ?? ""));
    const body = zipped ? asset.gzipped : asset.bytes;
    response.writeHead(200, {
      ...headers,
      "content-type": asset.type,
      "content-length": String(body.length),
      ...(zipped && { "content-encoding": "gzip" }),
    });
    response.end(request.method === "HEAD" ? undefined : body);
  }
}

function json(response: ServerResponse, status: number, data: object, headers: Record<string, string> = {}): void {
  const body = Buffer.from(JSON.stringify(data), "utf8");
  // What is left of a refused request's body is not read, so its connection ends.
  const connection = status >= 400 ? { connection: "close" } : {};
  response.writeHead(status, {
    ...SECURITY_HEADERS,
    ...connection,
    ...headers,
    "content-type": "application/json; charset=utf-8",
    "content-length": String(body.length),
  });
  response.end(body);
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of request.iterator({ destroyOnReturn: false })) {
    if (!Buffer.isBuffer(part)) continue;
    bytes += part.length;
    if (bytes > BODY_BYTES) throw new Refused(413, `the body is larger than ${BODY_BYTES} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}
