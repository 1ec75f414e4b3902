import type { ServerRequest, User } from "../apiserver/index.ts";
import {
  type Clock,
  type HttpResponse,
  type HttpStream,
  type Random,
  type Transport,
  TransportError,
} from "../runtime/index.ts";

/** Whatever answers requests: an API server, or another link. */
export interface Backend {
  handle(request: ServerRequest): Promise<HttpResponse>;
  stream(request: ServerRequest): Promise<HttpStream>;
}

export interface LinkFaults {
  /** All requests fail; the sentence is the reason. */
  readonly closed?: string | undefined;
  /** Every request is delayed by this time. */
  readonly slowMs: number;
  /** Share of requests that are answered with 500, between 0 and 1, without reaching the server. */
  readonly failRate: number;
  /** This many of the next requests are answered with 500. */
  readonly failNext: number;
}

const NO_FAULTS: LinkFaults = { slowMs: 0, failRate: 0, failNext: 0 };

/** The connection to one server, where faults are injected: closed, slow, failing, watches dropped. */
export class Link implements Backend {
  readonly #next: Backend;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #watches = new Set<AbortController>();
  #faults: LinkFaults = NO_FAULTS;

  constructor(next: Backend, clock: Clock, random: Random) {
    this.#next = next;
    this.#clock = clock;
    this.#random = random;
  }

  get faults(): LinkFaults {
    return this.#faults;
  }

  /** Also what lies behind it: a way that ends at a closed link leads nowhere. */
  get isOpen(): boolean {
    return this.#faults.closed === undefined && (!(this.#next instanceof Link) || this.#next.isOpen);
  }

  set(faults: Partial<LinkFaults>): void {
    this.#faults = { ...this.#faults, ...faults };
    if (this.#faults.closed !== undefined) this.dropWatches(this.#faults.closed);
  }

  mend(): void {
    this.#faults = NO_FAULTS;
  }

  /** Breaks every open watch, as a network does: in the middle of the stream, without a final message. */
  dropWatches(why = "the connection was reset"): void {
    for (const watch of [...this.#watches]) watch.abort(new TransportError(why));
  }

  /** Faults become answers: 503 if nothing can be reached. */
  async handle(request: ServerRequest): Promise<HttpResponse> {
    try {
      return await this.#request(request);
    } catch (error) {
      if (!(error instanceof TransportError)) throw error;
      return unavailable(error.message);
    }
  }

  async stream(request: ServerRequest): Promise<HttpStream> {
    try {
      return await this.#stream(request);
    } catch (error) {
      if (!(error instanceof TransportError)) throw error;
      return asStream(unavailable(error.message));
    }
  }

  /**
   * For clients of the connection itself: faults become a TransportError, as on a socket. Without a user, an
   * administrator.
   */
  transport(user?: User): Transport {
    const asUser = (request: ServerRequest): ServerRequest => (user ? { ...request, user } : request);
    return {
      request: async (request) => {
        request.signal?.throwIfAborted();
        return this.#request(asUser(request));
      },
      stream: async (request) => {
        request.signal?.throwIfAborted();
        return this.#stream(asUser(request));
      },
    };
  }

  async #request(request: ServerRequest): Promise<HttpResponse> {
    if (this.#faults === NO_FAULTS) return this.#next.handle(request);
    return (await this.#fault(request)) ?? this.#next.handle(request);
  }

  async #stream(request: ServerRequest): Promise<HttpStream> {
    const failure = this.#faults === NO_FAULTS ? undefined : await this.#fault(request);
    if (failure) return asStream(failure);
    const abort = new AbortController();
    const stop = () => abort.abort(request.signal?.reason);
    request.signal?.addEventListener("abort", stop, { once: true });
    this.#watches.add(abort);
    const stream = await this.#next.stream({ ...request, signal: abort.signal });
    const forget = () => {
      this.#watches.delete(abort);
      request.signal?.removeEventListener("abort", stop);
    };
    return { ...stream, chunks: withEnd(stream.chunks, forget) };
  }

  /** Waits as long as the faults require; returns the answer that replaces the server's, if any. */
  async #fault(request: ServerRequest): Promise<HttpResponse | undefined> {
    if (this.#faults.slowMs > 0) await this.#clock.sleep(this.#faults.slowMs, request.signal);
    const { closed, failNext, failRate } = this.#faults;
    if (closed !== undefined) throw new TransportError(closed, { neverSent: true });
    if (failNext > 0) this.set({ failNext: failNext - 1 });
    if (failNext === 0 && (failRate === 0 || this.#random.next() >= failRate)) return undefined;
    return status(500, "InternalError", "Internal error occurred: an injected fault");
  }
}

async function* withEnd(chunks: AsyncIterable<string>, end: () => void): AsyncGenerator<string> {
  try {
    yield* chunks;
  } finally {
    end();
  }
}

function unavailable(why: string): HttpResponse {
  return status(503, "ServiceUnavailable", `error trying to reach service: ${why}`);
}

/** A Kubernetes Status as an answer. */
export function status(code: number, reason: string, message: string): HttpResponse {
  const body = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", message, reason, code };
  return { status: code, headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
}

export function asStream({ body, ...head }: HttpResponse): HttpStream {
  const chunks = (async function* () {
    yield body;
  })();
  return { ...head, chunks };
}
