/**
 * The planner: every decision about who may act, when, and on what, as one pure function. No I/O, no clock, no
 * randomness; inputs are never changed. SPEC.md numbers the rules; `transcripts/` shows them. Imports runtime,
 * contract, api.
 */

export { REASSERT_INTERVAL_MS } from "./evidence/settle.ts";
export { MCS_ADDRESS_TEMPLATE } from "./identity/address.ts";
export { instanceKey, localName } from "./identity/identity.ts";
export { initialCluster, TopologyVersionUnknown, topologyView } from "./identity/topology.ts";
export { LedgerUnreadable } from "./ledger/decode.ts";
export { emptyLedger, grantNote, parseFoundGrant, parseLedger, rebuildLedger } from "./ledger/ledger.ts";
export { packLedger } from "./ledger/packing.ts";
export type { Problem } from "./limits/preflight.ts";
export { preflight } from "./limits/preflight.ts";
export { majorityOf } from "./limits/quorum.ts";
export { MAX_INSTANCES } from "./limits/size.ts";
export { plan } from "./plan.ts";
export type * from "./types/index.ts";
export { LEDGER_VERSION } from "./types/index.ts";
export { SUPERSEDED_PATIENCE_MS } from "./update/failure.ts";
