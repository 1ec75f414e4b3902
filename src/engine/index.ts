/**
 * The port to the hub's engine: which clusters there are, what the engine's scheduler decided, what each cluster has been
 * dispatched, and what each cluster's live object says. It hands out raw snapshots and knows no interpreter and no rule.
 * Imports runtime, contract, api and kube. An adapter lives in a folder of its own and passes the contract suite.
 */
export { DispatchConflictError, SupersededError } from "./errors.ts";
export { KarmadaEngine, type KarmadaEngineOptions } from "./karmada/engine.ts";
export type * from "./port.ts";
