import {
  type Clock,
  type Headers,
  type HttpRequest,
  type HttpResponse,
  type Log,
  type Random,
  retryDelayMs,
  type Transport,
  TransportError,
} from "../runtime/index.ts";
import { DeadlineReached, withDeadline } from "./deadline.ts";
import {
  type RequestContext,
  RequestTimeoutError,
  readStatus,
  StatusError,
  type StatusInfo,
  statusError,
  UnreachableError,
  WriteOutcomeUnknownError,
} from "./errors.ts";

/**
 * Whether a request may be sent again. THE RULE, which the rest of this file implements:
 *
 * 1. `read`: always. Dry runs are reads: they change nothing.
 * 2. Any write, if it was certainly not applied: the connection was never made (`neverSent`), or the server refused
 *    it because of load (429, sent before a request is carried out).
 * 3. `repeatable` writes also if it is unknown whether the first copy was applied (connection lost, no answer in time,
 *    5xx), because a second copy has no other effect than a first one that arrived late:
 *    - with a resourceVersion (update, patch): the second copy of an applied write meets a newer version and conflicts;
 *    - delete with a uid: exactly that object is deleted, never another one of its name;
 *    - create with a fixed name: the second copy finds that the name exists;
 *    - server-side apply and merge patch: they set values; setting them twice is the same as once.
 * 4. `once` writes (generateName, JSON and strategic patches without a version, deletes by name alone): never in case
 *    3.
 *
 * If any copy of a write may have been applied and no success was received, the caller gets WriteOutcomeUnknownError,
 * regardless of the last answer: a conflict after a lost answer may be a conflict with our own write. One exception:
 * `NotFound` after a lost answer of a delete by uid is the requested success.
 *
 * No rule helps against a copy that a server carries out long after we gave it up, behind our later writes. So what
 * must not go back is written with a resourceVersion.
 */
export type Safety = "read" | "repeatable" | "once";

export interface Sending {
  readonly request: Omit<HttpRequest, "signal" | "headers">;
  readonly headers: Headers;
  readonly context: RequestContext;
  readonly safety: Safety;
  /** Whether `NotFound` after an unknown outcome means that the write was applied (delete by uid). */
  readonly goneIsDone?: boolean;
}

export interface RequestOptions {
  /**
   * Aborting ends a read at once. A write that was sent is completed, but not repeated: cancelling it would not undo
   * it, only leave its outcome unknown.
   */
  readonly signal?: AbortSignal | undefined;
  /** For the request with all its retries. */
  readonly timeoutMs?: number | undefined;
  /** Copies sent at most; 1 turns retries off. */
  readonly maxAttempts?: number | undefined;
}

/** Kubernetes' own server limits a request to 60 s; no answer comes after that. */
const DEFAULT_TIMEOUT_MS = 60_000;
/** Half of it, so that one lost connection leaves time for a second attempt. */
const ATTEMPT_TIMEOUT_MS = 30_000;
/** With the delays below, this survives a server's restart of about ten seconds, without much load. */
const DEFAULT_MAX_ATTEMPTS = 6;
const RETRY_BASE_MS = 250;
const RETRY_MAX_MS = 8_000;
/** A longer Retry-After is shortened to this: a server's mistake must not stop us for an hour. */
const RETRY_AFTER_MAX_MS = 30_000;

export interface SenderOptions {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** Sends one request until it succeeds, fails permanently, or its time is over. */
export class Sender {
  readonly #transport: Transport;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #log: Log;

  constructor(options: SenderOptions) {
    this.#transport = options.transport;
    this.#clock = options.clock;
    this.#random = options.random;
    this.#log = options.log;
  }

