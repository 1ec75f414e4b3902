/** What the controller would do to a CrossClusterJob next, and after each failure, by its own planner. Pure. */
import {
  type Attempt,
  type AttemptSeen,
  type JobCluster,
  type JobIntent,
  type JobLedger,
  type JobObservations,
  type JobWaiting,
  planJob,
  STOP_DEADLINE_SECONDS,
} from "../../jobs/index.ts";

export interface AttemptAhead {
  readonly number: number;
  readonly cluster: string;
  /** Such as: indexes 0-3,7. */
  readonly work: string;
}

export interface JobForecast {
  /** What may run now. */
  readonly running: readonly AttemptAhead[];
  readonly starts: readonly AttemptAhead[];
  /** For each of both: where its work continues if it fails; no attempt: the work has failed, or waits. */
  readonly afterFailure: readonly {
    readonly failed: number;
    readonly next?: AttemptAhead;
    readonly otherwise?: string;
  }[];
  readonly waiting: readonly JobWaiting[];
}

type Clusters = Readonly<Record<string, JobCluster>>;

/** A plan starts what fits; more rounds than attempts can be alive are not needed. */
const MAX_ROUNDS = 64;

export function forecastJob(intent: JobIntent, ledger: JobLedger, clusters: Clusters, nowMs: number): JobForecast {
  const running = ledger.attempts.filter(({ outcome }) => outcome === null);
  const settled = rounds(intent, ledger, clusters, nowMs, new Set());
  const starts = settled.ledger.attempts.filter(({ number }) => number >= ledger.nextAttempt);
  const alive = settled.ledger.attempts.filter(({ outcome }) => outcome === null);
  return {
    running: running.map(ahead),
    starts: starts.map(ahead),
    afterFailure: alive.map(({ number }) => {
      // Where it continues, not when.
      const soon = { ...intent, graceMs: 0, allowanceMs: 0, podDeadlineMs: null };
      const after = rounds(soon, settled.ledger, clusters, nowMs, new Set([number]));
      const next = after.ledger.attempts.find((each) => each.number >= settled.ledger.nextAttempt);
      if (next) return { failed: number, next: ahead(next) };
      const { end } = after.ledger;
      const wait = after.waiting[0];
      return { failed: number, otherwise: end ? `the work has failed: ${end.message}` : (wait?.message ?? "it waits") };
    }),
    waiting: settled.waiting,
  };
}

/** Plans until nothing more happens; every cluster that is Ready carries out at once what it gets. */
function rounds(intent: JobIntent, from: JobLedger, clusters: Clusters, nowMs: number, failed: ReadonlySet<number>) {
  let ledger = from;
  let waiting: readonly JobWaiting[] = [];
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const plan = planJob(intent, ledger, seenBy(ledger, clusters, intent, failed), nowMs);
    const isSame = JSON.stringify(plan.ledger) === JSON.stringify(ledger);
    ledger = plan.ledger;
    waiting = plan.waiting;
    if (isSame) break;
  }
  return { ledger, waiting };
}

function seenBy(
  { attempts }: JobLedger,
  clusters: Clusters,
  { clusters: candidates }: JobIntent,
  failed: ReadonlySet<number>,
): JobObservations {
  const isReady = (cluster: string) => clusters[cluster]?.state === "Ready";
  const away: AttemptSeen = { kind: "unreachable", message: "its cluster is not Ready" };
  const open = attempts.filter(({ isCleaned }) => !isCleaned);
  return {
    clusters,
    attempts: Object.fromEntries(
      open.map((attempt) => [attempt.number, isReady(attempt.cluster) ? shown(attempt, failed) : away]),
    ),
    next: Object.fromEntries(candidates.map((cluster) => [cluster, isReady(cluster) ? { kind: "absent" } : away])),
    dispatched: new Set(open.filter(({ outcome }) => outcome === null).map(({ number }) => number)),
    orderedStop: new Set(open.map(({ number }) => number)),
  };
}

function shown({ number, uid, grant, outcome, stop }: Attempt, failed: ReadonlySet<number>): AttemptSeen {
  if (outcome) return { kind: "absent" };
  const isOver = failed.has(number) || stop !== null;
  return {
    kind: "present",
    uid: uid ?? `attempt-${number}`,
    isDeleting: false,
    state: isOver ? "failed" : "running",
    ...(failed.has(number) && { reason: "Failed", message: "it failed" }),
    deadlineSeconds: isOver ? STOP_DEADLINE_SECONDS : (grant.deadlineSeconds ?? 0),
    active: isOver ? 0 : grant.parallelism,
    terminating: 0,
    startTime: "at once",
    isPending: false,
  };
}

function ahead({ number, cluster, share }: Attempt): AttemptAhead {
  const work =
    share.kind === "indexes"
      ? `indexes ${share.indexes}`
      : share.kind === "count"
        ? `${share.count} completions`
        : "all of it";
  return { number, cluster, work };
}
