/** The state of a rollout, in one clause, for commands that refuse a request. Pure. */
import type { CrossClusterStatefulsetStatus } from "../../api/index.ts";

export function goingOn(status: CrossClusterStatefulsetStatus | undefined): string {
  const { rollout, step } = status ?? {};
  if (!rollout) return "no rollout is in progress";
  const verb = rollout.type === "RollBack" ? "it rolls back to" : "it rolls out";
  const wave = rollout.wave === undefined ? "" : `, wave ${rollout.wave} is in progress`;
  const at = step?.cluster === undefined ? "" : `, ${step.cluster} is ${(step.type ?? "at work").toLowerCase()}`;
  const why = at === "" && status?.reason !== undefined ? `, and waits: ${status.reason}` : "";
  return `${verb} ${rollout.to}${wave}${at}${why}`;
}
