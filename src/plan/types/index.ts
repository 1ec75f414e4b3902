/** The planner's types, by subject: what comes in, what is remembered, what comes out. */
export type {
  Approval,
  ClusterName,
  FleetFact,
  Promotion,
  RevisionHistory,
  RevisionId,
  TimeMs,
  Wave,
} from "../../rollout/index.ts";
export type * from "./grant.ts";
export type * from "./intent.ts";
export type * from "./ledger.ts";
export { LEDGER_VERSION } from "./ledger.ts";
export type * from "./observations.ts";
export type * from "./result.ts";
