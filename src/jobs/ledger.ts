import { createHash } from "node:crypto";
import { canonicalText, isJsonObject, type Json, type JsonObject } from "../runtime/index.ts";
import type { JobLedger } from "./types.ts";

export const JOB_LEDGER_VERSION = 1;

/** Thrown when a stored ledger is not one that this version has written. */
export class JobLedgerUnreadable extends Error {
  override readonly name = "JobLedgerUnreadable";
}

export function emptyJobLedger(template: string): JobLedger {
  return {
    template,
    nextAttempt: 1,
    attempts: [],
    startedAtMs: null,
    end: null,
    retryHeard: null,
    failuresFrom: 1,
  };
}

export function templateDigest(template: JsonObject): string {
  return createHash("sha256").update(canonicalText(template)).digest("hex").slice(0, 32);
}

/** Every field of an attempt and what it must be: `?` also allows null. */
const ATTEMPT_FIELDS = {
  number: "number",
  cluster: "string",
  share: "object",
  startedAtMs: "number",
  isSwitched: "boolean",
  uid: "string?",
  readAtMs: "number?",
  grant: "object",
  latestDeadlineSeconds: "number",
  unheardSinceMs: "number?",
  pendingSinceMs: "number?",
  goneSinceMs: "number?",
  endSeenAtMs: "number?",
  stop: "object?",
  done: "object",
  outcome: "object?",
  isCleaned: "boolean",
  mayRunTwice: "boolean",
} as const;

const LEDGER_FIELDS = {
  template: "string",
  nextAttempt: "number",
  startedAtMs: "number?",
  end: "object?",
  retryHeard: "string?",
  failuresFrom: "number",
} as const;

/** Only the controller's account can write ledgers, so this guards against other versions, not against attacks. */
export function parseJobLedger(state: Json | undefined): JobLedger {
  if (!isJsonObject(state)) throw new JobLedgerUnreadable("spec.state is not an object");
  check(state, LEDGER_FIELDS, "spec.state");
  if (!Array.isArray(state.attempts)) throw new JobLedgerUnreadable("spec.state.attempts is not a list");
  state.attempts.forEach((attempt, at) => {
    if (!isJsonObject(attempt)) throw new JobLedgerUnreadable(`spec.state.attempts[${at}] is not an object`);
    check(attempt, ATTEMPT_FIELDS, `spec.state.attempts[${at}]`);
  });
  return state as unknown as JobLedger;
}

export function packJobLedger(ledger: JobLedger): JsonObject {
  return JSON.parse(JSON.stringify(ledger)) as JsonObject;
}

function check(object: JsonObject, fields: Readonly<Record<string, string>>, where: string): void {
  for (const [field, kind] of Object.entries(fields)) {
    const value = object[field];
    const isNull = value === null && kind.endsWith("?");
    if (!isNull && typeof value !== kind.replace("?", "")) {
      throw new JobLedgerUnreadable(
        `${where}.${field} is missing or of another type; restore the ledger from a backup`,
      );
    }
  }
}
