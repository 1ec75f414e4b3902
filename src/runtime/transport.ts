/** How requests leave the process. Production's is undici, the simulator's calls an API server in memory. */
export interface Transport {
  /** One request, its whole response. Rejects with TransportError when no response came. */
  request(request: HttpRequest): Promise<HttpResponse>;
  /** One request whose response is read as it comes: watches. The stream ends with the response, or throws TransportError. */
  stream(request: HttpRequest): Promise<HttpStream>;
}

/** Header names are lower case. */
export type Headers = Readonly<Record<string, string>>;

export interface HttpRequest {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Path and query, beginning with '/'. */
  path: string;
  headers: Headers;
  body?: string;
  /** Aborting it ends the request, and a stream's reading, at once. */
  signal?: AbortSignal;
}

export interface HttpResponse {
  status: number;
  headers: Headers;
  body: string;
}

export interface HttpStream {
  status: number;
  headers: Headers;
  /** Text as it arrives; chunk borders fall anywhere but inside a character. */
  chunks: AsyncIterable<string>;
}

/**
 * Thrown when a request got no (whole) response: refused, reset, timed out, cut off in mid-body. For a write this means
 * that nobody knows whether it was applied.
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
