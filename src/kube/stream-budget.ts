import { LIMITS, type Log, silentLog } from "../runtime/index.ts";
import { allowManyListeners } from "./deadline.ts";

/**
 * Streams of one lane share that lane's part of the limit, and never take from another lane:
 * - `own`: the program's own watches. The code fixes their number; they are counted, never refused.
 * - `objects`: kinds that users of the server name.
 * - `members`: the servers behind this one.
 */
export type StreamLane = "own" | "objects" | "members";

export interface StreamClaim {
  readonly lane: StreamLane;
  /** What the streams of a lane are shared between. */
  readonly kind: string;
  /** A kind's share grows with it: how many users depend on its streams. At least 1. */
  readonly weight?: (() => number) | undefined;
}

/** The right to one open stream, kept from one watch to the next. */
export interface StreamSeat {
  /** The reader of the stream shows that it still works: it got something, or retries. */
  alive(atMs: number): void;
  /** Whether a kind that has less than its share waits for a seat, and this kind has more than its share. */
  isOwed(): boolean;
  release(): void;
}

export interface LaneUsage {
  readonly limit: number;
  open: number;
  readonly waiting: number;
  readonly kinds: Readonly<Record<string, { readonly open: number; readonly waiting: number }>>;
}

export interface StreamUsage {
  readonly limit: number;
  readonly lanes: Readonly<Record<StreamLane, LaneUsage>>;
}

export interface StreamBudgetOptions {
  readonly limit?: number | undefined;
  readonly log?: Log | undefined;
}

/** About twice as many as the controller has. */
const OWN_STREAMS = 32;
/** One in this many is for kinds that users name: each needs one stream here, and one for every member in addition. */
const OBJECTS_PART = 16;
/** With fewer, there would be nothing left for members. */
export const MIN_STREAMS = 2 * OWN_STREAMS;

/** How many streams may be open at once, and which stream is next if there are not enough. */
export class StreamBudget {
  readonly #limit: number;
  readonly #lanes: Readonly<Record<StreamLane, Lane>>;

