import type { Dispatched } from "../../engine/index.ts";
import type { PlanResult } from "../../plan/index.ts";

/**
 * What a cluster waits for while its grant has not arrived is known to the engine alone: that the member refused it, and
 * why. It proves nothing, so the planner never sees it; people should not have to look for it.
 */
export function withDeliveryFailures(plan: PlanResult, dispatched: readonly Dispatched[]): PlanResult {
  const failures = new Map(
    dispatched.filter(({ delivery }) => delivery.state === "failed").map((each) => [each.cluster, each]),
  );
  if (failures.size === 0) return plan;
  const waiting = plan.waiting.map((reason) => {
    const failed = reason.code === "WaitingForDelivery" && failures.get(reason.cluster ?? "");
    if (!failed) return reason;
    const { kind, namespace, name } = failed.ref;
    const value = failed.delivery.message;
    const evidence = [...reason.evidence, { object: `${kind} ${namespace}/${name}`, field: "delivery", value }];
    return {
      ...reason,
      message: `${reason.message}; the cluster refused ${kind} ${namespace}/${name}: ${value}`,
      evidence,
    };
  });
  return { ...plan, waiting };
}
