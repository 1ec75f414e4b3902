/**
 * The planner: every decision about who may act, when, and on what, as one pure function. No I/O, no clock, no
 * randomness; inputs are never changed. SPEC.md numbers the rules; `transcripts/` shows them. Imports runtime, contract, api.
 */
export type { Evidence, ReasonCode, Waiting } from "./reasons.ts";
export { REASONS } from "./reasons.ts";
export type * from "./types.ts";
export { LEDGER_VERSION } from "./types.ts";
