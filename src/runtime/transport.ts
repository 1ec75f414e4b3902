/** How requests leave the process. Production uses undici; the simulator calls an API server in memory. */
export interface Transport {
  /** One request and its whole response. Rejects with TransportError if there was no response. */
  request(request: HttpRequest): Promise<HttpResponse>;
  /**
   * One request whose response is read as it arrives: watches. The stream ends with the response, or throws
   * TransportError.
   */
  stream(request: HttpRequest): Promise<HttpStream>;
}

/** Header names are lower case. */
export type Headers = Readonly<Record<string, string>>;

export interface HttpRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Path and query, beginning with '/'. */
  readonly path: string;
  readonly headers: Headers;
  readonly body?: string;
  /** Aborting it ends the request, and a stream's reading, at once. */
  readonly signal?: AbortSignal;
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

export interface HttpStream {
  readonly status: number;
  readonly headers: Headers;
  /** Text as it arrives; chunks may end anywhere except inside a character. */
  readonly chunks: AsyncIterable<string>;
}

/**
 * Thrown when a request got no (complete) response: refused, reset, timed out, cut off inside the body. For a write, it
 * is then unknown whether it was applied.
 */
export class TransportError extends Error {
  override readonly name = "TransportError";
  /** Whether the request certainly never reached the server (refused, unresolved): then a write may be sent again. */
  readonly neverSent: boolean;

  constructor(message: string, options: { neverSent?: boolean; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.neverSent = options.neverSent ?? false;
  }
}
