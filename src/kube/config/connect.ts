import {
  type Clock,
  type HttpRequest,
  type HttpResponse,
  type HttpStream,
  type HttpTransport,
  openHttpTransport,
  type Transport,
  TransportError,
} from "../../runtime/index.ts";
import { orAbort } from "../deadline.ts";
import { type Credentials, credentialSource, type Target, targetOf } from "./credentials.ts";
import { loadConfig, type Surroundings, systemSurroundings } from "./load.ts";

export interface ConnectOptions {
  readonly clock: Clock;
  /** Absent: as kubectl finds it ($KUBECONFIG, ~/.kube/config, the pod's service account). */
  readonly kubeconfig?: string | undefined;
  /** Absent: the current context. */
  readonly context?: string | undefined;
  /** Of another user than the context's: only the server and its CA come from the kubeconfig, no credentials. */
  readonly token?: string | undefined;
  readonly surroundings?: Surroundings | undefined;
}

export interface ClusterConnection {
  readonly transport: Transport;
  readonly context: string;
  readonly server: string;
  /** The context's namespace, or `default`. */
  readonly namespace: string;
  close(): Promise<void>;
}

/** The connection to the cluster of a kubeconfig's context, with authentication. Throws KubeConfigError. */
export async function connectCluster(options: ConnectOptions): Promise<ClusterConnection> {
  const config = await loadConfig(options.kubeconfig, options.surroundings ?? systemSurroundings());
  const found = targetOf(config, options.context);
  const { token } = options;
  const target = token === undefined ? found : { ...found, user: { token }, userName: "of the given token" };
  const transport = new AuthenticatedTransport(target, options.clock);
  // Now instead of at the first request, so that the user sees a wrong path or plugin at once.
  await transport.prepare();
  const { contextName: context, server, namespace } = target;
  return { transport, context, server, namespace, close: () => transport.close() };
}

/** The names of all contexts, the current one first. */
export async function contextNames(options: Omit<ConnectOptions, "context" | "clock">): Promise<string[]> {
  const config = await loadConfig(options.kubeconfig, options.surroundings ?? systemSurroundings());
  const names = config.contexts.map((context) => String(context.name));
  return names.sort((a, b) => Number(b === config.currentContext) - Number(a === config.currentContext));
}

/** Certificates and tokens are read again after this time; a projected token is renewed long before it expires. */
const CREDENTIALS_FRESH_MS = 30_000;

interface Ready {
  readonly transport: HttpTransport;
  readonly credentials: Credentials;
  readonly fingerprint: string;
  readonly sinceMs: number;
}

/** Adds credentials to every request; creates a new transport when certificates rotate; retries once after a 401. */
class AuthenticatedTransport implements Transport {
  readonly #target: Target;
  readonly #clock: Clock;
  #source: Promise<() => Promise<Credentials>> | undefined;
  #ready: Ready | undefined;
  #preparing: Promise<Ready> | undefined;

  constructor(target: Target, clock: Clock) {
    this.#target = target;
    this.#clock = clock;
  }

  async request(request: HttpRequest): Promise<HttpResponse> {
    const ready = await this.#prepared(request);
    const answer = await ready.transport.request(withHeaders(request, ready));
    if (answer.status !== 401) return answer;
    // The request was refused before it was carried out, so a write may also be sent again, with other credentials.
    const renewed = await this.#renewed(ready, request);
    return renewed ? renewed.transport.request(withHeaders(request, renewed)) : answer;
  }

  async stream(request: HttpRequest): Promise<HttpStream> {
    const ready = await this.#prepared(request);
    const answer = await ready.transport.stream(withHeaders(request, ready));
    if (answer.status !== 401) return answer;
    const renewed = await this.#renewed(ready, request);
    return renewed ? renewed.transport.stream(withHeaders(request, renewed)) : answer;
  }

  async close(): Promise<void> {
    await this.#ready?.transport.close();
  }

  /** Concurrent requests share one read of the credentials. */
  prepare(): Promise<Ready> {
    const ready = this.#ready;
    if (ready && this.#clock.monotonicMs() - ready.sinceMs < CREDENTIALS_FRESH_MS) return Promise.resolve(ready);
    this.#preparing ??= this.#prepareNow().finally(() => {
      this.#preparing = undefined;
    });
    return this.#preparing;
  }

  async #prepared(request: HttpRequest): Promise<Ready> {
    try {
      const preparing = this.prepare();
      return await (request.signal ? orAbort(preparing, request.signal) : preparing);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new TransportError(why, { neverSent: true, cause: error });
    }
  }

  /** Other credentials than the refused ones, if there are any; a plugin's cached answer is dropped. */
  async #renewed(refused: Ready, request: HttpRequest): Promise<Ready | undefined> {
    if (this.#ready === refused) {
      this.#source = undefined;
      this.#ready = { ...refused, sinceMs: Number.NEGATIVE_INFINITY };
    }
    const renewed = await this.#prepared(request);
    return renewed.fingerprint === refused.fingerprint ? undefined : renewed;
  }

  async #prepareNow(): Promise<Ready> {
    this.#source ??= credentialSource(this.#target);
    const credentials = await (await this.#source)();
    const fingerprint = JSON.stringify(credentials);
    const before = this.#ready;
    const sinceMs = this.#clock.monotonicMs();
    const sameTls = before && JSON.stringify(before.credentials.tls) === JSON.stringify(credentials.tls);
    const { server, proxyUrl } = this.#target;
    const transport = sameTls ? before.transport : await openHttpTransport({ server, proxyUrl, tls: credentials.tls });
    this.#ready = { transport, credentials, fingerprint, sinceMs };
    // Running requests end on the old connections; watches move to new ones when they are next opened.
    if (before && !sameTls) void before.transport.retire();
    return this.#ready;
  }
}

function withHeaders(request: HttpRequest, ready: Ready): HttpRequest {
  return { ...request, headers: { ...request.headers, ...ready.credentials.headers } };
}
