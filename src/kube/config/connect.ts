import {
  type Clock,
  type HttpRequest,
  type HttpResponse,
  type HttpStream,
  type HttpTransport,
  openHttpTransport,
  type TlsOptions,
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
  /** How the server is known, without any credentials. */
  readonly tls?: Omit<TlsOptions, "cert" | "key">;
  close(): Promise<void>;
}

/** The connection to the cluster of a kubeconfig's context, with authentication. Throws KubeConfigError. */
export async function connectCluster(options: ConnectOptions): Promise<ClusterConnection> {
  const { token } = options;
  const read = async (contextName: string | undefined): Promise<Target> => {
    const config = await loadConfig(options.kubeconfig, options.surroundings ?? systemSurroundings());
    const found = targetOf(config, contextName);
    return token === undefined ? found : { ...found, user: { token }, userName: "of the given token" };
  };
  const target = await read(options.context);
  // The context of the start: another one may be made the current one later, and it leads to another cluster.
  const transport = new AuthenticatedTransport(target, () => read(target.contextName), options.clock);
  // Now instead of at the first request, so that the user sees a wrong path or plugin at once.
  const { credentials } = await transport.prepare();
  const { cert: _, key: __, ...tls } = credentials.tls;
  const { contextName: context, server, namespace } = target;
  return { transport, context, server, namespace, tls, close: () => transport.close() };
}

/** The names of all contexts, the current one first. */
export async function contextNames(options: Omit<ConnectOptions, "context" | "clock">): Promise<string[]> {
  const config = await loadConfig(options.kubeconfig, options.surroundings ?? systemSurroundings());
  const names = config.contexts.map((context) => String(context.name));
  return names.sort((a, b) => Number(b === config.currentContext) - Number(a === config.currentContext));
}

/**
 * The kubeconfig, certificates and tokens are read again after this time; a projected token is renewed long before it
 * expires. A pod's kubeconfig changes when its Secret does.
 */
const CREDENTIALS_FRESH_MS = 30_000;

interface Ready {
  readonly transport: HttpTransport;
  readonly credentials: Credentials;
  readonly fingerprint: string;
  readonly sinceMs: number;
}

/** Adds credentials to every request; creates a new transport when certificates rotate; retries once after a 401. */
class AuthenticatedTransport implements Transport {
  #target: Target;
  readonly #again: () => Promise<Target>;
  readonly #clock: Clock;
  #source: Promise<() => Promise<Credentials>> | undefined;
  #ready: Ready | undefined;
  #preparing: Promise<Ready> | undefined;

  constructor(target: Target, again: () => Promise<Target>, clock: Clock) {
    this.#target = target;
    this.#again = again;
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

  /**
   * Takes over what the kubeconfig says now of the same server. A file that is gone or half written changes nothing, and
   * one that names another server neither: its credentials are not for this one.
   */
  async #readAgain(): Promise<void> {
    const before = this.#target;
    const target = await this.#again().catch(() => before);
    if (target.server !== before.server || target.proxyUrl !== before.proxyUrl) return;
    if (JSON.stringify(target) === JSON.stringify(before)) return;
    this.#target = target;
    this.#source = undefined;
  }

  async #prepareNow(): Promise<Ready> {
    if (this.#ready) await this.#readAgain();
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
