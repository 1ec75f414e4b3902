import { isIP } from "node:net";
import { StringDecoder } from "node:string_decoder";
import { createSecureContext, type SecureContext } from "node:tls";
import { Agent, type Dispatcher, ProxyAgent, Socks5ProxyAgent } from "undici";
import { LIMITS } from "./limits.ts";
import {
  type Headers,
  type HttpRequest,
  type HttpResponse,
  type HttpStream,
  type Transport,
  TransportError,
} from "./transport.ts";
import { plainHeaders, wholeAnswer } from "./whole-answer.ts";

export interface TlsOptions {
  /** PEM. Absent: the system's CAs. */
  readonly ca?: string | Buffer | undefined;
  readonly cert?: string | Buffer | undefined;
  readonly key?: string | Buffer | undefined;
  /** The name in the server's certificate, if it differs from the host of the URL. */
  readonly servername?: string | undefined;
  /** Only on explicit request: any host on the way can then read and change everything. */
  readonly insecureSkipVerify?: boolean | undefined;
}

export interface HttpTransportOptions {
  /** `https://host:port`, with a path that is the prefix of every request's path. */
  readonly server: string;
  readonly tls?: TlsOptions | undefined;
  /** `http:`, `https:` or `socks5:`. */
  readonly proxyUrl?: string | undefined;
  /**
   * Connections for requests. Streams have their own, because each holds one as long as it runs
   * (kube/stream-budget.ts).
   */
  readonly maxConnections?: number | undefined;
  readonly maxResponseBytes?: number | undefined;
}

/** Enough for a busy controller; beyond that, an API server queues one client's requests anyway. */
const MAX_CONNECTIONS = 16;
const CONNECT_TIMEOUT_MS = 10_000;
/** Below the 60 s after which cloud load balancers drop idle connections. */
const KEEP_ALIVE_PROBE_MS = 30_000;
/**
 * Idle connections are closed before load balancers (60 s) and API servers (3 min) close them in the middle of a
 * request.
 */
const IDLE_CONNECTION_MS = 50_000;

/** Requests over HTTP/1.1 and TLS. Certificates are verified unless explicitly turned off. Redirects are not followed. */
export class HttpTransport implements Transport {
  readonly #origin: string;
  readonly #prefix: string;
  readonly #requests: Dispatcher;
  readonly #streams: Dispatcher;
  readonly #maxResponseBytes: number;

  constructor(options: HttpTransportOptions) {
    const server = new URL(options.server);
    if (server.protocol !== "https:" && server.protocol !== "http:") {
      throw new TypeError(`the server '${options.server}' must begin with https:// or http://`);
    }
    this.#origin = server.origin;
    this.#prefix = server.pathname === "/" ? "" : server.pathname.replace(/\/$/, "");
    this.#maxResponseBytes = options.maxResponseBytes ?? LIMITS.responseBodyBytes;
    this.#requests = dispatcher(server, options, options.maxConnections ?? MAX_CONNECTIONS);
    this.#streams = dispatcher(server, options, LIMITS.maxOpenStreams);
  }

