import type { ParsedCrossClusterJob } from "../../../api/index.ts";
import {
  type Dispatched,
  type Engine,
  type EngineBundle,
  type EngineCluster,
  isDrainTaint,
  type MemberObject,
  type ObjectRef,
  type Snapshot,
} from "../../../engine/index.ts";
import type { Interpreter } from "../../../interpret/index.ts";
import type { Attempt, AttemptSeen, JobCluster, JobObservations } from "../../../jobs/index.ts";
import { type KubeObject, keyOf } from "../../../kube/index.ts";
import { isJsonObject, type Json, valueAt } from "../../../runtime/index.ts";
import { attemptRef, readAttemptMark } from "../attempt-marks.ts";
import { type JobSession, ordersStop } from "../ledger.ts";
import type { SecondLooks } from "./second-looks.ts";

/** No longer than what an interpreter may answer, and than what the status may say. */
const MOST_REASON_CHARS = 128;
const MOST_MESSAGE_CHARS = 1024;
const MOST_TIME_CHARS = 64;

/** What the hub and the members showed at one moment, in the planner's words. */
export interface JobMoment {
  readonly nowMs: number;
  readonly clusters: readonly EngineCluster[];
  readonly dispatched: readonly Dispatched[];
  readonly seen: JobObservations;
  /** The newest attempt's object, for its status. */
  readonly newest: KubeObject | undefined;
}

export interface JobMomentParts {
  readonly engine: Engine;
  readonly interpreter: Pick<Interpreter, "interpret">;
  readonly looks: Pick<SecondLooks, "look" | "ends">;
}

