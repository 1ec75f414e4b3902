import {
  type HttpRequest,
  type HttpResponse,
  type HttpStream,
  type Transport,
  TransportError,
} from "../../runtime/index.ts";
import type { SimProcess } from "../actors/process.ts";
import type { ListMemory } from "./list-memory.ts";
import type { World } from "./world.ts";

/** Anything that answers requests: an API server, or something in front of one. */
export interface Backend {
  handle(request: HttpRequest): Promise<HttpResponse>;
  stream(request: HttpRequest): Promise<HttpStream>;
}

/** What happens to one request. The three crashes are the three points of a write at which its sender can die. */
export type Fate =
  | "arrives"
  | "refused"
  | "lost"
  | "answer lost"
  | "conflict"
  | "overloaded"
  | "failed"
  | "applied and failed"
  | "crash before"
  | "crash after"
  | "crash acknowledged"
  | "pause acknowledged";

/** What the network does to one process now. */
export interface Weather {
  /** One way, drawn again for every message: messages overtake each other. */
  latencyMs(): number;
  /** Added to every event of a watch; within one stream, events keep their order. */
  watchLagMs(): number;
  fate(request: HttpRequest): Fate;
  /** A request in flight when its sender dies: whether it arrives. */
  outlivesItsSender(): boolean;
  /** How long the sender of the current request stalls. */
  pauseMs(): number;
  /** Lists are answered with an earlier state. */
  listsThePast(): boolean;
}

export interface WireOptions {
  readonly world: World;
  readonly process: SimProcess;
  readonly backend: Backend;
  readonly weather: Weather;
  /** Called while the backend carries out a request of this process, so that commits can be attributed to a process. */
  readonly carrying: (process: SimProcess | undefined) => void;
  readonly crashed: (process: SimProcess, point: string, request: HttpRequest) => void;
  readonly paused: (process: SimProcess, forMs: number, request: HttpRequest) => void;
  /** Earlier list results; shared by all processes. */
  readonly lists: ListMemory;
}

interface OpenStream {
  drop(why: string): void;
}

/** One process's connection to a server: in memory, on virtual time, with the current faults. */
export class Wire implements Transport {
  readonly #options: WireOptions;
  readonly #streams = new Set<OpenStream>();
  readonly #label: string;

  constructor(options: WireOptions) {
    this.#options = options;
    this.#label = options.process.name;
    options.process.onKill(() => this.dropStreams("its process died"));
  }

