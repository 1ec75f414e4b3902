import { isJsonObject, type Json, type JsonObject } from "../../../runtime/index.ts";

/** What the ledger keeps of one revision: enough to find its content, and to notice that it is not what was stored. */
export interface RevisionEntry {
  readonly id: string;
  /** Rises with every revision of one application. */
  readonly number: number;
  /** Of everything that was stored, byte by byte. Content with another digest is never used. */
  readonly digest: string;
  /** Of what members could tell apart: two contents with the same one are the same revision. */
  readonly meaning: string;
  /** How many Secrets hold the content. */
  readonly parts: number;
  readonly createdAt: string;
  readonly accepted: boolean;
}

/** Undefined: this is not a list of revisions, and nothing may be rendered from it. */
export function parseRevisionIndex(value: Json | undefined): RevisionEntry[] | undefined {
  if (value === undefined) return [];
  if (!Array.isArray(value)) return undefined;
  const entries = value.map(parseEntry);
  return entries.every((entry) => entry !== undefined) ? entries : undefined;
}

const DIGEST = /^[0-9a-f]{64}$/;
/** Far above what a revision may take; a larger number can only come from a broken ledger. */
const PARTS_MAX = 64;

function parseEntry(value: Json): RevisionEntry | undefined {
  if (!isJsonObject(value)) return undefined;
  const { id, number, digest, meaning, parts, createdAt, accepted } = value;
  if (typeof id !== "string" || typeof createdAt !== "string" || typeof accepted !== "boolean") return undefined;
  if (typeof digest !== "string" || !DIGEST.test(digest)) return undefined;
  if (typeof meaning !== "string" || !DIGEST.test(meaning)) return undefined;
  if (typeof number !== "number" || !Number.isSafeInteger(number) || number < 1) return undefined;
  if (typeof parts !== "number" || !Number.isSafeInteger(parts) || parts < 1 || parts > PARTS_MAX) return undefined;
  return { id, number, digest, meaning, parts, createdAt, accepted };
}

export function revisionIndexJson(entries: readonly RevisionEntry[]): JsonObject[] {
  return entries.map((entry) => ({ ...entry }));
}
