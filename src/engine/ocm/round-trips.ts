/** How long each cluster's agent takes from a question to its report, measured on the monotonic clock. */

/**
 * An agent answers in a tenth of a second, and in half a second when it is busy: it reports at once what it has just
 * applied, also if it polls for everything else. What takes longer is a slow agent or connection.
 */
export const SLOW_MS = 3_000;

/** Between the two nothing changes: a warning that comes and goes is worse than none. */
const QUICK_MS = 1_000;

/** A hub that restarts is slow once. */
export const SAMPLES = 5;

/** Questions that were not answered meanwhile are those of a dead agent. */
const WAITING_MAX = 8;

export class RoundTrips {
  /** By ManifestWork: when which question was sent. */
  readonly #asked = new Map<string, Map<number, number>>();
  readonly #samples = new Map<string, readonly number[]>();
  readonly #slow = new Set<string>();

  asked(uid: string, sentAtMs: number, nowMs: number): void {
    const waiting = this.#asked.get(uid) ?? new Map<number, number>();
    this.#asked.set(uid, waiting.set(sentAtMs, nowMs));
    const [oldest] = waiting.keys();
    if (waiting.size > WAITING_MAX && oldest !== undefined) waiting.delete(oldest);
  }

  /** The report proves that the agent has seen this question; what others asked is not measured. */
  answered(uid: string, cluster: string, sentAtMs: number, nowMs: number): void {
    const waiting = this.#asked.get(uid);
    const askedMs = waiting?.get(sentAtMs);
    if (!waiting || askedMs === undefined) return;
    for (const each of waiting.keys()) if (each <= sentAtMs) waiting.delete(each);
    const samples = [...(this.#samples.get(cluster) ?? []), nowMs - askedMs].slice(-SAMPLES);
    this.#samples.set(cluster, samples);
    if (samples.length < SAMPLES) return;
    const median = samples.toSorted((a, b) => a - b)[Math.floor(SAMPLES / 2)] ?? 0;
    if (median > SLOW_MS) this.#slow.add(cluster);
    else if (median < QUICK_MS) this.#slow.delete(cluster);
  }

  isSlow(cluster: string): boolean {
    return this.#slow.has(cluster);
  }

  forget(uid: string): void {
    this.#asked.delete(uid);
  }
}