  constructor(options: StreamBudgetOptions = {}) {
    const limit = options.limit ?? LIMITS.openStreams;
    if (!Number.isInteger(limit) || limit < MIN_STREAMS) {
      throw new RangeError(
        `the limit of open streams is ${limit}; it must be a whole number of at least ${MIN_STREAMS}`,
      );
    }
    this.#limit = limit;
    const log = options.log ?? silentLog;
    const objects = Math.ceil(limit / OBJECTS_PART);
    this.#lanes = {
      own: new Lane("own", OWN_STREAMS, false, log),
      objects: new Lane("objects", objects, true, log),
      members: new Lane("members", limit - OWN_STREAMS - objects, true, log),
    };
  }

  /** Resolves with a seat: at once, or after `waits` was called with the reason. Rejects if the signal aborts first. */
  take(claim: StreamClaim, signal: AbortSignal, waits: (why: string) => void): Promise<StreamSeat> {
    return this.#lanes[claim.lane].take(claim, signal, waits);
  }

  /** Kinds with an open stream whose reader has shown no sign of life since then; times are monotonic. */
  silentSince(sinceMs: number): string[] {
    return Object.values(this.#lanes).flatMap((lane) => lane.silentSince(sinceMs));
  }

  /** Open and waiting streams, for logs, metrics and benchmarks. */
  usage(): StreamUsage {
    const { own, objects, members } = this.#lanes;
    return { limit: this.#limit, lanes: { own: own.usage(), objects: objects.usage(), members: members.usage() } };
  }
}

/** The streams of one kind within a lane. */
interface Share {
  readonly kind: string;
  weight: () => number;
  open: number;
  readonly waiting: Set<Waiter>;
}

interface Waiter {
  readonly since: number;
  readonly grant: () => void;
}

class Lane {
  readonly #name: StreamLane;
  readonly #limit: number;
  readonly #isLimited: boolean;
  readonly #log: Log;
  readonly #shares = new Map<string, Share>();
  readonly #signs = new Set<{ readonly kind: string; atMs: number }>();
  #open = 0;
  #waiting = 0;
  #arrivals = 0;

  constructor(name: StreamLane, limit: number, isLimited: boolean, log: Log) {
    this.#name = name;
    this.#limit = limit;
    this.#isLimited = isLimited;
    this.#log = log;
  }

  take({ kind, weight = () => 1 }: StreamClaim, signal: AbortSignal, waits: (why: string) => void) {
    return new Promise<StreamSeat>((resolve, reject) => {
      signal.throwIfAborted();
      allowManyListeners(signal);
      const share = this.#share(kind, weight);
      if (this.#hasRoom) return resolve(this.#seat(share));
      const onAbort = () => {
        this.#leave(share, waiter);
        reject(signal.reason);
      };
      const waiter: Waiter = {
        since: this.#arrivals++,
        grant: () => {
          signal.removeEventListener("abort", onAbort);
          resolve(this.#seat(share));
        },
      };
      share.waiting.add(waiter);
      if (this.#waiting++ === 0) this.#log.warn("no free stream; those without one wait", this.#figures());
      signal.addEventListener("abort", onAbort, { once: true });
      waits(`no free stream: all ${this.#limit} streams for ${this.#name} are in use`);
    });
  }

  usage(): LaneUsage {
    const kinds: Record<string, { open: number; waiting: number }> = {};
    for (const { kind, open, waiting } of this.#shares.values()) kinds[kind] = { open, waiting: waiting.size };
    return { limit: this.#limit, open: this.#open, waiting: this.#waiting, kinds };
  }

  silentSince(sinceMs: number): string[] {
    return [...this.#signs].filter(({ atMs }) => atMs < sinceMs).map(({ kind }) => kind);
  }

  get #hasRoom(): boolean {
    return !this.#isLimited || this.#open < this.#limit;
  }

  #share(kind: string, weight: () => number): Share {
    const known = this.#shares.get(kind);
    if (known) {
      known.weight = weight;
      return known;
    }
    const share = { kind, weight, open: 0, waiting: new Set<Waiter>() };
    this.#shares.set(kind, share);
    return share;
  }

  #seat(share: Share): StreamSeat {
    share.open++;
    this.#open++;
    let isHeld = true;
    // Its reader says so as soon as it has the seat.
    const sign = { kind: share.kind, atMs: Number.POSITIVE_INFINITY };
    this.#signs.add(sign);
    return {
      alive: (atMs) => {
        sign.atMs = atMs;
      },
      isOwed: () => {
        const next = this.#next();
        return next !== undefined && next.share !== share && useWith(next.share, 1) < useWith(share, 0);
      },
      release: () => {
        if (!isHeld) return;
        isHeld = false;
        this.#signs.delete(sign);
        share.open--;
        this.#open--;
        this.#forgetUnused(share);
        this.#grantNext();
      },
    };
  }

  #grantNext(): void {
    while (this.#hasRoom) {
      const next = this.#next();
      if (!next) return;
      next.waiter.grant();
      this.#leave(next.share, next.waiter);
    }
  }

  /** Of the waiting kinds, the one that uses the least of its share; of its streams, the first that came. */
  #next(): { share: Share; waiter: Waiter } | undefined {
    let best: { share: Share; waiter: Waiter } | undefined;
    for (const share of this.#shares.values()) {
      const [waiter] = share.waiting;
      if (!waiter) continue;
      const order = best ? useWith(share, 1) - useWith(best.share, 1) : -1;
      if (order < 0 || (order === 0 && best && waiter.since < best.waiter.since)) best = { share, waiter };
    }
    return best;
  }

  #leave(share: Share, waiter: Waiter): void {
    if (!share.waiting.delete(waiter)) return;
    if (--this.#waiting === 0) this.#log.info("no stream waits any more", this.#figures());
    this.#forgetUnused(share);
  }

  #forgetUnused(share: Share): void {
    if (share.open === 0 && share.waiting.size === 0) this.#shares.delete(share.kind);
  }

  #figures() {
    return { lane: this.#name, limit: this.#limit, open: this.#open };
  }
}

/** How much of its share a kind would use with this many more streams. */
function useWith(share: Share, more: number): number {
  return (share.open + more) / Math.max(1, share.weight());
}
