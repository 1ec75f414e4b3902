import type { KubeObject } from "../kube/index.ts";
import type { Step, StepKind } from "../plan/index.ts";
import { isJsonObject } from "../runtime/index.ts";

/** The controller's Events by which a step begins. */
const BEGINS: Readonly<Record<string, StepKind>> = {
  Deploying: "deploy",
  ScalingOut: "grow",
  ScalingIn: "shrink",
  Updating: "update",
  RollingBack: "rollback",
};
const ENDS = "TurnReturned";

/**
 * How long steps took, from the controller's Events of the last hour or so (servers forget them then). A step lasts from
 * its first Event to the return of its cluster's turn. The same kind elsewhere stands in for a cluster without its own.
 */
export function durationsFrom(
  events: readonly KubeObject[],
): (step: Pick<Step, "kind" | "cluster">) => number | undefined {
  const read = events.flatMap(readEvent).sort((a, b) => a.atMs - b.atMs);
  const begun = new Map<string, { kind: StepKind; atMs: number }>();
  const took = new Map<string, number[]>();
  for (const { cluster, reason, atMs } of read) {
    const kind = BEGINS[reason];
    if (kind !== undefined && !begun.has(cluster)) begun.set(cluster, { kind, atMs });
    if (reason !== ENDS) continue;
    const start = begun.get(cluster);
    begun.delete(cluster);
    if (!start) continue;
    for (const key of [`${start.kind}/${cluster}`, start.kind])
      took.set(key, [...(took.get(key) ?? []), atMs - start.atMs]);
  }
  return ({ kind, cluster }) => median(took.get(`${kind}/${cluster}`)) ?? median(took.get(kind));
}

function readEvent(event: KubeObject): { cluster: string; reason: string; atMs: number }[] {
  const involved = isJsonObject(event.involvedObject) ? event.involvedObject : {};
  const { reason, message } = event;
  const atMs = Date.parse(String(event.lastTimestamp ?? event.firstTimestamp ?? event.eventTime ?? ""));
  if (involved.kind !== "CrossClusterStatefulset" || typeof reason !== "string" || typeof message !== "string")
    return [];
  const cluster = /^([^:\s]+): /.exec(message)?.[1];
  return cluster === undefined || !Number.isFinite(atMs) ? [] : [{ cluster, reason, atMs }];
}

function median(values: readonly number[] | undefined): number | undefined {
  if (!values || values.length === 0) return undefined;
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}
