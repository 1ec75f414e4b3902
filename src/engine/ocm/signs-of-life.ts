import type { Cache, KubeClient, KubeObject } from "../../kube/index.ts";
import type { Clock, Log } from "../../runtime/index.ts";
import { Lateness } from "./lateness.ts";
import { isLookedAt, isThere, manifestStatus } from "./reports.ts";
import { MANIFEST_WORKS } from "./resources.ts";
import { RoundTrips } from "./round-trips.ts";
import { podsUnobserved } from "./values.ts";
import { askingPatch, returnedMark, sentMark, wasRemoving } from "./works.ts";

/**
 * How often an agent is asked for a sign of life: one write on the hub, one apply in the member, which changes no
 * generation.
 */
const ASK_EVERY_MS = 15_000;

/** Two unanswered requests and some time for the third. What was seen longer ago is no longer known. */
export const FRESH_MS = 45_000;

/** The maximum number of requests in progress. */
const PARALLEL_QUESTIONS = 16;

/** `slow`: its answers take seconds. `late`: it answers soon, and reports changes of the cluster's own seconds later. */
export type Pace = "prompt" | "slow" | "late";

export interface SignsOptions {
  readonly hub: Pick<KubeClient, "patch">;
  readonly clock: Clock;
  readonly log: Log;
  readonly works: Pick<Cache<KubeObject>, "get" | "wrote">;
  /**
   * The ManifestWorks whose reports are the only information about a workload, among those of an application that we
   * lead.
   */
  readonly readFrom: () => readonly KubeObject[];
  /** The cluster of this ManifestWork has stopped giving signs of life, or gives them again. */
  readonly changed: (work: KubeObject) => void;
}

/**
 * An agent that is gone leaves all its reports unchanged, for minutes or forever; so does an agent whose watch stalls.
 * So agents are asked: the mark on the object is written again, with another time, and must come back.
 */
export class SignsOfLife {
  readonly #options: SignsOptions;
  /** By the ManifestWork's uid: when the latest answered request was sent, and when its answer was noted here. */
  readonly #answered = new Map<string, { readonly sentAtMs: number; readonly notedMs: number }>();
  readonly #wasFresh = new Map<string, boolean>();
  readonly #trips = new RoundTrips();
  readonly #lateness = new Lateness();
  readonly #wasPace = new Map<string, Pace>();

  constructor(options: SignsOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    while (!signal.aborted) {
      await clock.sleep(ASK_EVERY_MS, signal).catch(() => {});
      if (!signal.aborted) await this.#round(signal);
    }
  }

  /** The time from which on the report is valid; undefined: it proves nothing. */
  provenMs(work: KubeObject): number | undefined {
    const uid = work.metadata.uid ?? "";
    const proven = provenNow(work);
    // While the next request is in progress, the answer to the last one counts.
    if (proven === undefined) return this.#answered.get(uid)?.sentAtMs;
    if (this.#answered.get(uid)?.sentAtMs !== proven) {
      const notedMs = this.#options.clock.monotonicMs();
      this.#answered.set(uid, { sentAtMs: proven, notedMs });
      this.#trips.answered(uid, work.metadata.namespace ?? "", proven, notedMs);
    }
    return proven;
  }

  /**
   * Since when the cluster has been silent, as far as this process can tell. A wall clock that jumps makes every report
   * look old; that alone must not make a cluster look lost, because its next answer is still under way.
   */
  silentSinceMs(work: KubeObject): number {
    const { clock } = this.#options;
    const nowMs = clock.monotonicMs();
    const { notedMs } = this.#answered.get(work.metadata.uid ?? "") ?? { notedMs: nowMs };
    const silentMs = nowMs - notedMs;
    return clock.now() - (silentMs > FRESH_MS ? silentMs : 0);
  }

  /** What the caller learns is remembered: when it turns, that is news. */
  isFresh(work: KubeObject): boolean {
    const isFresh = this.#isFreshNow(work);
    this.#wasFresh.set(work.metadata.uid ?? "", isFresh);
    return isFresh;
  }