  /** Breaks every open watch, as a network does: in the middle of the stream, without a final message. */
  dropStreams(why: string): number {
    const open = [...this.#streams];
    for (const stream of open) stream.drop(why);
    return open.length;
  }

  request(request: HttpRequest): Promise<HttpResponse> {
    const { world, process, weather } = this.#options;
    return new Promise((resolve, reject) => {
      if (!process.isAlive) return;
      if (request.signal?.aborted) return reject(new TransportError("aborted before it was sent", { neverSent: true }));
      let open = true;
      const settle = (run: () => void) =>
        process.deliver(() => {
          if (!open) return;
          open = false;
          request.signal?.removeEventListener("abort", onAbort);
          run();
        });
      const onAbort = () => {
        open = false;
        reject(new TransportError(`${request.method} ${request.path}: aborted`));
      };
      request.signal?.addEventListener("abort", onAbort, { once: true });
      const fate = weather.fate(request);
      const pauseMs = weather.pauseMs();
      if (fate !== "arrives" && fate !== "refused") world.note(this.#label, `fault: ${fate}`, () => briefly(request));
      const fail = (message: string, neverSent: boolean) =>
        settle(() => reject(new TransportError(`${request.method} ${request.path}: ${message}`, { neverSent })));
      const answer = (response: HttpResponse) =>
        world.after(weather.latencyMs(), `answer ${this.#label}`, () => settle(() => resolve(response)));
      const crash = (point: string) => this.#options.crashed(process, point, request);

      world.after(weather.latencyMs(), `arrive ${this.#label}`, () => {
        if (!process.isAlive && !weather.outlivesItsSender()) return;
        switch (fate) {
          case "refused":
            return fail("connection refused", true);
          case "lost":
            return fail("connection reset", false);
          case "conflict":
            return void answer(
              status(409, "Conflict", "the object has been modified; please apply your changes to it"),
            );
          case "overloaded":
            return void answer(status(429, "TooManyRequests", "too many requests; try again later"));
          case "failed":
            return void answer(status(500, "InternalError", "etcdserver: request timed out"));
          case "crash before":
            return crash("before its write was applied");
          default:
        }
        void this.#carry(request).then((response) => {
          if (isConsequential(request)) world.noteQuietly(this.#label, () => `${briefly(request)}: ${response.status}`);
          switch (fate) {
            case "answer lost":
              return fail("connection reset", false);
            case "applied and failed":
              return void answer(status(500, "InternalError", "etcdserver: request timed out"));
            case "crash after":
              return crash("after its write was applied");
            case "crash acknowledged":
              world.after(weather.latencyMs(), `answer ${this.#label}`, () => {
                settle(() => resolve(response));
                world.after(0, `crash ${this.#label}`, () => crash("after its write was acknowledged"));
              });
              return;
            case "pause acknowledged":
              world.after(weather.latencyMs(), `answer ${this.#label}`, () => {
                this.#options.paused(process, pauseMs, request);
                settle(() => resolve(response));
              });
              return;
            default:
              answer(response);
          }
        });
      });
    });
  }

  stream(request: HttpRequest): Promise<HttpStream> {
    const { world, process, weather, backend } = this.#options;
    return new Promise((resolve, reject) => {
      if (!process.isAlive) return;
      if (request.signal?.aborted) return reject(new TransportError("aborted before it was sent", { neverSent: true }));
      const fate = weather.fate(request);
      const channel = new Channel();
      const server = new AbortController();
      let lastMs = 0;
      const inOrder = (run: () => void) => {
        lastMs = Math.max(lastMs, world.nowMs + weather.latencyMs() + weather.watchLagMs());
        world.after(lastMs - world.nowMs, `event ${this.#label}`, () => process.deliver(run));
      };
      const end = () => {
        this.#streams.delete(open);
        request.signal?.removeEventListener("abort", onAbort);
        server.abort(new Error("the client is gone"));
      };
      const onAbort = () => {
        end();
        const error = new TransportError(`watch of ${request.path}: aborted`);
        channel.fail(error);
        reject(error);
      };
      const open: OpenStream = {
        drop: (why) => {
          end();
          process.deliver(() => {
            channel.fail(new TransportError(why));
            reject(new TransportError(why));
          });
        },
      };
      request.signal?.addEventListener("abort", onAbort, { once: true });
      world.after(weather.latencyMs(), `open ${this.#label}`, () => {
        if (!process.isAlive || server.signal.aborted || request.signal?.aborted) return;
        if (fate !== "arrives") {
          world.note(this.#label, "fault: watch refused", () => briefly(request));
          request.signal?.removeEventListener("abort", onAbort);
          return process.deliver(() => reject(new TransportError("connection refused", { neverSent: true })));
        }
        this.#streams.add(open);
        void backend.stream({ ...request, signal: server.signal }).then(
          ({ chunks, ...head }) => {
            inOrder(() => resolve({ chunks: channel, ...head }));
            void forward(chunks, inOrder, channel, end);
          },
          (error: unknown) => inOrder(() => reject(error)),
        );
      });
    });
  }

  async #carry(request: HttpRequest): Promise<HttpResponse> {
    const { backend, carrying, process, lists, weather, world } = this.#options;
    const past = weather.listsThePast() ? lists.recall(request, world.nowMs) : undefined;
    if (past) {
      world.note(this.#label, "fault: an outdated list", () => briefly(request));
      return past;
    }
    // Aborting a request does not undo it: the server never learns of it.
    const { signal: _ours, ...sent } = request;
    carrying(process);
    const handled = backend.handle(sent);
    carrying(undefined);
    const response = await handled;
    lists.remember(request, response, world.nowMs);
    return response;
  }
}

async function forward(
  chunks: AsyncIterable<string>,
  inOrder: (run: () => void) => void,
  channel: Channel,
  end: () => void,
): Promise<void> {
  try {
    for await (const chunk of chunks) inOrder(() => channel.push(chunk));
    inOrder(() => channel.end());
  } catch (error) {
    inOrder(() => channel.fail(error));
  } finally {
    end();
  }
}

/** Chunks on their way into the process, first in first out. One reader. */
class Channel implements AsyncIterable<string> {
  readonly #waiting: string[] = [];
  #ended = false;
  #failure: unknown;
  #wake: (() => void) | undefined;

  push(chunk: string): void {
    if (this.#failure === undefined) this.#waiting.push(chunk);
    this.#wake?.();
  }

  end(): void {
    this.#ended = true;
    this.#wake?.();
  }

  fail(error: unknown): void {
    this.#failure ??= error;
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<string> {
    for (;;) {
      const chunk = this.#waiting.shift();
      if (chunk !== undefined) yield chunk;
      else if (this.#failure !== undefined) throw this.#failure;
      else if (this.#ended) return;
      else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        this.#wake = undefined;
      }
    }
  }
}

/** A write that others act on: neither a lease nor an Event. */
export function isConsequential({ method, path }: HttpRequest): boolean {
  return method !== "GET" && !path.includes("/leases") && !path.includes("/events");
}

/** For transcripts: the last two parts of the path identify the object. */
export function briefly({ method, path }: HttpRequest): string {
  const [plain = ""] = path.split("?");
  return `${method} ${plain.split("/").slice(-3).join("/")}`;
}

/** A Kubernetes Status as an answer. */
export function status(code: number, reason: string, message: string): HttpResponse {
  const body = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", message, reason, code };
  const headers = { "content-type": "application/json", ...(code === 429 && { "retry-after": "1" }) };
  return { status: code, headers, body: JSON.stringify(body) };
}

export function asStream({ body, ...head }: HttpResponse): HttpStream {
  const chunks = (async function* () {
    yield body;
  })();
  return { ...head, chunks };
}
