import type { ParsedCrossClusterJob } from "../../../api/index.ts";
import {
  type Dispatched,
  type Engine,
  type EngineBundle,
  type EngineCluster,
  isDrainTaint,
  type Snapshot,
} from "../../../engine/index.ts";
import type { Interpreter } from "../../../interpret/index.ts";
import type { AttemptSeen, JobCluster, JobObservations } from "../../../jobs/index.ts";
import type { KubeObject } from "../../../kube/index.ts";
import { type Json, valueAt } from "../../../runtime/index.ts";
import { attemptRef, readAttemptMark } from "../attempt-marks.ts";
import { type JobSession, ordersStop } from "../ledger.ts";

/** Taints that Karmada itself sets on a cluster that it cannot reach: whether work is lost there is Lockstep's decision. */
const ENGINE_TAINTS = "cluster.karmada.io/";

/** What the hub and the members showed at one moment, in the planner's words. */
export interface JobMoment {
  readonly nowMs: number;
  readonly clusters: readonly EngineCluster[];
  readonly dispatched: readonly Dispatched[];
  readonly seen: JobObservations;
  /** The newest attempt's object, for its status. */
  readonly newest: KubeObject | undefined;
}

export function takeJobMoment(
  parts: { readonly engine: Engine; readonly interpreter: Pick<Interpreter, "interpret"> },
  job: ParsedCrossClusterJob,
  bundle: EngineBundle,
  session: Pick<JobSession, "ledger" | "term" | "stamped">,
  candidates: readonly string[],
  nowMs: number,
): JobMoment {
  const { engine, interpreter } = parts;
  const { ledger } = session;
  const look = (cluster: string, number: number) => engine.snapshot(bundle, cluster, attemptRef(job, number));
  const uid = job.metadata.uid ?? "";
  const attempts: Record<number, AttemptSeen> = {};
  let newest: KubeObject | undefined;
  for (const { number, cluster, isCleaned } of ledger.attempts) {
    if (isCleaned) continue;
    const snapshot = look(cluster, number);
    attempts[number] = seenOf(interpreter, snapshot, uid, number);
    if (snapshot.kind === "present") newest = snapshot.object;
  }
  const next = Object.fromEntries(
    candidates.map((cluster) => {
      const snapshot = look(cluster, ledger.nextAttempt);
      return [cluster, seenOf(interpreter, snapshot, uid, ledger.nextAttempt)];
    }),
  );
  const clusters = engine.clusters();
  const dispatched = engine.dispatched(bundle);
  const numbersOf = (test: (found: Dispatched | undefined) => boolean) => {
    const found = ledger.attempts.filter(({ number, cluster }) => {
      const { name } = attemptRef(job, number);
      return test(dispatched.find((one) => one.cluster === cluster && one.ref.name === name));
    });
    return new Set(found.map(({ number }) => number));
  };
  const isOrdered = (found: Dispatched | undefined) => !found || (found.term === session.term && ordersStop(found));
  return {
    nowMs,
    clusters,
    dispatched,
    newest,
    seen: {
      clusters: Object.fromEntries(clusters.map((each) => [each.name, jobClusterOf(each)])),
      attempts,
      next,
      dispatched: numbersOf((found) => found !== undefined),
      orderedStop: session.stamped ? numbersOf(isOrdered) : new Set(),
    },
  };
}

export function jobClusterOf({ state, cordoned }: EngineCluster): JobCluster {
  const isOwn = cordoned?.startsWith(ENGINE_TAINTS) ?? false;
  const evicts = isDrainTaint(cordoned) || (!isOwn && (cordoned?.endsWith(":NoExecute") ?? false));
  return { state, ...(cordoned !== undefined && { repels: cordoned }), ...(evicts && { evicts }) };
}

function seenOf(
  interpreter: Pick<Interpreter, "interpret">,
  snapshot: Snapshot,
  ownerUid: string,
  number: number,
): AttemptSeen {
  if (snapshot.kind === "unreachable") {
    if (snapshot.isUnasked) return { kind: "absent" };
    return {
      kind: "unreachable",
      message: snapshot.message,
      ...(snapshot.sinceMs !== undefined && { sinceMs: snapshot.sinceMs }),
    };
  }
  if (snapshot.kind === "absent") return { kind: "absent" };
  const { object, source } = snapshot;
  if (source === "reflected") return { kind: "unreachable", message: "only the engine's copy of its status is known" };
  const share = readAttemptMark(object, ownerUid, number);
  if (!share && source === "values") {
    // An agent's report has no annotations of its own accord: it proves neither that it is the attempt nor that it is not.
    return { kind: "unreachable", message: "its agent's report does not say which attempt it is" };
  }
  if (!share) {
    return {
      kind: "foreign",
      message: `${object.kind} ${object.metadata.name} does not carry the mark of this attempt`,
    };
  }
  const outcome = interpreter.interpret("InterpretCompletion", { object });
  const completion = outcome.state === "known" ? outcome.value : undefined;
  const at = (...path: string[]) => numberOf(valueAt(object, ...path));
  const active = at("status", "active");
  const ready = at("status", "ready");
  const succeeded = at("status", "succeeded");
  const failed = at("status", "failed");
  const terminating = at("status", "terminating");
  const deadlineSeconds = at("spec", "activeDeadlineSeconds");
  const completedIndexes = valueAt(object, "status", "completedIndexes");
  return {
    kind: "present",
    uid: object.metadata.uid ?? "",
    isDeleting: object.metadata.deletionTimestamp !== undefined,
    share,
    state: completion?.state ?? "unknown",
    ...(completion?.reason !== undefined && { reason: completion.reason }),
    ...(completion?.message !== undefined && { message: completion.message }),
    ...(active !== undefined && { active }),
    ...(terminating !== undefined && { terminating }),
    ...(succeeded !== undefined && { succeeded }),
    ...(failed !== undefined && { failed }),
    ...(deadlineSeconds !== undefined && { deadlineSeconds }),
    ...(valueAt(object, "spec", "suspend") === true && { isSuspended: true }),
    ...(typeof completedIndexes === "string" && { completedIndexes }),
    isPending: (at("spec", "parallelism") ?? 0) > 0 && (ready ?? 0) === 0 && (succeeded ?? 0) === 0,
  };
}

function numberOf(value: Json | undefined): number | undefined {
  return typeof value === "number" ? value : undefined;
}
