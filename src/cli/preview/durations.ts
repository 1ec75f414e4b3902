import type { KubeObject } from "../../kube/index.ts";
import type { Step } from "../../plan/index.ts";
import { isJsonObject } from "../../runtime/index.ts";

/** Steps that do the same work: going back replaces instances as an update does. */
type Work = "replace" | "add" | "remove";

/** The controller's Events by which a step begins. */
const BEGINS: Readonly<Record<string, Work>> = {
  Deploying: "add",
  ScalingOut: "add",
  ScalingIn: "remove",
  Updating: "replace",
  RollingBack: "replace",
};
/** Where members read turns, a step ends when its turn is taken away; elsewhere its own Event tells. */
const ENDS: ReadonlySet<string> = new Set(["TurnReturned", "StepFinished"]);
const WORK_OF: Readonly<Partial<Record<Step["kind"], Work>>> = {
  deploy: "add",
  grow: "add",
  shrink: "remove",
  update: "replace",
  rollback: "replace",
};

interface Moment {
  readonly cluster: string;
  readonly reason: string;
  readonly atMs: number;
}

/**
 * How long steps took, from the controller's Events (servers forget them after an hour or so). A step lasts from the
 * Event by which it began to the one by which it ended. Where a cluster has none of its own, the others' stand in.
 */
export function durationsFrom(
  events: readonly KubeObject[],
): (step: Pick<Step, "kind" | "cluster">) => number | undefined {
  const begun = new Map<string, { work: Work; atMs: number }>();
  const took = new Map<string, number[]>();
  for (const { cluster, reason, atMs } of events.flatMap(momentsOf).sort((a, b) => a.atMs - b.atMs)) {
    const work = BEGINS[reason];
    if (work !== undefined) begun.set(cluster, { work, atMs });
    const start = begun.get(cluster);
    if (!ENDS.has(reason) || !start) continue;
    begun.delete(cluster);
    for (const key of [`${start.work}/${cluster}`, start.work]) {
      took.set(key, [...(took.get(key) ?? []), atMs - start.atMs]);
    }
  }
  return ({ kind, cluster }) => {
    const work = WORK_OF[kind];
    return work && (median(took.get(`${work}/${cluster}`)) ?? median(took.get(work)));
  };
}

/** Equal Events are counted in one object, of which only the first and the last time are known. */
function momentsOf(event: KubeObject): Moment[] {
  const involved = isJsonObject(event.involvedObject) ? event.involvedObject : {};
  const { reason, message } = event;
  if (involved.kind !== "CrossClusterStatefulset" || typeof reason !== "string" || typeof message !== "string")
    return [];
  const cluster = /^([^:\s]+): /.exec(message)?.[1];
  if (cluster === undefined) return [];
  const times = [event.firstTimestamp, event.lastTimestamp, event.eventTime].map((time) => Date.parse(String(time)));
  return [...new Set(times.filter(Number.isFinite))].map((atMs) => ({ cluster, reason, atMs }));
}

function median(values: readonly number[] | undefined): number | undefined {
  if (!values || values.length === 0) return undefined;
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}
