/** How long after a change in a cluster its agent reports it, measured with the cluster's own clock. */
import type { KubeObject } from "../../kube/index.ts";
import { memberTimes, readValues } from "./feedback.ts";
import { isThere, manifestStatus } from "./reports.ts";
import { returnedMark, sentMark } from "./works.ts";

/** An agent that watches reports within a tenth of a second. The cluster's clock shows whole seconds. */
export const LATE_MS = 4_000;

/** What is reported later than that was not polled: the agent or the hub was away. */
const AWAY_MS = 120_000;

/**
 * After a write of ours the agent looks at the object at once, also if it polls otherwise. What it reports in time then
 * proves nothing; nor does it if the write took longer to be applied.
 */
const PROMPTED_MS = 2_000;

/** So many of the last reports decide. */
export const REPORTS = 6;
/** An agent that polls reports about half of them late. */
export const LATE_REPORTS = 3;

interface Reported {
  /** Of the write that the agent had applied last, and when that was reported. */
  readonly sentAtMs: number;
  readonly answeredMs: number;
  readonly changedMs: number;
}

/**
 * An agent that polls says so nowhere. It answers questions as fast as another, because it looks at what it has just
 * applied; only its reports of changes that the cluster itself has made come late.
 */
export class Lateness {
  /** By ManifestWork: what was reported last. */
  readonly #last = new Map<string, Reported>();
  /** By cluster: which of the last reports were late. */
  readonly #reports = new Map<string, readonly boolean[]>();
  readonly #late = new Set<string>();

  /** A report has arrived. */
  reported(work: KubeObject, nowMs: number): void {
    const { uid = "", namespace: cluster = "" } = work.metadata;
    const report = manifestStatus(work);
    const times = isThere(report) === true ? memberTimes(readValues(report)) : undefined;
    const [sent, applied] = [sentMark(work), returnedMark(work)];
    if (!times || !sent || applied?.lineage !== sent.lineage) return;
    const before = this.#last.get(uid);
    const isAnswered = before?.sentAtMs === applied.sentAtMs;
    const answeredMs = isAnswered ? before.answeredMs : nowMs;
    this.#last.set(uid, { sentAtMs: applied.sentAtMs, answeredMs, changedMs: times.changedMs });
    if (before === undefined || before.changedMs === times.changedMs) return;
    // The agent applied that write before it reported so: this late at least.
    const lateMs = nowMs - (answeredMs + times.changedMs - times.appliedMs);
    if (lateMs > AWAY_MS) return;
    const isLate = lateMs > LATE_MS;
    const isPrompted = nowMs - sent.sentAtMs < PROMPTED_MS || answeredMs - applied.sentAtMs > PROMPTED_MS;
    if (isLate || !isPrompted) this.#note(cluster, isLate);
  }

  #note(cluster: string, isLate: boolean): void {
    const last = [...(this.#reports.get(cluster) ?? []), isLate].slice(-REPORTS);
    this.#reports.set(cluster, last);
    if (last.filter(Boolean).length >= LATE_REPORTS) this.#late.add(cluster);
    else if (last.length === REPORTS && !last.includes(true)) this.#late.delete(cluster);
  }

  isLate(cluster: string): boolean {
    return this.#late.has(cluster);
  }

  forget(uid: string): void {
    this.#last.delete(uid);
  }
}
