import type { Dispatched, EngineApp } from "../../engine/index.ts";

/** The workload itself, and none of what it needs. */
export function isWorkload({ ref }: Dispatched, { template }: EngineApp): boolean {
  return ref.kind === template.kind && ref.name === template.name && ref.namespace === template.namespace;
}

/** Whether something delivers the workload to the cluster, be it that it is going away. */
export function isDispatched(dispatched: readonly Dispatched[], app: EngineApp, cluster: string): boolean {
  return dispatched.some((one) => one.cluster === cluster && isWorkload(one, app));
}
