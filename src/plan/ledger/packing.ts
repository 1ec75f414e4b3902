import { compressed, decompressed, isJsonObject, type JsonObject } from "../../runtime/index.ts";
import type { Ledger } from "../types/index.ts";
import { LedgerUnreadable } from "./decode.ts";

/**
 * [I19] A ledger with more text than this is stored packed. etcd takes 1.5 MiB, and an API server's account of who
 * wrote which field comes on top; below, people can read it as it is.
 */
const PACKED_FROM_BYTES = 256 * 1024;
/** A ledger of so few instances, views and ordinals is far below that, and need not be measured at every write. */
const SMALL_COUNT = 1_000;
/** Twenty times the largest ledger that the limits allow; more is no ledger. */
const UNPACKED_MAX_BYTES = 100 * 1024 * 1024;

/** The ledger as it is stored. */
export function packLedger(ledger: Ledger): JsonObject {
  const plain = ledger as unknown as JsonObject;
  if (isSmall(ledger)) return plain;
  const text = JSON.stringify(ledger);
  return Buffer.byteLength(text) < PACKED_FROM_BYTES ? plain : { packed: compressed(text).toString("base64") };
}

/** What was stored, whichever way. */
export function unpacked(state: unknown): unknown {
  if (!isJsonObject(state) || typeof state.packed !== "string") return state;
  try {
    return JSON.parse(decompressed(Buffer.from(state.packed, "base64"), UNPACKED_MAX_BYTES));
  } catch {
    throw new LedgerUnreadable("packed", "the packed text of a ledger");
  }
}

function isSmall({ clusters, topologies, retired, replacements }: Ledger): boolean {
  const entries = Object.values(clusters);
  const instances = entries.reduce((sum, entry) => sum + entry.instances.length, 0);
  const views = Object.keys(topologies).length + Object.keys(replacements).length;
  return instances + retired.length + entries.length * (1 + views) < SMALL_COUNT;
}
