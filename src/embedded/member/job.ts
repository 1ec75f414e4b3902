import type { KubeObject } from "../../apiserver/index.ts";
import type { WorkResult } from "../../kube/index.ts";
import { type JsonObject, sameJson, timestamp } from "../../runtime/index.ts";
import { RefusedError } from "../local-api.ts";
import { isDeleting, numberAt, objectsAt, splitKey, textAt, withCondition } from "../values.ts";
import {
  endOf,
  indexesText,
  indexOf,
  isEnding,
  isFinished,
  isIndexed,
  type JobDecision,
  type JobView,
  jobPod,
  startTimeMs,
  wantedOf,
} from "./job-pods.ts";
import { type MemberControllerOptions, OwnerQueue } from "./owner-queue.ts";
import { isOwnedBy } from "./pods.ts";

const JOBS = "batch/jobs";
const PODS = "/pods";
const DEFAULT_BACKOFF_LIMIT = 6;

/** Kubernetes' Job controller, in one member, with its TTL controller. */
export class JobController {
  readonly queue: OwnerQueue;
  readonly #options: MemberControllerOptions;
  #pods = 0;

  constructor(options: MemberControllerOptions) {
    this.#options = options;
    this.queue = new OwnerQueue(options, { resource: JOBS, kind: "Job", owned: PODS }, (key) => this.#sync(key));
  }

  async #sync(key: string): Promise<WorkResult | undefined> {
    const { api, clock, isUp } = this.#options;
    if (!isUp()) return undefined;
    const { namespace, name } = splitKey(key);
    const job = api.get(JOBS, namespace, name);
    if (!job || isDeleting(job) || isManagedByAnother(job)) return undefined;
    const nowMs = clock.now();
    const expired = await this.#expire(job, nowMs);
    if (expired) return expired;
    const uid = job.metadata.uid ?? "";
    const pods = api.list(PODS, namespace).filter((pod) => isOwnedBy(pod, uid));
    const { status, create, remove, nextMs } = decide({ job, pods, nowMs });
    for (const pod of remove) await api.delete(pod);
    for (const index of create) await api.create(jobPod(job, `${uid.slice(0, 5)}${++this.#pods}`, index));
    await this.#report(job, status);
    return nextMs === undefined ? undefined : { requeueAfterMs: Math.max(0, nextMs - nowMs) };
  }

  /** `ttlSecondsAfterFinished`. */
  async #expire(job: KubeObject, nowMs: number): Promise<WorkResult | undefined> {
    const ttl = numberAt(job, "spec", "ttlSecondsAfterFinished");
    if (ttl === undefined || !isFinished(job)) return undefined;
    const ended = objectsAt(job, "status", "conditions").find(({ type }) => type === "Complete" || type === "Failed");
    const dueMs = Date.parse(textAt(ended, "lastTransitionTime")) + ttl * 1000;
    if (nowMs < dueMs) return { requeueAfterMs: dueMs - nowMs };
    await this.#options.api.delete(job);
    return {};
  }

  async #report(job: KubeObject, status: JsonObject): Promise<void> {
    if (sameJson(job.status, status)) return;
    const { resourceVersion: _any, ...metadata } = job.metadata;
    try {
      await this.#options.api.updateStatus({ ...job, metadata, status });
    } catch (error) {
      // Deleted in the meantime: there is no object to report to.
      if (!(error instanceof RefusedError && error.status === 404)) throw error;
    }
  }
}

