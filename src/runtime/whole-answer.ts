import { isAscii } from "node:buffer";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import type { Dispatcher } from "undici";
import type { Headers, HttpResponse } from "./transport.ts";

const unzipped = promisify(gunzip);

type RawHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** Sends a request and collects its answer, without a stream in between, which would cost more. */
export async function wholeAnswer(
  via: Dispatcher,
  options: Dispatcher.DispatchOptions,
  maxBytes: number,
  signal: AbortSignal | undefined,
): Promise<HttpResponse> {
  const collector = new Collector(maxBytes);
  const onAbort = () => collector.abort(signal?.reason);
  signal?.addEventListener("abort", onAbort, { once: true });
  try {
    via.dispatch(options, collector);
    await collector.ended;
  } finally {
    signal?.removeEventListener("abort", onAbort);
  }
  return collector.answer();
}

export function plainHeaders(headers: RawHeaders): Headers {
  const plain: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) plain[name.toLowerCase()] = Array.isArray(value) ? value.join(", ") : value;
  }
  return plain;
}

/** Almost everything that API servers send is ASCII, which is copied three times as fast as UTF-8 is decoded. */
function textOf(body: Buffer): string {
  return body.toString(isAscii(body) ? "latin1" : "utf8");
}

class Collector implements Dispatcher.DispatchHandler {
  readonly ended: Promise<void>;
  readonly #maxBytes: number;
  readonly #chunks: Buffer[] = [];
  #bytes = 0;
  #status = 0;
  #headers: Headers = {};
  #controller: Dispatcher.DispatchController | undefined;
  #abortedWith: Error | undefined;
  #end: () => void = () => {};
  #fail: (error: Error) => void = () => {};

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
    this.ended = new Promise((resolve, reject) => {
      this.#end = resolve;
      this.#fail = reject;
    });
  }

  /** The request has already failed; the connection is closed as soon as it exists. */
  abort(reason: unknown): void {
    const error = reason instanceof Error ? reason : new Error(String(reason));
    this.#abortedWith ??= error;
    this.#fail(error);
    this.#controller?.abort(error);
  }

  async answer(): Promise<HttpResponse> {
    const [first] = this.#chunks;
    const sent = first && this.#chunks.length === 1 ? first : Buffer.concat(this.#chunks);
    const isGzip = this.#headers["content-encoding"] === "gzip" && sent.length > 0;
    const body = isGzip ? await this.#unzip(sent) : sent;
    return { status: this.#status, headers: this.#headers, body: textOf(body) };
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#abortedWith) controller.abort(this.#abortedWith);
  }

  /** Also called for every interim answer (1xx); the final one comes last. */
  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: RawHeaders): void {
    this.#status = status;
    this.#headers = plainHeaders(headers);
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes > this.#maxBytes) this.abort(this.#tooLarge());
    else this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    this.#end();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#fail(error);
  }

  async #unzip(sent: Buffer): Promise<Buffer> {
    try {
      return await unzipped(sent, { maxOutputLength: this.#maxBytes });
    } catch (error) {
      const isTooLarge = error instanceof Error && "code" in error && error.code === "ERR_BUFFER_TOO_LARGE";
      throw isTooLarge ? this.#tooLarge() : error;
    }
  }

  #tooLarge(): RangeError {
    return new RangeError(`the response has more than ${this.#maxBytes} bytes`);
  }
}
