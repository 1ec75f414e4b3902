/** GET requests to the hosts of charts, with limits: the addresses come from users, the answers from their hosts. */
import { lookup as resolveName } from "node:dns";
import { BlockList, isIP, type LookupFunction } from "node:net";
import type { Agent } from "undici";
import type { Clock } from "../../runtime/index.ts";
import { RefusalError } from "../refusal.ts";
import type { Credentials } from "../types.ts";

export interface SourceRequest {
  readonly url: string;
  readonly accept?: string;
  readonly maxBytes: number;
  readonly credentials?: Credentials | undefined;
  /** Instead of the credentials' pair, for the same host. */
  readonly token?: string | undefined;
  /** The host that the user declared, with its port: only this one gets credentials. */
  readonly declaredHost: string;
}

export interface SourceAnswer {
  readonly status: number;
  readonly header: (name: string) => string | undefined;
  readonly bytes: Buffer;
}

export interface SourceHttpOptions {
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** Loopback is refused otherwise: users could reach what listens there beside the controller. Also allows plain HTTP there. */
  readonly allowLoopback: boolean;
}

const MAX_REDIRECTS = 5;
const CONNECT_TIMEOUT_MS = 10_000;

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");
/** Clouds answer with credentials of the machine on link-local addresses; 0.0.0.0 means this machine. */
const never = new BlockList();
never.addSubnet("169.254.0.0", 16, "ipv4");
never.addSubnet("0.0.0.0", 8, "ipv4");
never.addSubnet("fe80::", 10, "ipv6");
never.addAddress("::", "ipv6");
never.addAddress("fd00:ec2::254", "ipv6");

export class SourceHttp {
  readonly #options: SourceHttpOptions;
  /** One per CA. The HTTP library is loaded on first use. */
  readonly #agents = new Map<string, Promise<Agent>>();

  constructor(options: SourceHttpOptions) {
    this.#options = options;
  }

