/**
 * What a kind tells metrics whose status has everything: how many objects there are, for which reasons they wait, how long
 * they have not come further, and how its queue does. CrossClusterStatefulset counts its steps, too (telemetry.ts).
 */
import { JOB_REASONS } from "../../jobs/index.ts";
import { type Cache, type KubeObject, measuredQueue, type WorkQueueHooks } from "../../kube/index.ts";
import { REASONS, type Reason } from "../../rollout/index.ts";
import { type Clock, isJsonObject, type Metrics } from "../../runtime/index.ts";
import { CONTROLLER_REASONS } from "./reasons.ts";

/** Reasons of other kinds are longer lists of the same sort; of what is none of them, it is not known who ends it. */
const ALL_REASONS: Readonly<Record<string, Reason>> = { ...REASONS, ...CONTROLLER_REASONS, ...JOB_REASONS };

/** Phases in which an object works towards something. */
const UNDER_WAY: ReadonlySet<unknown> = new Set(["Rolling", "Waiting", "Running", "Pending"]);

export interface KindMetricsOptions {
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly kind: string;
  readonly cache: Pick<Cache<KubeObject>, "list">;
  /** How many objects wait in the queue. */
  readonly depth: () => number;
}

export function queueHooks(metrics: Metrics, kind: string): WorkQueueHooks {
  return measuredQueue(metrics, kind.toLowerCase());
}

/** Serves the gauges until the returned function is called. */
export function serveKindMetrics({ metrics, clock, kind, cache, depth }: KindMetricsOptions): () => void {
  return metrics.gauges((set) => {
    set("workqueue_depth", { name: kind.toLowerCase() }, depth());
    const objects = cache.list();
    set("applications", { kind }, objects.length);
    const byReason = new Map<string, number>();
    for (const { metadata, status } of objects) {
      if (!isJsonObject(status)) continue;
      const { reason, phase, since } = status;
      if (typeof reason === "string" && reason !== "") byReason.set(reason, (byReason.get(reason) ?? 0) + 1);
      const sinceMs = typeof since === "string" ? Date.parse(since) : Number.NaN;
      if (Number.isNaN(sinceMs) || !UNDER_WAY.has(phase)) continue;
      const { namespace = "", name } = metadata;
      const seconds = Math.max(0, clock.now() - sinceMs) / 1000;
      set("application_without_progress_seconds", { kind, namespace, name }, seconds);
    }
    for (const [reason, count] of byReason) {
      set("application_waiting", { kind, reason, needs_person: `${ALL_REASONS[reason]?.needsPerson ?? false}` }, count);
    }
  });
}
