/**
 * The planner: every decision about who may act, when, and on what, as one pure function. No I/O, no clock, no
 * randomness; inputs are never changed. SPEC.md numbers the rules; `transcripts/` shows them. Imports runtime, contract, api.
 */
export { MCS_ADDRESS_TEMPLATE } from "./address.ts";
export { LedgerUnreadable } from "./decode.ts";
export { SUPERSEDED_PATIENCE_MS } from "./failure.ts";
export { instanceKey, localName } from "./identity.ts";
export { emptyLedger, foundGrantOf, parseFoundGrant, parseLedger, rebuildLedger } from "./ledger.ts";
export { plan } from "./plan.ts";
export type { Problem } from "./preflight.ts";
export { preflight } from "./preflight.ts";
export { majorityOf } from "./quorum.ts";
export type { Evidence, ReasonCode, Waiting } from "./reasons.ts";
export { REASONS } from "./reasons.ts";
export { REASSERT_INTERVAL_MS } from "./settle.ts";
export { initialCluster, TopologyVersionUnknown, topologyView } from "./topology.ts";
export type * from "./types.ts";
export { LEDGER_VERSION } from "./types.ts";
