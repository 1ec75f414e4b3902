/**
 * The pure planner of DistributedApplication: which cluster may go how far through which revision, with how many
 * replicas; the stages inside a cluster; and why everything else waits. Imports runtime and rollout.
 */
export { type Gate, objectGate } from "./evidence.ts";
export { APPLICATION_LEDGER_VERSION, emptyLedger, ledgerJson, parseLedgerJson } from "./ledger.ts";
export { plan } from "./plan.ts";
export { baseShares } from "./replicas.ts";
export {
  hookEpoch,
  hooksOver,
  isHookEvent,
  isRunning,
  kindOrder,
  type Placed,
  stagesOf,
  TIERS,
  tierOf,
  withoutHooks,
} from "./stages.ts";
export type * from "./types.ts";