  async request(request: HttpRequest): Promise<HttpResponse> {
    this.#refuseAborted(request);
    // A long list shrinks to a tenth; the server compresses only large responses.
    const options = this.#options(request, { "accept-encoding": "gzip", ...request.headers });
    try {
      return await wholeAnswer(this.#requests, options, this.#maxResponseBytes, request.signal);
    } catch (error) {
      throw transportError(request, error);
    }
  }

  async stream(request: HttpRequest): Promise<HttpStream> {
    this.#refuseAborted(request);
    try {
      const answer = await this.#streams.request({
        ...this.#options(request, request.headers),
        signal: request.signal ?? null,
      });
      const chunks = decodedChunks(request, answer.body);
      return { status: answer.statusCode, headers: plainHeaders(answer.headers), chunks };
    } catch (error) {
      throw transportError(request, error);
    }
  }

  /** Ends every request and connection. */
  async close(): Promise<void> {
    await Promise.all([this.#requests.destroy(), this.#streams.destroy()]);
  }

  /** Accepts no more requests, and closes the connections as those in progress end. */
  async retire(): Promise<void> {
    await Promise.all([this.#requests.close(), this.#streams.close()]);
  }

  #options(request: HttpRequest, headers: Headers) {
    return {
      origin: this.#origin,
      path: this.#prefix + request.path,
      method: request.method,
      headers,
      body: request.body ?? null,
      // The caller's signal decides how long to wait, on its own clock.
      headersTimeout: 0,
      bodyTimeout: 0,
    };
  }

  #refuseAborted(request: HttpRequest): void {
    if (request.signal?.aborted) throw transportError(request, request.signal.reason, true);
  }
}

function dispatcher(server: URL, options: HttpTransportOptions, connections: number): Dispatcher {
  const tls = options.tls ?? {};
  // An IP address is not a server name; without this, Node would send it as one, and some servers refuse that.
  const servername = tls.servername ?? (isIP(server.hostname.replace(/^\[|\]$/g, "")) ? "" : undefined);
  const connect = {
    ...(server.protocol === "https:" && { secureContext: secureContextOf(tls) }),
    ...(servername !== undefined && { servername }),
    // Explicit, so that NODE_TLS_REJECT_UNAUTHORIZED cannot disable verification.
    rejectUnauthorized: !tls.insecureSkipVerify,
    timeout: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    keepAliveInitialDelay: KEEP_ALIVE_PROBE_MS,
  };
  const common = { connections, keepAliveTimeout: IDLE_CONNECTION_MS, pipelining: 1 };
  const proxy = options.proxyUrl;
  if (!proxy) return new Agent({ ...common, connect });
  if (/^socks5h?:/.test(proxy)) {
    const viaSocks = { ...common, requestTls: connect };
    return new Socks5ProxyAgent(proxy.replace("socks5h:", "socks5:"), viaSocks);
  }
  if (/^https?:/.test(proxy)) return new ProxyAgent({ ...common, uri: proxy, requestTls: connect });
  throw new TypeError(`the proxy '${proxy}' must begin with http://, https:// or socks5://`);
}

/** Keys and certificates, read once: with forty streams, reading them for each connection takes a tenth of a second. */
function secureContextOf({ ca, cert, key }: TlsOptions): SecureContext {
  return createSecureContext({
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
  });
}

async function* decodedChunks(
  request: HttpRequest,
  body: AsyncIterable<Buffer>,
): AsyncGenerator<string, void, undefined> {
  const decoder = new StringDecoder("utf8");
  try {
    for await (const chunk of body) {
      const text = decoder.write(chunk);
      if (text !== "") yield text;
    }
    const rest = decoder.end();
    if (rest !== "") yield rest;
  } catch (error) {
    throw transportError(request, error);
  }
}

/** Errors that can only occur while a connection is being made, before any part of a request is written. */
const CONNECT_PHASE_CODES = new Set([
  "UND_ERR_CONNECT_TIMEOUT",
  // Our own check of the server's certificate.
  "CERT_HAS_EXPIRED",
  "CERT_NOT_YET_VALID",
  "CERT_REVOKED",
  "CERT_UNTRUSTED",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "ERR_TLS_CERT_ALTNAME_INVALID",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
]);

/**
 * Only if it is certain. A code alone is not enough: ETIMEDOUT or EHOSTUNREACH also end connections that carried a
 * request.
 */
function isConnectPhase(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof AggregateError) return error.errors.length > 0 && error.errors.every(isConnectPhase);
  if ("syscall" in error && (error.syscall === "connect" || error.syscall === "getaddrinfo")) return true;
  if ("code" in error && typeof error.code === "string" && CONNECT_PHASE_CODES.has(error.code)) return true;
  return false;
}

function transportError(request: HttpRequest, error: unknown, neverSent = isConnectPhase(error)): TransportError {
  if (error instanceof TransportError) return error;
  const why =
    error instanceof Error ? error.message || String("code" in error ? error.code : error.name) : String(error);
  // Without the query: selectors are harmless, but nothing else should ever leak from it.
  return new TransportError(`${request.method} ${request.path.split("?")[0]}: ${why}`, { neverSent, cause: error });
}