  async get(request: SourceRequest, signal: AbortSignal): Promise<SourceAnswer> {
    const controller = new AbortController();
    const host = hostOf(request.url);
    const onAbort = () => controller.abort(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    const { clock, timeoutMs } = this.#options;
    const cancel = clock.after(timeoutMs, () =>
      controller.abort(unavailable(`${host} did not answer within ${timeoutMs / 1000} s`)),
    );
    try {
      signal.throwIfAborted();
      return await this.#follow(request, controller.signal);
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (controller.signal.aborted) throw controller.signal.reason;
      if (error instanceof RefusalError) throw error;
      throw unavailable(`${host} could not be reached: ${messageOf(error)}`);
    } finally {
      cancel();
      signal.removeEventListener("abort", onAbort);
    }
  }

  async #follow(request: SourceRequest, signal: AbortSignal): Promise<SourceAnswer> {
    let url = new URL(request.url);
    for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
      this.#checkAddress(url);
      const answer = await this.#once(url, request, signal);
      const location = answer.header("location");
      if (![301, 302, 303, 307, 308].includes(answer.status) || location === undefined) return answer;
      url = new URL(location, url);
    }
    throw unavailable(`${hostOf(request.url)} redirects too often`);
  }

  async #once(url: URL, request: SourceRequest, signal: AbortSignal): Promise<SourceAnswer> {
    const agent = await this.#agentFor(request.credentials?.ca);
    const authorization = url.host === request.declaredHost ? authorizationOf(request) : undefined;
    const answer = await agent.request({
      origin: url.origin,
      path: url.pathname + url.search,
      method: "GET",
      headers: {
        "user-agent": "lockstep",
        ...(request.accept !== undefined && { accept: request.accept }),
        ...(authorization !== undefined && { authorization }),
      },
      signal,
    });
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of answer.body) {
      bytes += chunk.length;
      if (bytes > request.maxBytes) {
        answer.body.destroy();
        throw new RefusalError(
          "TooLarge",
          `${hostOf(request.url)} sent more than ${request.maxBytes} bytes`,
          "use a smaller chart or repository",
        );
      }
      chunks.push(chunk);
    }
    const header = (name: string) => {
      const value = answer.headers[name];
      return Array.isArray(value) ? value[0] : value;
    };
    return { status: answer.statusCode, header, bytes: Buffer.concat(chunks) };
  }

  #checkAddress(url: URL): void {
    const host = url.hostname.replace(/^\[|\]$/g, "");
    const isLoopback = isIP(host) !== 0 && loopback.check(host, family(host));
    if (url.protocol !== "https:" && !(url.protocol === "http:" && isLoopback && this.#options.allowLoopback)) {
      throw refusedAddress(`${url.protocol}//${url.host} is not allowed: a source must begin with https://`);
    }
    if (isIP(host) !== 0) this.#checkIp(host);
    if (url.username !== "" || url.password !== "")
      throw refusedAddress("a source's address must not contain a password; use 'credentials'");
  }

  #checkIp(address: string): void {
    const isLoopback = loopback.check(address, family(address)) || /^::ffff:127\./i.test(address);
    const isBlocked = never.check(address, family(address)) || /^::ffff:(?:169\.254|0)\./i.test(address);
    if (isBlocked || (isLoopback && !this.#options.allowLoopback)) {
      throw refusedAddress(`the address ${address} is not allowed for a source`);
    }
  }

  #agentFor(ca: string | undefined): Promise<Agent> {
    const key = ca ?? "";
    const known = this.#agents.get(key);
    if (known) return known;
    const made = import("./agent.ts").then(({ agentWith }) =>
      agentWith({
        timeout: CONNECT_TIMEOUT_MS,
        // Explicit, so that NODE_TLS_REJECT_UNAUTHORIZED cannot disable verification.
        rejectUnauthorized: true,
        lookup: this.#lookup,
        ...(ca !== undefined && { ca }),
      }),
    );
    this.#agents.set(key, made);
    return made;
  }

  /** Checks what a name stands for, at the moment in which it is used. */
  readonly #lookup: LookupFunction = (hostname, options, callback) => {
    resolveName(hostname, { ...options, all: true }, (error, addresses) => {
      try {
        for (const { address } of error ? [] : addresses) this.#checkIp(address);
      } catch (refusal) {
        return callback(refusal instanceof Error ? refusal : new Error(String(refusal)), "");
      }
      if (error || options.all) return callback(error, addresses);
      const [first] = addresses;
      return callback(null, first?.address ?? "", first?.family);
    });
  };
}

export function unavailable(message: string): RefusalError {
  return new RefusalError(
    "SourceUnavailable",
    message,
    "check the source's address and credentials; it is tried again",
    { isTransient: true },
  );
}

/** With its port, if that is not the usual one: what credentials are bound to. */
export function hostOf(url: string): string {
  return new URL(url).host;
}

/** The address that a user wrote, checked for its form. */
export function parsedUrl(text: string, what: string): URL {
  try {
    return new URL(text);
  } catch {
    throw refusedAddress(`${what} ${JSON.stringify(text.slice(0, 200))} is not a URL`);
  }
}

function refusedAddress(message: string): RefusalError {
  return new RefusalError("SourceUnavailable", message, "correct the source's address");
}

function authorizationOf({ credentials, token }: SourceRequest): string | undefined {
  if (token !== undefined) return `Bearer ${token}`;
  if (credentials?.username === undefined && credentials?.password === undefined) return undefined;
  const pair = `${credentials.username ?? ""}:${credentials.password ?? ""}`;
  return `Basic ${Buffer.from(pair).toString("base64")}`;
}

function family(address: string): "ipv4" | "ipv6" {
  return isIP(address) === 6 ? "ipv6" : "ipv4";
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof AggregateError) return error.errors.map(messageOf).join(", ");
  return error.message || ("code" in error ? String(error.code) : error.name);
}
