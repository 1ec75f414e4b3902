import type { ParsedCrossClusterJob } from "../../../api/index.ts";
import type { EngineCluster, EngineSchedule } from "../../../engine/index.ts";
import type { JobIntent, Work } from "../../../jobs/index.ts";
import { isJsonObject, type JsonObject, valueAt } from "../../../runtime/index.ts";

const DEFAULT_GRACE_SECONDS = 30;
/** A later moment would be none that can be written. */
const MOST_GRACE_SECONDS = 2 ** 31;
const SECOND_MS = 1000;

export interface IntentSources {
  readonly clusters: readonly EngineCluster[];
  readonly schedule: EngineSchedule;
  /** Of the selected clusters, those that the namespace may not use. */
  readonly forbidden: (names: readonly string[]) => readonly string[];
}

/** What a CrossClusterJob asks for, in the planner's words. */
export function jobIntentOf(job: ParsedCrossClusterJob, sources: IntentSources): JobIntent {
  const { metadata, spec } = job;
  const { failover, template } = spec;
  const { onClusterLoss } = failover;
  const isBatch = template.apiVersion === "batch/v1" && template.kind === "Job";
  const jobSpec: JsonObject = isJsonObject(template.spec) ? template.spec : {};
  const grace = valueAt(jobSpec, "template", "spec", "terminationGracePeriodSeconds");
  return {
    isBatch,
    work: isBatch ? workOf(jobSpec, spec.division) : { kind: "whole" },
    slots: spec.division === "None" ? 1 : spec.clusterParallelism,
    parallelism: numberOr(jobSpec.parallelism, 1),
    clusters: allowed(selected(spec.clusters, sources), sources),
    guarantee: onClusterLoss.guarantee,
    lostAfterMs: onClusterLoss.afterSeconds * SECOND_MS,
    windowMs: onClusterLoss.windowSeconds * SECOND_MS,
    allowanceMs: onClusterLoss.clockAllowanceSeconds * SECOND_MS,
    graceMs: graceSeconds(grace) * SECOND_MS,
    podDeadlineMs: onClusterLoss.podDeadlineSeconds === undefined ? null : onClusterLoss.podDeadlineSeconds * SECOND_MS,
    onFailure: failover.onFailure,
    podFailures: failover.podFailures,
    pendingAfterMs: failover.pendingAfterSeconds * SECOND_MS,
    maxAttempts: failover.maxAttempts,
    suspend: spec.suspend,
    ...(spec.activeDeadlineSeconds !== undefined && { activeDeadlineMs: spec.activeDeadlineSeconds * SECOND_MS }),
    ...(spec.ttlSecondsAfterFinished !== undefined && { ttlMs: spec.ttlSecondsAfterFinished * SECOND_MS }),
    memberCleanup: spec.memberCleanup,
    retry: spec.retry ?? null,
    confirmedLost: Object.fromEntries(
      (onClusterLoss.confirmedLost ?? []).map(({ name, at }) => [name, Date.parse(at)]),
    ),
    isDeleted: metadata.deletionTimestamp !== undefined,
  };
}

/** [J2] Pods of a Job without indexes are interchangeable: another attempt needs only what is left of their number. */
function workOf({ completions, completionMode }: JsonObject, division: string): Work {
  if (typeof completions !== "number" || !Number.isSafeInteger(completions) || completions < 0)
    return { kind: "whole" };
  if (completionMode === "Indexed") {
    // Without a division its program reads JOB_COMPLETION_INDEX, and knows no other numbers.
    return division === "Indexes" ? { kind: "indexes", total: completions } : { kind: "whole", completions };
  }
  return { kind: "count", total: completions };
}

function selected(asked: ParsedCrossClusterJob["spec"]["clusters"], { clusters, schedule }: IntentSources): string[] {
  if (asked.names) return [...asked.names];
  if (asked.placementRef) {
    if (schedule.kind === "unknown") return [];
    // What runs in a cluster that is not selected any more runs on; nothing new starts there.
    return schedule.clusters.flatMap(({ cluster, kept }) => (kept ? [] : [cluster]));
  }
  const wanted = Object.entries(asked.selector?.matchLabels ?? {});
  const matches = ({ labels }: EngineCluster) => wanted.every(([key, value]) => labels[key] === value);
  return clusters
    .filter(matches)
    .map(({ name }) => name)
    .sort();
}

function allowed(names: readonly string[], { forbidden }: IntentSources): string[] {
  const refused = new Set(forbidden(names));
  return names.filter((name) => !refused.has(name));
}

/** Kubernetes gives a pod one second for a negative period. It must never count as time that has passed. */
function graceSeconds(value: unknown): number {
  if (typeof value !== "number" || !(value >= 0)) return DEFAULT_GRACE_SECONDS;
  return Math.min(value, MOST_GRACE_SECONDS);
}

function numberOr(value: unknown, otherwise: number): number {
  return typeof value === "number" ? value : otherwise;
}
