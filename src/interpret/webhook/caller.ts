/** Calls webhooks: with a deadline, a limit on what is read, and a limit on concurrent calls. */
import { type Clock, openHttpTransport, type Random, type Transport } from "../../runtime/index.ts";
import type { Inputs, Operation, Results } from "../operations.ts";
import type { Webhook, WebhookEndpoint } from "./configuration.ts";
import { WebhookFailure } from "./failure.ts";
import { buildReview, parseReview } from "./review.ts";

/** `retire` closes connections after the calls in progress have ended. */
export type WebhookTransport = Transport & { retire?(): Promise<void> };

/**
 * Creates the transport to a webhook. It must verify https against `caPem`, or against the system's roots without it.
 */
export type WebhookTransports = (target: {
  origin: string;
  caPem?: string;
  servername?: string;
}) => WebhookTransport | Promise<WebhookTransport>;

/** The production transport. */
export const httpWebhookTransports: WebhookTransports = ({ origin, caPem, servername }) =>
  openHttpTransport({ server: origin, tls: { ca: caPem, servername } });

export interface WebhookLimits {
  /** An answer contains at most a patch of one object, and objects are limited to 1.5 MiB. */
  readonly responseCharacters: number;
  /** One webhook serves many objects; more concurrent calls would only queue inside it. */
  readonly callsAtOnce: number;
  /** With more waiting calls than this, a webhook is down or far too slow: failing is better than queueing more. */
  readonly callsWaiting: number;
}

const DEFAULT_LIMITS: WebhookLimits = { responseCharacters: 3 * 1024 * 1024, callsAtOnce: 8, callsWaiting: 10_000 };

export interface WebhookCallerOptions {
  readonly transports: WebhookTransports;
  readonly clock: Clock;
  readonly random: Random;
  readonly limits?: Partial<WebhookLimits>;
}

interface Lane {
  readonly version: string;
  transport: Promise<WebhookTransport> | undefined;
  running: number;
  readonly waiting: (() => void)[];
}

export class WebhookCaller {
  readonly #options: WebhookCallerOptions;
  readonly #limits: WebhookLimits;
  readonly #lanes = new Map<string, Lane>();

  constructor(options: WebhookCallerOptions) {
    this.#options = options;
    this.#limits = { ...DEFAULT_LIMITS, ...options.limits };
  }

  /** Drops the connections of webhooks that are gone or have changed. */
  keepOnly(webhooks: readonly Webhook[]): void {
    const versions = new Map(webhooks.map(({ id, version }) => [id, version]));
    for (const [id, lane] of this.#lanes) {
      if (versions.get(id) === lane.version) continue;
      this.#lanes.delete(id);
      // A transport that never opened, or does not close, has nothing to release.
      lane.transport?.then((transport) => transport.retire?.()).catch(() => {});
    }
  }

  /** Rejects with WebhookFailure only. */
  async call<O extends Operation>(webhook: Webhook, operation: O, input: Inputs[O]): Promise<Results[O]> {
    const { endpoint } = webhook;
    if (typeof endpoint === "string") throw new WebhookFailure("NotCallable", endpoint);
    const lane = this.#lane(webhook);
    await this.#enter(lane);
    try {
      const uid = this.#options.random.uuid();
      const review = buildReview(webhook.protocol, uid, operation, input);
      const body = await this.#exchange(lane, webhook, endpoint, review);
      return parseReview(webhook.protocol, uid, operation, input, body);
    } finally {
      this.#leave(lane);
    }
  }

  #lane(webhook: Webhook): Lane {
    const known = this.#lanes.get(webhook.id);
    if (known !== undefined && known.version === webhook.version) return known;
    const lane: Lane = { version: webhook.version, transport: undefined, running: 0, waiting: [] };
    this.#lanes.set(webhook.id, lane);
    return lane;
  }

  async #enter(lane: Lane): Promise<void> {
    if (lane.running >= this.#limits.callsAtOnce) {
      if (lane.waiting.length >= this.#limits.callsWaiting) {
        throw new WebhookFailure("Overloaded", `${lane.waiting.length} calls already wait for it`);
      }
      return new Promise((resolve) => lane.waiting.push(resolve));
    }
    lane.running++;
  }

  /** If it cannot be opened, the next call retries. */
  async #open(lane: Lane, { origin, caPem, servername }: WebhookEndpoint): Promise<WebhookTransport> {
    try {
      return await this.#options.transports({ origin, ...(caPem && { caPem }), ...(servername && { servername }) });
    } catch (error) {
      lane.transport = undefined;
      throw error;
    }
  }

  /** The slot goes directly to the call that has waited longest, so that no new call can take it in between. */
  #leave(lane: Lane): void {
    const next = lane.waiting.shift();
    if (next === undefined) lane.running--;
    else next();
  }

  /** The body of a 200, or a WebhookFailure; never later than the webhook's timeout. */
  async #exchange(lane: Lane, webhook: Webhook, endpoint: WebhookEndpoint, review: string): Promise<string> {
    const { clock } = this.#options;
    const { origin, path } = endpoint;
    const late = new WebhookFailure("Timeout", `no answer within ${webhook.timeoutSeconds} s`);
    const request = new AbortController();
    const timer = new AbortController();
    const deadline = clock.sleep(webhook.timeoutSeconds * 1000, timer.signal).then(() => {
      request.abort(late);
      throw late;
    });
    // The race does not observe it if the answer comes first.
    deadline.catch(() => {});
    try {
      const answer = this.#read(lane, endpoint, `${path}?timeout=${webhook.timeoutSeconds}s`, review, request);
      answer.catch(() => {});
      return await Promise.race([answer, deadline]);
    } catch (error) {
      if (error instanceof WebhookFailure) throw error;
      throw new WebhookFailure("Unreachable", unreachable(error, origin), { cause: error });
    } finally {
      timer.abort();
      request.abort();
    }
  }

  async #read(
    lane: Lane,
    endpoint: WebhookEndpoint,
    path: string,
    body: string,
    abort: AbortController,
  ): Promise<string> {
    lane.transport ??= this.#open(lane, endpoint);
    const transport = await lane.transport;
    const headers = { "content-type": "application/json", accept: "application/json" };
    const { status, chunks } = await transport.stream({ method: "POST", path, headers, body, signal: abort.signal });
    if (status >= 300 && status < 400) {
      throw new WebhookFailure("Redirect", `it answered with redirect ${status}; redirects are not followed`);
    }
    if (status !== 200) throw new WebhookFailure("BadStatus", `it answered with HTTP status ${status} instead of 200`);
    const parts: string[] = [];
    let characters = 0;
    for await (const chunk of chunks) {
      characters += chunk.length;
      if (characters > this.#limits.responseCharacters) {
        throw new WebhookFailure("TooLarge", `its answer is longer than ${this.#limits.responseCharacters} characters`);
      }
      parts.push(chunk);
    }
    return parts.join("");
  }
}

/** TLS errors are in the cause; the user must see them. */
function unreachable(error: unknown, origin: string): string {
  const messages: string[] = [];
  for (let current = error; current instanceof Error && messages.length < 4; current = current.cause) {
    if (!messages.includes(current.message)) messages.push(current.message);
  }
  return `cannot be reached at ${origin}: ${messages.join(": ") || String(error)}`;
}
