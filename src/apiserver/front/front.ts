import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { isIP, type Socket } from "node:net";
import { type Clock, type HttpRequest, type HttpResponse, LIMITS, type Log, silentLog } from "../../runtime/index.ts";
import { errorResponse, StatusError } from "../request/status.ts";
import type { HttpStream, ServerRequest } from "../types.ts";
import { ANONYMOUS, type Authentication, authenticate, type BearerToken } from "./authentication.ts";
import { PUBLIC_PATHS } from "./authorization.ts";
import { readBody, utf8 } from "./body.ts";
import type { CertifiedKey, Identity } from "./certificates.ts";
import { decodeProtobuf, PROTOBUF_TYPE, ProtobufError } from "./protobuf.ts";

/** The part of an ApiServer that the front needs. */
export interface Backend {
  handle(request: ServerRequest): Promise<HttpResponse>;
  stream(request: ServerRequest): Promise<HttpStream>;
}

export interface FrontOptions {
  readonly server: Backend;
  readonly clock: Clock;
  readonly log?: Log;
  /** By default 127.0.0.1. */
  readonly host?: string;
  /** By default 0 (a free port). */
  readonly port?: number;
  /** This is a development server: other machines reach it only if this is set. */
  readonly allowNonLoopback?: boolean;
  /** The server's certificate and the CA of client certificates; absent: plain HTTP. */
  readonly tls?: CertifiedKey & { clientAuthority: string };
  readonly tokens?: readonly BearerToken[];
}

export interface Front {
  /** For example https://127.0.0.1:45123. */
  readonly url: string;
  readonly port: number;
  /** Stops accepting, ends watches, lets requests in flight complete, and returns when all connections are closed. */
  close(): Promise<void>;
}

/** Thrown when a front should listen on an address that other machines can reach, without explicit permission. */
export class NotLoopbackError extends Error {
  override readonly name = "NotLoopbackError";
  readonly host: string;

  constructor(host: string) {
    super(
      `the development API server does not listen on ${host}, which other machines can reach: ` +
        "use 127.0.0.1, or set allowNonLoopback to allow it",
    );
    this.host = host;
  }
}

/** More than kubectl's largest headers (tokens, impersonation); Node answers 431 above it. */
const HEADER_BYTES = 32 * 1024;
/** A loopback client sends its headers at once; a slower one occupies a connection for nothing. */
const HEADERS_TIMEOUT_MS = 10_000;
/** Three megabytes take milliseconds on loopback; this limit is for stopped processes. */
const REQUEST_TIMEOUT_MS = 60_000;
/**
 * Longer than clients keep idle connections (Go: 90 s), so that the clients close them and no request meets a closed
 * one.
 */
const KEEP_ALIVE_MS = 120_000;
/** A watcher that has read nothing for this long is gone, or will reconnect anyway. */
const WRITE_STALL_MS = 60_000;
/** Requests in flight are in memory: they end in milliseconds, or never. */
const SHUTDOWN_GRACE_MS = 2_000;
/** Far above the number of clients on one machine, below the usual limit of open files. */
const CONNECTIONS = 4_096;

const TOO_LARGE = new StatusError(
  413,
  "RequestEntityTooLarge",
  `Request entity too large: limit is ${LIMITS.requestBodyBytes}`,
);
const NOT_TEXT = new StatusError(
  400,
  "BadRequest",
  "the body is not valid UTF-8 text; this server reads JSON and YAML",
);

const METHODS: readonly HttpRequest["method"][] = ["GET", "POST", "PUT", "PATCH", "DELETE"];

/** Serves an ApiServer over HTTP. */
export async function startFront(options: FrontOptions): Promise<Front> {
  const host = options.host ?? "127.0.0.1";
  if (!isLoopback(host) && !options.allowNonLoopback) throw new NotLoopbackError(host);
  const front = new RunningFront(options, host);
  await front.listen(options.port ?? 0);
  return front;
}

export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));
}

class RunningFront implements Front {
  readonly #backend: Backend;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #host: string;
  readonly #secure: boolean;
  readonly #tokens: readonly BearerToken[];
  readonly #http: Server;
  /** Aborting them ends every watch; other requests in flight may complete. */
  readonly #watches = new Set<AbortController>();
  /** A connection's certificate does not change, and reading it costs more than many requests. */
  readonly #certificates = new WeakMap<Socket, Authentication>();
  #port = 0;
  #closing = false;

