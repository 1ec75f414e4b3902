/**
 * The pure planner of CrossClusterJob: attempts, the choice of clusters, failover, the division of work, and the
 * guarantees. SPEC.md's chapter J has its rules. Imports src/runtime and src/rollout.
 */
export { STOP_DEADLINE_SECONDS } from "./grants.ts";
export { type IndexSet, indexesText, minus, parseIndexes, sizeOf, union } from "./index-set.ts";
export {
  emptyJobLedger,
  JOB_LEDGER_VERSION,
  JobLedgerUnreadable,
  packJobLedger,
  parseJobLedger,
  templateDigest,
} from "./ledger.ts";
export { planJob } from "./plan.ts";
export { JOB_REASONS, type JobReason, type JobWaiting } from "./reasons.ts";
export type * from "./types.ts";
export { doneIndexes, nextShare, sizeOfShare, succeededOf } from "./work.ts";
