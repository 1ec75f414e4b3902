/** The taint of a cluster that a user drains for maintenance (`lockstep drain`); each engine has its own effect (engines.ts). */
export const DRAIN_TAINT = "lockstep.karmada.io/drain";

/** Whether `EngineCluster.cordoned` is a drain. Every engine gives `KEY:EFFECT`, and puts this key before any other. */
export function isDrainTaint(cordoned: string | undefined): boolean {
  return cordoned?.startsWith(`${DRAIN_TAINT}:`) ?? false;
}