/** Terminal conditions are set only when no pod is left, as in Kubernetes since 1.31. */
export function decide({ job, pods, nowMs }: JobView): JobDecision {
  const before = objectsAt(job, "status", "conditions");
  const isSuspended = job.spec !== undefined && (job.spec as JsonObject).suspend === true;
  const startedMs = isSuspended ? undefined : (startTimeMs(job) ?? nowMs);
  const alive = pods.filter((pod) => endOf(pod) === undefined && !isDeleting(pod));
  const ending = pods.filter(isEnding);
  const succeeded = pods.filter((pod) => endOf(pod) === "Succeeded");
  const failed = pods.filter((pod) => endOf(pod) === "Failed");
  const done = new Set(succeeded.flatMap((pod) => indexOf(pod) ?? []));
  const count = isIndexed(job) ? done.size : succeeded.length;
  const counts = {
    ...(startedMs !== undefined && { startTime: textAt(job, "status", "startTime") || timestamp(startedMs) }),
    active: alive.length,
    ready: alive.filter((pod) => textAt(pod, "status", "phase") === "Running").length,
    terminating: ending.length,
    succeeded: count,
    failed: failed.length,
    ...(isIndexed(job) && { completedIndexes: indexesText([...done]) }),
  };
  const conclude = (
    conditions: JsonObject[],
    more: Partial<JobDecision> = {},
    extra: JsonObject = {},
  ): JobDecision => ({
    status: { ...counts, ...extra, ...(conditions.length > 0 && { conditions }) },
    create: [],
    remove: [],
    ...more,
  });
  if (isFinished(job)) return conclude(before, { remove: alive }, completionOf(job));

  const failure = failureOf(job, before, failed.length, startedMs, nowMs);
  if (failure) {
    const target = withCondition(before, { type: "FailureTarget", status: "True", ...failure }, nowMs);
    if (alive.length > 0 || ending.length > 0) return conclude(target, { remove: alive });
    return conclude(withCondition(target, { type: "Failed", status: "True", ...failure }, nowMs));
  }
  const wanted = wantedOf(job);
  const isComplete = wanted === undefined ? count > 0 && alive.length === 0 : count >= wanted;
  if (isComplete) {
    if (alive.length > 0 || ending.length > 0) return conclude(before, { remove: alive });
    const met = withCondition(
      before,
      { type: "SuccessCriteriaMet", status: "True", reason: "CompletionsReached" },
      nowMs,
    );
    const complete = { type: "Complete", status: "True", reason: "CompletionsReached" };
    return conclude(withCondition(met, complete, nowMs), {}, { completionTime: timestamp(nowMs) });
  }
  const parallelism = isSuspended ? 0 : (numberAt(job, "spec", "parallelism") ?? 1);
  const deadline = numberAt(job, "spec", "activeDeadlineSeconds");
  const nextMs = deadline === undefined || startedMs === undefined ? undefined : startedMs + deadline * 1000;
  const next = nextMs !== undefined && nextMs > nowMs ? { nextMs } : {};
  const left = wanted === undefined ? parallelism : wanted - count;
  const target = Math.min(parallelism, left);
  if (alive.length > target) return conclude(before, { remove: alive.slice(target), ...next });
  // podReplacementPolicy: Failed counts pods that are going away as well; the other policy does not.
  const taken = textAt(job, "spec", "podReplacementPolicy") === "Failed" ? alive.length + ending.length : alive.length;
  const create = Math.max(0, target - taken);
  if (!isIndexed(job)) return conclude(before, { create: Array.from({ length: create }), ...next });
  const held = new Set([...done, ...[...alive, ...ending].flatMap((pod) => indexOf(pod) ?? [])]);
  const free = Array.from({ length: wanted ?? 0 }, (_, index) => index).filter((index) => !held.has(index));
  return conclude(before, { create: free.slice(0, create), ...next });
}

/** `spec.managedBy` gives the Job to another controller. */
function isManagedByAnother(job: KubeObject): boolean {
  const manager = textAt(job, "spec", "managedBy");
  return manager !== "" && manager !== "kubernetes.io/job-controller";
}

function completionOf(job: KubeObject): JsonObject {
  const completionTime = textAt(job, "status", "completionTime");
  return completionTime === "" ? {} : { completionTime };
}

function failureOf(
  job: KubeObject,
  before: readonly JsonObject[],
  failed: number,
  startedMs: number | undefined,
  nowMs: number,
): { reason: string; message: string } | undefined {
  const known = before.find(({ type }) => type === "FailureTarget");
  if (known) return { reason: textAt(known, "reason"), message: textAt(known, "message") };
  const deadline = numberAt(job, "spec", "activeDeadlineSeconds");
  if (deadline !== undefined && startedMs !== undefined && nowMs >= startedMs + deadline * 1000) {
    return { reason: "DeadlineExceeded", message: "Job was active longer than specified deadline" };
  }
  if (failed > (numberAt(job, "spec", "backoffLimit") ?? DEFAULT_BACKOFF_LIMIT)) {
    return { reason: "BackoffLimitExceeded", message: "Job has reached the specified backoff limit" };
  }
  return undefined;
}