  /** The answer of a success; undefined if a delete turned out to be complete already. */
  async send(sending: Sending, options: RequestOptions = {}): Promise<HttpResponse | undefined> {
    const timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    const maxAttempts = options.maxAttempts ?? DEFAULT_MAX_ATTEMPTS;
    const endMs = this.#clock.monotonicMs() + timeoutMs;
    let mayBeApplied: Error | undefined;

    for (let attempt = 0; ; attempt++) {
      this.#throwIfAborted(options.signal, sending, mayBeApplied);
      const leftMs = endMs - this.#clock.monotonicMs();
      const outcome = await this.#attempt(sending, Math.min(leftMs, ATTEMPT_TIMEOUT_MS), options.signal);
      if ("response" in outcome) return outcome.response;

      if (mayBeApplied && sending.goneIsDone && isNotFound(outcome.error)) return undefined;
      if (sending.safety !== "read" && outcome.maybeApplied) mayBeApplied = outcome.error;
      const delayMs = this.#delayMs(outcome.error, attempt);
      const again =
        outcome.transient &&
        (sending.safety !== "once" || !outcome.maybeApplied) &&
        attempt + 1 < maxAttempts &&
        this.#clock.monotonicMs() + delayMs < endMs;
      if (!again) {
        if (mayBeApplied) throw new WriteOutcomeUnknownError(sending.context, outcome.error);
        throw outcome.error;
      }
      this.#log.debug("request failed and is retried", {
        method: sending.context.method,
        path: sending.context.path,
        attempt: attempt + 1,
        delayMs: Math.round(delayMs),
        reason: outcome.error.message,
      });
      await this.#clock.sleep(delayMs, options.signal).catch(() => {});
    }
  }

  #throwIfAborted(signal: AbortSignal | undefined, sending: Sending, mayBeApplied: Error | undefined): void {
    if (signal?.aborted && mayBeApplied) throw new WriteOutcomeUnknownError(sending.context, mayBeApplied);
    signal?.throwIfAborted();
  }

  async #attempt(sending: Sending, timeoutMs: number, signal: AbortSignal | undefined): Promise<Outcome> {
    const { context } = sending;
    let response: HttpResponse;
    try {
      response = await withDeadline(this.#clock, timeoutMs, sending.safety === "read" ? signal : undefined, (inner) =>
        this.#transport.request({ headers: sending.headers, signal: inner, ...sending.request }),
      );
    } catch (error) {
      if (sending.safety === "read") signal?.throwIfAborted();
      if (error instanceof DeadlineReached) {
        const timeout = new RequestTimeoutError(context, timeoutMs);
        return { error: timeout, transient: true, maybeApplied: true };
      }
      const neverSent = error instanceof TransportError && error.neverSent;
      return { error: unreachable(context, error), transient: true, maybeApplied: !neverSent };
    }
    if (response.status >= 200 && response.status < 300) return { response };
    const error = statusError(
      context,
      withRetryAfter(readStatus(response.status, response.body), response, this.#clock),
    );
    return { error, transient: isTransient(response.status), maybeApplied: response.status >= 500 };
  }

  #delayMs(error: Error, attempt: number): number {
    const backoffMs = retryDelayMs(attempt, RETRY_BASE_MS, RETRY_MAX_MS, this.#random);
    const askedMs = error instanceof StatusError ? (error.status.retryAfterMs ?? 0) : 0;
    // All clients got the same number; the jitter keeps them from returning together.
    return askedMs > 0 ? Math.min(askedMs, RETRY_AFTER_MAX_MS) + backoffMs / 2 : backoffMs;
  }
}

type Outcome =
  | { readonly response: HttpResponse }
  | { readonly error: Error; readonly transient: boolean; readonly maybeApplied: boolean };

/** 501 and 505 will never work; every other 5xx, and 429, may pass. */
function isTransient(status: number): boolean {
  return status === 429 || (status >= 500 && status !== 501 && status !== 505);
}

function isNotFound(error: Error): boolean {
  return error instanceof StatusError && error.status.code === 404;
}

export function unreachable(context: RequestContext, error: unknown): UnreachableError {
  const why = error instanceof Error ? error.message : String(error);
  return new UnreachableError(context, `the server cannot be reached: ${why}`, { cause: error });
}

/** Retry-After is in seconds or a date; the Status may contain it too, and the header takes precedence. */
export function withRetryAfter(status: StatusInfo, response: { headers: Headers }, clock: Clock): StatusInfo {
  const header = response.headers["retry-after"]?.trim();
  if (!header) return status;
  if (/^[0-9]{1,9}$/.test(header)) return { ...status, retryAfterMs: Number(header) * 1000 };
  const date = Date.parse(header);
  return Number.isNaN(date) ? status : { ...status, retryAfterMs: Math.max(0, date - clock.now()) };
}
