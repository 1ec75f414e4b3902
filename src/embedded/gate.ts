import type { ServerRequest } from "../apiserver/index.ts";
import {
  type Clock,
  type HttpResponse,
  type HttpStream,
  type Random,
  type Transport,
  TransportError,
} from "../runtime/index.ts";

/** Whatever answers requests: an API server, or another gate. */
export interface Backend {
  handle(request: ServerRequest): Promise<HttpResponse>;
  stream(request: ServerRequest): Promise<HttpStream>;
}

export interface GateFaults {
  /** Nothing gets through; a sentence why. */
  readonly closed?: string | undefined;
  /** Every request waits so long before it is sent. */
  readonly slowMs: number;
  /** Share of requests that are answered with 500, between 0 and 1, unseen by the server. */
  readonly failRate: number;
  /** So many of the next requests are answered with 500. */
  readonly failNext: number;
}

const NO_FAULTS: GateFaults = { slowMs: 0, failRate: 0, failNext: 0 };

/** The way to one server, where faults are injected: closed, slow, failing, watches dropped. */
export class Gate implements Backend {
  readonly #next: Backend;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #watches = new Set<AbortController>();
  #faults: GateFaults = NO_FAULTS;

  constructor(next: Backend, clock: Clock, random: Random) {
    this.#next = next;
    this.#clock = clock;
    this.#random = random;
  }

  get faults(): GateFaults {
    return this.#faults;
  }

  /** Also what lies behind it: a way that ends at a closed gate leads nowhere. */
  get isOpen(): boolean {
    return this.#faults.closed === undefined && (!(this.#next instanceof Gate) || this.#next.isOpen);
  }

  set(faults: Partial<GateFaults>): void {
    this.#faults = { ...this.#faults, ...faults };
    if (this.#faults.closed !== undefined) this.dropWatches(this.#faults.closed);
  }

  mend(): void {
    this.#faults = NO_FAULTS;
  }

  /** Breaks every open watch, as a network does: in mid-stream, without a last word. */
  dropWatches(why = "the connection was reset"): void {
    for (const watch of [...this.#watches]) watch.abort(new TransportError(why));
  }

  /** What goes wrong on the way is an answer: 503 where nothing can be reached. */
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

  /** For clients on the way itself: what goes wrong is a TransportError, as on a socket. */
  transport(): Transport {
    return {
      request: async (request) => {
        request.signal?.throwIfAborted();
        return this.#request(request);
      },
      stream: async (request) => {
        request.signal?.throwIfAborted();
        return this.#stream(request);
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

  /** Waits as long as the faults say; the answer that takes the server's place, if any. */
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
