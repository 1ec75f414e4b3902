import type { Dispatched } from "../../../engine/index.ts";
import type { PlanResult } from "../../../plan/index.ts";
import type { ActFailure } from "../act/act.ts";

/**
 * What a cluster waits for while its grant has not arrived is known to the engine alone: that the member refused it,
 * and why. It proves nothing, so the planner never sees it; people should not have to look for it.
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

/** If a grant could not be dispatched, that is the only reason why it has not arrived. */
export function withDispatchFailures(plan: PlanResult, failures: readonly ActFailure[]): PlanResult {
  if (failures.length === 0) return plan;
  const waiting = plan.waiting.map((reason) => {
    const failed = failures.find(({ cluster }) => cluster === reason.cluster);
    if (!failed || reason.code !== "WaitingForDelivery") return reason;
    const evidence = [{ object: failed.cluster, field: "dispatch", value: failed.reason }];
    const remedy = "The dispatch is tried again by itself.";
    return { ...reason, message: `its grant is not dispatched yet: ${failed.message}`, remedy, evidence };
  });
  return { ...plan, waiting };
}

/** [I21] What a grant waits for before it is written at all, said where its arrival is waited for. */
export function withAwaited(
  plan: PlanResult,
  awaited: readonly { readonly cluster: string; readonly message: string }[],
): PlanResult {
  if (awaited.length === 0) return plan;
  const messages = new Map(awaited.map(({ cluster, message }) => [cluster, message]));
  const waiting = plan.waiting.map((reason) => {
    const message = reason.code === "WaitingForDelivery" ? messages.get(reason.cluster ?? "") : undefined;
    if (message === undefined) return reason;
    const evidence = [
      ...reason.evidence,
      { object: `cluster ${reason.cluster}`, field: "topology-ref", value: message },
    ];
    return {
      ...reason,
      message: `${reason.message}; what its topology-ref names has to be there first: ${message}`,
      evidence,
    };
  });
  return { ...plan, waiting };
}
