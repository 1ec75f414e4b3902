import { isJsonObject, type Json, type JsonObject } from "../runtime/index.ts";
import type { Ledger } from "./types.ts";

/** The format of a stored ledger. */
export const APPLICATION_LEDGER_VERSION = 1;

export function emptyLedger(): Ledger {
  return {
    epoch: 0,
    currentRevision: null,
    rollout: null,
    override: null,
    undoHeard: null,
    resumeHeard: null,
    history: { reached: [], completed: [] },
    clusters: {},
    divisions: {},
  };
}

/** A ledger as it is stored. */
export function ledgerJson(ledger: Ledger): JsonObject {
  return JSON.parse(JSON.stringify(ledger)) as JsonObject;
}

/** Undefined: this is no ledger of this version. Only the controller writes ledgers, so the shape is checked, not every field. */
export function parseLedgerJson(value: Json | undefined): Ledger | undefined {
  if (!isJsonObject(value)) return undefined;
  const { epoch, clusters, history } = value;
  const isWhole =
    typeof epoch === "number" &&
    Number.isSafeInteger(epoch) &&
    isJsonObject(clusters) &&
    Object.values(clusters).every((entry) => isJsonObject(entry) && isGrant(entry.grant)) &&
    isJsonObject(history) &&
    Array.isArray(history.reached) &&
    Array.isArray(history.completed);
  return isWhole ? ({ ...emptyLedger(), ...value } as unknown as Ledger) : undefined;
}

function isGrant(value: Json | undefined): boolean {
  if (value === null) return true;
  if (!isJsonObject(value)) return false;
  const { revision, epoch, step, stage, mode, replicas } = value;
  return (
    typeof revision === "string" &&
    typeof mode === "string" &&
    [epoch, step, stage].every((each) => typeof each === "number" && Number.isSafeInteger(each)) &&
    isJsonObject(replicas)
  );
}