  constructor(options: FrontOptions, host: string) {
    this.#backend = options.server;
    this.#clock = options.clock;
    this.#log = options.log ?? silentLog;
    this.#host = host;
    this.#secure = options.tls !== undefined;
    this.#tokens = options.tokens ?? [];
    const common = {
      maxHeaderSize: HEADER_BYTES,
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      noDelay: true,
    };
    this.#http = options.tls
      ? createSecureServer({
          ...common,
          cert: options.tls.certificate,
          key: options.tls.privateKey,
          ca: options.tls.clientAuthority,
          minVersion: "TLSv1.2",
          // Requested, but not required: a token is also accepted, and an invalid certificate gets a Status instead of
          // a broken handshake.
          requestCert: true,
          rejectUnauthorized: false,
        })
      : createServer(common);
    this.#http.maxConnections = CONNECTIONS;
    this.#http.on("request", (request, response) => void this.#answer(request, response));
    this.#http.on("clientError", refuseMalformed);
  }

  get port(): number {
    return this.#port;
  }

  get url(): string {
    const host = this.#host.includes(":") ? `[${this.#host}]` : this.#host;
    return `${this.#secure ? "https" : "http"}://${host}:${this.#port}`;
  }

  async listen(port: number): Promise<void> {
    this.#http.listen(port, this.#host);
    await once(this.#http, "listening");
    const address = this.#http.address();
    if (typeof address === "object" && address !== null) this.#port = address.port;
  }

  async close(): Promise<void> {
    if (this.#closing) return;
    this.#closing = true;
    const closed = once(this.#http, "close");
    this.#http.close();
    this.#http.closeIdleConnections();
    for (const watch of this.#watches) watch.abort(new Error("the server is shutting down"));
    const patience = new AbortController();
    const cut = this.#clock.sleep(SHUTDOWN_GRACE_MS, patience.signal).then(
      () => this.#http.closeAllConnections(),
      () => {},
    );
    await closed;
    patience.abort();
    await cut;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      // A connection that was busy when the front started to close is closed as soon as it is idle.
      response.once("close", () => this.#closing && this.#http.closeIdleConnections());
      if (this.#closing) response.setHeader("connection", "close");
      const parsed = await this.#accept(request);
      if ("refusal" in parsed) {
        // The rest of the body is not read, so the connection cannot serve another request.
        if (!request.complete) response.setHeader("connection", "close");
        return send(response, errorResponse(parsed.refusal));
      }
      if (isWatch(request)) await this.#stream(parsed, response);
      else send(response, await this.#backend.handle(parsed));
    } catch (error) {
      this.#log.error("A request failed inside the API server.", { method: request.method, error });
      if (response.headersSent) response.destroy();
      else
        send(
          response,
          errorResponse(
            new StatusError(500, "InternalError", "an error on the server has prevented the request from succeeding"),
          ),
        );
    }
  }

  /** The request with its user; or the Status that refuses it. */
  async #accept(request: IncomingMessage): Promise<ServerRequest | { refusal: StatusError }> {
    const path = request.url ?? "/";
    const user = this.#userOf(request, path);
    if (user === undefined) return { refusal: new StatusError(401, "Unauthorized", "Unauthorized") };
    const method = METHODS.find((each) => each === request.method);
    if (method === undefined) {
      return {
        refusal: new StatusError(405, "MethodNotAllowed", `the server does not know the method ${request.method}`),
      };
    }
    if ((request.headers["content-encoding"] ?? "identity") !== "identity") {
      return { refusal: new StatusError(415, "UnsupportedMediaType", "the body must not be compressed") };
    }
    const body = await readBody(request, LIMITS.requestBodyBytes);
    if (body.kind === "too large") return { refusal: TOO_LARGE };
    if (body.kind === "cut off") return { refusal: new StatusError(400, "BadRequest", "the body ended too early") };
    const headers = plainHeaders(request);
    if (headers["content-type"]?.startsWith(PROTOBUF_TYPE) && body.bytes.length > 0) {
      try {
        const text = JSON.stringify(decodeProtobuf(body.bytes));
        return { method, path, headers: { ...headers, "content-type": "application/json" }, user, body: text };
      } catch (error) {
        if (!(error instanceof ProtobufError)) throw error;
        return { refusal: new StatusError(415, "UnsupportedMediaType", error.message) };
      }
    }
    const text = utf8(body.bytes);
    if (text === undefined) return { refusal: NOT_TEXT };
    return { method, path, headers, user, ...(text !== "" && { body: text }) };
  }

  #userOf(request: IncomingMessage, path: string): Identity | undefined {
    const bearer = request.headers.authorization !== undefined;
    const known = this.#certificates.get(request.socket);
    const result = known && !bearer ? known : authenticate(request, this.#tokens);
    if (!bearer) this.#certificates.set(request.socket, result);
    if (result.kind === "known") return result.identity;
    if (result.kind === "anonymous" && PUBLIC_PATHS.includes(path.split("?")[0] ?? "")) return ANONYMOUS;
    return undefined;
  }

  /** Sends a watch as it comes. It reads no more than the client accepts: the rest waits in a bounded queue. */
  async #stream(request: ServerRequest, response: ServerResponse): Promise<void> {
    const gone = new AbortController();
    response.on("close", () => gone.abort(new Error("the client is gone")));
    this.#watches.add(gone);
    if (this.#closing) gone.abort(new Error("the server is shutting down"));
    try {
      const stream = await this.#backend.stream({ ...request, signal: gone.signal });
      response.writeHead(stream.status, stream.headers);
      // Clients wait for the headers to know that the watch is open, long before its first event.
      response.flushHeaders();
      for await (const chunk of stream.chunks) {
        if (!response.write(chunk) && !(await this.#drained(response, gone.signal))) break;
      }
      response.end();
    } catch (error) {
      if (!gone.signal.aborted) throw error;
      response.end();
    } finally {
      this.#watches.delete(gone);
      gone.abort(new Error("the watch has ended"));
    }
  }

  /** Waits until the client has read what was sent. If it does not, closes the connection and returns false. */
  async #drained(response: ServerResponse, gone: AbortSignal): Promise<boolean> {
    const waiting = new AbortController();
    const stop = () => waiting.abort();
    gone.addEventListener("abort", stop, { once: true });
    const stalled = this.#clock.sleep(WRITE_STALL_MS, waiting.signal).then(
      () => true,
      () => false,
    );
    const drained = once(response, "drain", { signal: waiting.signal }).then(
      () => false,
      () => false,
    );
    const isStalled = await Promise.race([stalled, drained]);
    waiting.abort();
    gone.removeEventListener("abort", stop);
    if (isStalled) response.destroy();
    return !isStalled && !gone.aborted;
  }
}

function isWatch(request: IncomingMessage): boolean {
  if (request.method !== "GET") return false;
  const query = (request.url ?? "").split("?")[1];
  if (query === undefined || !query.includes("watch")) return false;
  const value = new URLSearchParams(query).get("watch");
  return value !== null && value !== "false" && value !== "0";
}

function send(response: ServerResponse, answer: HttpResponse): void {
  if (response.destroyed) return;
  const body = Buffer.from(answer.body, "utf8");
  response.writeHead(answer.status, { ...answer.headers, "content-length": String(body.length) });
  response.end(body);
}

/** Repeated headers are joined, as HTTP requires; credentials are not forwarded. */
function plainHeaders(request: IncomingMessage): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(request.headers)) {
    if (name === "authorization" || value === undefined) continue;
    headers[name] = Array.isArray(value) ? value.join(", ") : value;
  }
  return headers;
}

/** Data that is not HTTP, or has too large headers, also gets a Status before the connection is closed. */
function refuseMalformed(error: Error & { code?: string }, socket: Socket | import("node:stream").Duplex): void {
  if (!socket.writable) return void socket.destroy();
  const code = error.code === "HPE_HEADER_OVERFLOW" ? 431 : error.code === "ERR_HTTP_REQUEST_TIMEOUT" ? 408 : 400;
  const { body } = errorResponse(new StatusError(code, "BadRequest", STATUS_CODES[code] ?? "Bad Request"));
  socket.end(
    `HTTP/1.1 ${code} ${STATUS_CODES[code]}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n` +
      `Connection: close\r\n\r\n${body}`,
  );
}
