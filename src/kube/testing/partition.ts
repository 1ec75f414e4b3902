import {
  type Clock,
  type HttpRequest,
  type HttpResponse,
  type HttpStream,
  type Transport,
  TransportError,
} from "../../runtime/index.ts";

/**
 * One process's connection to a server that it shares with others: disconnected, slow or losing answers for this
 * process only.
 */
export class Partition implements Transport {
  readonly #inner: Transport;
  readonly #clock: Clock;
  /** `refused`: nothing arrives. `answers lost`: everything arrives and is carried out, but no answer returns. */
  state: "open" | "refused" | "answers lost" = "open";
  requestDelayMs = 0;
  answerDelayMs = 0;

  constructor(inner: Transport, clock: Clock) {
    this.#inner = inner;
    this.#clock = clock;
  }

  async request(request: HttpRequest): Promise<HttpResponse> {
    if (this.requestDelayMs > 0) await this.#clock.sleep(this.requestDelayMs);
    if (this.state === "refused") throw new TransportError("connection refused", { neverSent: true });
    const answer = await this.#inner.request(request);
    if (this.state === "answers lost") throw new TransportError("connection reset");
    if (this.answerDelayMs > 0) await this.#clock.sleep(this.answerDelayMs);
    return answer;
  }

  async stream(request: HttpRequest): Promise<HttpStream> {
    if (this.state !== "open") throw new TransportError("connection refused", { neverSent: true });
    return this.#inner.stream(request);
  }
}