export function takeJobMoment(
  parts: JobMomentParts,
  job: ParsedCrossClusterJob,
  bundle: EngineBundle,
  session: Pick<JobSession, "ledger" | "term" | "stamped">,
  candidates: readonly string[],
  nowMs: number,
): JobMoment {
  const { engine, interpreter } = parts;
  const { ledger } = session;
  const look = (cluster: string, number: number) => engine.snapshot(bundle, cluster, attemptRef(job, number));
  const ownerUid = job.metadata.uid ?? "";
  const clusters = engine.clusters();
  const dispatched = engine.dispatched(bundle);
  const key = keyOf(job.metadata);
  const attempts: Record<number, AttemptSeen> = {};
  let newest: KubeObject | undefined;
  for (const attempt of ledger.attempts) {
    const { number, cluster, isCleaned, uid } = attempt;
    if (isCleaned) continue;
    const ref = attemptRef(job, number);
    const snapshot = look(cluster, number);
    const found = dispatched.find((one) => one.cluster === cluster && one.ref.name === ref.name);
    const seen = seenOf(interpreter, snapshot, { ownerUid, number, uid });
    const isAwaited = seen.kind === "absent" && !attempt.outcome && (uid !== null || found !== undefined);
    if (!isAwaited) parts.looks.ends(key, cluster, ref);
    attempts[number] = isAwaited ? lookedUp(parts, { key, ref, attempt, ownerUid, found }) : seen;
    if (snapshot.kind === "present") newest = snapshot.object;
  }
  const next = Object.fromEntries(
    candidates.map((cluster) => {
      const number = ledger.nextAttempt;
      return [cluster, seenOf(interpreter, look(cluster, number), { ownerUid, number, uid: null })];
    }),
  );
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

export function jobClusterOf({ state, cordoned, evicts: isEvicting }: EngineCluster): JobCluster {
  const evicts = isDrainTaint(cordoned) || isEvicting === true;
  return { state, ...(cordoned !== undefined && { repels: cordoned }), ...(evicts && { evicts }) };
}

interface Sought {
  readonly key: string;
  readonly ref: ObjectRef;
  readonly attempt: Attempt;
  readonly ownerUid: string;
  readonly found: Dispatched | undefined;
}

/** [J8] [J19] The watch does not show the attempt: what its cluster says when it is asked for the name. */
function lookedUp({ interpreter, looks }: JobMomentParts, { key, ref, attempt, ownerUid, found }: Sought): AttemptSeen {
  const { number, cluster, uid } = attempt;
  const hasFailed = found?.delivery.state === "failed";
  const answer: MemberObject | undefined = looks.look(key, cluster, ref, uid !== null || hasFailed);
  if (answer?.kind === "present") {
    return seenOf(interpreter, { ...answer, source: "live", atMs: 0 }, { ownerUid, number, uid });
  }
  return {
    kind: "absent",
    ...(uid !== null && answer?.kind !== "absent" && { isUnconfirmed: true }),
    ...(hasFailed && found.delivery.message !== "" && { refusal: plain(found.delivery.message, MOST_MESSAGE_CHARS) }),
  };
}

/** Whose attempt is looked for. */
interface Identity {
  readonly ownerUid: string;
  readonly number: number;
  /** Its object's, if that is known: then it is this object, whatever another writer has done to its mark. */
  readonly uid: string | null;
}

function seenOf(
  interpreter: Pick<Interpreter, "interpret">,
  snapshot: Snapshot,
  { ownerUid, number, uid }: Identity,
): AttemptSeen {
  if (snapshot.kind === "unreachable") {
    if (snapshot.isUnasked) return { kind: "absent" };
    if (snapshot.isForeign) return { kind: "foreign", message: snapshot.message };
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
  const isKnown = uid !== null && object.metadata.uid === uid;
  if (!share && source === "values") {
    // An agent's report has no annotations of its own accord: it proves neither that it is the attempt nor that it is not.
    return { kind: "unreachable", message: "its agent's report does not say which attempt it is" };
  }
  if (!share && !isKnown) return { kind: "foreign", message: foreignText(object) };
  const outcome = interpreter.interpret("InterpretCompletion", { object });
  const completion = outcome.state === "known" ? outcome.value : undefined;
  const at = (...path: string[]) => numberOf(valueAt(object, ...path));
  const active = at("status", "active");
  const ready = at("status", "ready");
  const succeeded = at("status", "succeeded");
  const failed = at("status", "failed");
  const terminating = at("status", "terminating");
  const deadlineSeconds = at("spec", "activeDeadlineSeconds");
  // A status that does not say how many pods are ready proves of those that there are nothing.
  const hasReady = (ready ?? active ?? 0) > 0;
  const completedIndexes = valueAt(object, "status", "completedIndexes");
  const startTime = valueAt(object, "status", "startTime");
  return {
    kind: "present",
    uid: object.metadata.uid ?? "",
    isDeleting: object.metadata.deletionTimestamp !== undefined,
    ...(share && { share }),
    state: completion?.state ?? "unknown",
    ...(outcome.state === "failed" && { unreadable: plain(outcome.reason, MOST_MESSAGE_CHARS) }),
    ...(completion?.reason !== undefined && { reason: plain(completion.reason, MOST_REASON_CHARS) }),
    ...(completion?.message !== undefined && { message: plain(completion.message, MOST_MESSAGE_CHARS) }),
    ...(active !== undefined && { active }),
    ...(terminating !== undefined && { terminating }),
    ...(succeeded !== undefined && { succeeded }),
    ...(failed !== undefined && { failed }),
    ...(deadlineSeconds !== undefined && { deadlineSeconds }),
    ...(isSuspended(object) && { isSuspended: true }),
    ...(typeof startTime === "string" && startTime !== "" && { startTime: plain(startTime, MOST_TIME_CHARS) }),
    ...(typeof completedIndexes === "string" && { completedIndexes }),
    isPending: (at("spec", "parallelism") ?? 0) > 0 && !hasReady && (succeeded ?? 0) === 0,
  };
}

/** By its spec, or because its Job controller has not yet resumed it. */
function isSuspended(object: KubeObject): boolean {
  const conditions = valueAt(object, "status", "conditions");
  const said = (Array.isArray(conditions) ? conditions.filter(isJsonObject) : []).find(
    ({ type }) => type === "Suspended",
  );
  return valueAt(object, "spec", "suspend") === true || said?.status === "True";
}

/** Names the object and its writer, as its API server recorded it. */
function foreignText({ kind, metadata }: KubeObject): string {
  const { namespace = "", name, creationTimestamp, managedFields } = metadata;
  const [first] = Array.isArray(managedFields) ? managedFields.filter(isJsonObject) : [];
  const writer = typeof first?.manager === "string" ? ` by ${first.manager}` : "";
  const since = typeof creationTimestamp === "string" ? `, created ${creationTimestamp}${writer},` : "";
  return `${kind} ${namespace}/${name}${since} does not carry the mark of this attempt`;
}

/** Counts and seconds. A member may write anything: a status with half a pod would be refused by the hub, always. */
function numberOf(value: Json | undefined): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

/** Members and programs may write anything: it must not control a terminal, nor make the status too long to be written. */
function plain(text: string, mostChars: number): string {
  return text
    .slice(0, mostChars)
    .replaceAll(/[\p{Cc}\p{Cf}]+/gu, " ")
    .trim();
}
