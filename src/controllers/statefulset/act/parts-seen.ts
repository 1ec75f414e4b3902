import type { Engine, Holding } from "../../../engine/index.ts";
import type { KubeObject } from "../../../kube/index.ts";
import { type Clock, type Random, retryDelayMs } from "../../../runtime/index.ts";

export interface PartsSeenOptions {
  readonly engine: Pick<Engine, "member">;
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
  /** A look has ended: the application has to be worked on again. */
  readonly changed: (appKey: string) => void;
}

/** One grant's ConfigMaps, looked for in its cluster. */
interface Look {
  readonly id: string;
  readonly epoch: number;
  readonly abort: AbortController;
  /** `ended`: given up for now. Something may have to be dispatched again before the next look. */
  state: "looking" | "seen" | "ended";
  /** What was not there the last time. */
  message: string;
  /** When all of it was, on the monotonic clock. */
  seenAtMs: number;
}

/** The first retry follows soon: an engine delivers within a second. An unreachable member is not asked often. */
const RETRY_BASE_MS = 500;
const RETRY_MAX_MS = 8_000;
/**
 * About half a minute. After that the application is worked on again, and dispatches what a user has deleted
 * meanwhile.
 */
const ATTEMPTS = 8;
/**
 * What was found counts as evidence for this long. It must be far longer than a busy controller needs to return to an
 * application: otherwise the controller would read again without end.
 */
const SEEN_FOR_MS = 300_000;
/** Responses have up to half a megabyte each; a hundred clusters at a time would need fifty megabytes. */
const CONCURRENT_READS = 8;

/**
 * [I21] Looks whether members hold the ConfigMaps that grants refer to. The looks run beside the reconcile: a member
 * that is slow to answer holds up neither its application nor another one.
 */
export class PartsSeen {
  readonly #options: PartsSeenOptions;
  readonly #looks = new Map<string, Map<string, Look>>();
  readonly #queued: (() => void)[] = [];
  #reading = 0;

  constructor(options: PartsSeenOptions) {
    this.#options = options;
  }

  /** What the look for this very grant has not found yet; undefined: no look for it is under way. */
  lookedFor(appKey: string, cluster: string, epoch: number): string | undefined {
    const look = this.#looks.get(appKey)?.get(cluster);
    return look?.epoch === epoch && look.state === "looking" ? look.message : undefined;
  }

  /**
   * Undefined once all parts have been seen in the cluster, otherwise what is awaited; then a look begins. A finding
   * serves one grant once: a second dispatch needs a second look.
   */
  awaited(appKey: string, cluster: string, epoch: number, parts: readonly KubeObject[]): string | undefined {
    const id = `${epoch} ${parts.map(({ metadata }) => metadata.name).join(" ")}`;
    const looks = this.#looks.get(appKey) ?? new Map<string, Look>();
    const known = looks.get(cluster);
    if (known?.id === id && known.state === "seen") {
      looks.delete(cluster);
      if (this.#options.clock.monotonicMs() - known.seenAtMs <= SEEN_FOR_MS) return undefined;
    }
    if (known?.id === id && known.state === "looking") return known.message;
    known?.abort.abort(new Error("another grant is looked for"));
    const message = known?.id === id ? known.message : `its ${parts.length} ConfigMaps are being looked for`;
    const look: Look = { id, epoch, abort: new AbortController(), state: "looking", message, seenAtMs: 0 };
    looks.set(cluster, look);
    this.#looks.set(appKey, looks);
    void this.#look(appKey, cluster, look, parts);
    return message;
  }

  forget(appKey: string): void {
    for (const { abort } of this.#looks.get(appKey)?.values() ?? [])
      abort.abort(new Error("no grant waits for it any more"));
    this.#looks.delete(appKey);
  }

  async #look(appKey: string, cluster: string, look: Look, parts: readonly KubeObject[]): Promise<void> {
    const { clock, random, signal, changed } = this.#options;
    const isOver = () => signal.aborted || look.abort.signal.aborted;
    let missing = parts;
    for (let attempt = 0; attempt < ATTEMPTS && !isOver(); attempt++) {
      missing = await this.#missingOf(cluster, missing, look);
      if (missing.length === 0 || isOver()) break;
      const pauseMs = retryDelayMs(attempt, RETRY_BASE_MS, RETRY_MAX_MS, random);
      await clock.sleep(pauseMs, AbortSignal.any([signal, look.abort.signal])).catch(() => {});
    }
    if (isOver()) return;
    look.seenAtMs = clock.monotonicMs();
    look.state = missing.length === 0 ? "seen" : "ended";
    changed(appKey);
  }

  /** Those of the parts that are not seen. One after the other: the first that is missing is reason enough to wait. */
  async #missingOf(cluster: string, parts: readonly KubeObject[], look: Look): Promise<readonly KubeObject[]> {
    for (const [index, part] of parts.entries()) {
      const holding = await this.#read(() => this.#options.engine.member(cluster).holds(part));
      if (holding.kind === "held") continue;
      look.message = holding.message;
      return parts.slice(index);
    }
    return [];
  }

  async #read(ask: () => Promise<Holding>): Promise<Holding> {
    if (this.#reading >= CONCURRENT_READS) await new Promise<void>((resolve) => this.#queued.push(resolve));
    else this.#reading++;
    try {
      return await ask();
    } catch (error) {
      return { kind: "unknown", message: error instanceof Error ? error.message : String(error) };
    } finally {
      const next = this.#queued.shift();
      if (next) next();
      else this.#reading--;
    }
  }
}
