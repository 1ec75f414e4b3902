import type { Evidence } from "../../rollout/index.ts";
import type { Intent } from "../types/index.ts";
import type { Tally } from "./quorum.ts";

const PERCENT = 100;

/** [Q10] Instances over all clusters. A percentage rounds up, and the result is never 0, as for a StatefulSet. */
export function maxUnavailableOf(intent: Intent, desiredTotal: number): number {
  if (intent.update.type === "OnDelete") return 1;
  const given = intent.update.maxUnavailable;
  const value = typeof given === "number" ? given : Math.ceil((Number.parseFloat(given) * desiredTotal) / PERCENT);
  return Number.isFinite(value) ? Math.max(1, value) : 1;
}

/**
 * [Q11] Whether a step of this cost may start. If a cluster already holds a turn and has an instance down for it, that
 * instance is already counted: continuing in the same turn does not cost it again.
 */
export function fitsBudget(tally: Tally, cluster: string, cost: number, spentHere: number): boolean {
  if (cost === 0) return true;
  const more = Math.max(0, cost - spentHere);
  return tally.unavailable + tally.pendingElsewhere(cluster) + more <= tally.maxUnavailable;
}

export function budgetEvidence(tally: Tally): Evidence[] {
  const object = "all clusters";
  return [
    { object, field: "maxUnavailable", value: `${tally.maxUnavailable}` },
    { object, field: "unavailable", value: `${tally.unavailable}` },
    { object, field: "may still go down", value: `${tally.pending}` },
  ];
}