  /**
   * Another version of a ManifestWork has arrived. An answer is noted when it comes: the next question may be on its way
   * when a caller asks. Returns whether a cluster that had been silent gives signs of life again.
   */
  saw(work: KubeObject): boolean {
    this.#lateness.reported(work, this.#options.clock.now());
    const isFresh = this.#isFreshNow(work);
    return isFresh && this.#wasFresh.get(work.metadata.uid ?? "") === false;
  }

  #isFreshNow(work: KubeObject): boolean {
    const { clock } = this.#options;
    const provenMs = this.provenMs(work);
    const answered = this.#answered.get(work.metadata.uid ?? "");
    if (provenMs === undefined || !answered) return false;
    // A wall clock that jumps back makes no old answer new.
    if (clock.monotonicMs() - answered.notedMs > FRESH_MS) return false;
    // Another process's clock may be a little ahead of ours, but not by more than would be too old.
    return Math.abs(clock.now() - provenMs) <= FRESH_MS;
  }

  /** How soon the cluster's agent reports. A slow one is also late with everything. */
  paceOf(cluster: string): Pace {
    if (this.#trips.isSlow(cluster)) return "slow";
    return this.#lateness.isLate(cluster) ? "late" : "prompt";
  }

  forget(work: KubeObject): void {
    this.#trips.forget(work.metadata.uid ?? "");
    this.#lateness.forget(work.metadata.uid ?? "");
    this.#wasPace.delete(work.metadata.uid ?? "");
    this.#answered.delete(work.metadata.uid ?? "");
    this.#wasFresh.delete(work.metadata.uid ?? "");
  }

  /** Undefined: it could not be sent, because another process wrote the ManifestWork or it is gone. */
  async ask(work: KubeObject): Promise<KubeObject | undefined> {
    const { hub, clock, log, works } = this.#options;
    const sentAtMs = clock.now();
    const patch = askingPatch(work, sentAtMs, podsUnobserved(work));
    if (!patch) return undefined;
    this.#trips.asked(work.metadata.uid ?? "", sentAtMs, clock.monotonicMs());
    try {
      const asked = await hub.patch(MANIFEST_WORKS, work.metadata, patch);
      works.wrote(asked);
      return asked;
    } catch (error) {
      const { namespace: cluster = "", name } = work.metadata;
      log.debug("a sign of life could not be asked for", { cluster, work: name, reason: String(error) });
      return undefined;
    }
  }

  async #round(signal: AbortSignal): Promise<void> {
    const { readFrom, changed, works: cache } = this.#options;
    const works = readFrom();
    for (let at = 0; at < works.length && !signal.aborted; at += PARALLEL_QUESTIONS) {
      await Promise.all(works.slice(at, at + PARALLEL_QUESTIONS).map((work) => this.ask(work)));
    }
    for (const work of works) {
      const uid = work.metadata.uid ?? "";
      const pace = this.paceOf(work.metadata.namespace ?? "");
      if (pace !== (this.#wasPace.get(uid) ?? "prompt")) changed(work);
      this.#wasPace.set(uid, pace);
      const before = this.#wasFresh.get(uid);
      const now = this.isFresh(cache.get(work.metadata) ?? work);
      if (before !== undefined && before !== now) changed(work);
    }
  }
}

/** What the current report proves. */
function provenNow(work: KubeObject): number | undefined {
  const [sent, returned] = [sentMark(work), returnedMark(work)];
  if (!sent) return undefined;
  // An agent may read through its own watch, so only the mark inside the object shows that the watch is alive.
  // What is being removed is not written any more, so its mark stays as it is.
  const isMarked = isThere(manifestStatus(work)) === true && returned?.lineage === sent.lineage;
  if (isMarked && !wasRemoving(work)) return returned.sentAtMs;
  return isLookedAt(work) ? sent.sentAtMs : undefined;
}
