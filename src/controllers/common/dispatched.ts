import type { Dispatched, EngineApp } from "../../engine/index.ts";
import type { DispatchSeen } from "../../plan/index.ts";

/** Whether it is the workload itself, not one of its dependencies. */
export function isWorkload({ ref }: Dispatched, { template }: EngineApp): boolean {
  return ref.kind === template.kind && ref.name === template.name && ref.namespace === template.namespace;
}

/** The dispatch objects on the hub for each cluster, as the planner's observations. */
export function dispatchSeen(dispatched: readonly Dispatched[], app: EngineApp): Record<string, DispatchSeen> {
  const seen = new Map<string, DispatchSeen>();
  for (const one of dispatched) {
    const before = seen.get(one.cluster) ?? { workload: "none", isLetGo: false };
    const workload =
      isWorkload(one, app) && before.workload !== "there" ? (one.deleting ? "going" : "there") : undefined;
    const isLetGo = before.isLetGo || (one.deleting && one.keeps);
    seen.set(one.cluster, { workload: workload ?? before.workload, isLetGo });
  }
  return Object.fromEntries(seen);
}
