import type { ClusterName, TimeMs } from "../rollout/index.ts";
import type { JobReason, JobWaiting } from "./reasons.ts";
import type {
  Attempt,
  AttemptSeen,
  JobAction,
  JobCluster,
  JobEnd,
  JobIntent,
  JobLedger,
  JobObservations,
  OutcomeKind,
  StopReason,
} from "./types.ts";

/** A plan in the making. The ledger's attempts are replaced, never changed. */
export class Draft {
  readonly intent: JobIntent;
  readonly seen: JobObservations;
  readonly nowMs: TimeMs;
  readonly actions: JobAction[] = [];
  readonly waiting: JobWaiting[] = [];
  #ledger: JobLedger;
  #requeueAtMs: TimeMs | undefined;

  constructor(intent: JobIntent, ledger: JobLedger, seen: JobObservations, nowMs: TimeMs) {
    this.intent = intent;
    this.seen = seen;
    this.nowMs = nowMs;
    this.#ledger = ledger;
  }

  get ledger(): JobLedger {
    return this.#ledger;
  }

  get requeueAtMs(): TimeMs | undefined {
    return this.#requeueAtMs;
  }

  get attempts(): readonly Attempt[] {
    return this.#ledger.attempts;
  }

  /** Attempts of which it is not known that they are over. */
  get alive(): readonly Attempt[] {
    return this.attempts.filter(({ outcome }) => outcome === null);
  }

  seenOf({ number, cluster }: Attempt): AttemptSeen {
    const seen = this.seen.attempts[number];
    return seen ?? { kind: "unreachable", message: `cluster ${cluster} was not looked at` };
  }

  cluster(name: ClusterName): JobCluster {
    return this.seen.clusters[name] ?? { state: "Gone" };
  }

  change(change: Partial<JobLedger>): void {
    this.#ledger = { ...this.#ledger, ...change };
  }

  update(attempt: Attempt, change: Partial<Attempt>): Attempt {
    const changed = { ...attempt, ...change };
    this.change({ attempts: this.attempts.map((each) => (each.number === attempt.number ? changed : each)) });
    return changed;
  }

  /** [J4] Recorded before anything that rests on it is done. */
  over(attempt: Attempt, kind: OutcomeKind, reason: string, message: string): Attempt {
    return this.update(attempt, { outcome: { kind, reason, message, atMs: this.nowMs } });
  }

  stop(attempt: Attempt, reason: StopReason, message: string): Attempt {
    return attempt.stop ? attempt : this.update(attempt, { stop: { reason, message } });
  }

  end(kind: JobEnd["kind"], reason: string, message: string): void {
    this.change({ end: { kind, reason, message, atMs: this.nowMs } });
  }

  wait(code: JobReason, cluster: ClusterName | undefined, message: string, remedy: string): void {
    this.waiting.push({ code, ...(cluster !== undefined && { cluster }), message, remedy });
  }

  wakeAt(atMs: TimeMs): void {
    if (atMs <= this.nowMs) return;
    this.#requeueAtMs = Math.min(this.#requeueAtMs ?? Number.POSITIVE_INFINITY, atMs);
  }

  /** Another plan has to follow at once. */
  again(): void {
    this.#requeueAtMs = this.nowMs;
  }
}
