/**
 * `Working`: this epoch is not complete yet. `Done`: everything that this epoch asks for is in place. `Failed`: it
 * cannot be done.
 */
export type ReportPhase = "Working" | "Done" | "Failed";

/**
 * What an operator on the contract writes, in one status write, as `status.crossCluster`. Every number refers to the
 * epoch and revision in the report, which the operator read at the start of the reconcile.
 */
export interface MemberReport {
  readonly epoch: number;
  readonly revision: string;
  readonly phase: ReportPhase;
  /** Instances this cluster should run. */
  readonly desired: number;
  /** Instances that run `revision`. */
  readonly updated: number;
  readonly ready: number;
  /** The leading instance's name if it is in this cluster; "" if it is known to be elsewhere; absent if unknown. */
  readonly leader?: string;
  /**
   * The application's own list of members, by instance name, as its leader confirmed it at `membersAt` (RFC 3339). Only
   * such a list from after the loss proves to Lockstep that lost instances were removed from the application.
   */
  readonly members?: string[];
  readonly membersAt?: string;
  readonly message?: string;
}

/** The maximum number of instances of an application; a longer list is not read. */
const MAX_MEMBERS = 10_000;

const PHASES: readonly string[] = ["Working", "Done", "Failed"] satisfies ReportPhase[];

/** Reads `status.crossCluster` if it follows the contract; otherwise undefined, which never counts as done. */
export function parseMemberReport(value: unknown): MemberReport | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { epoch, revision, phase, desired, updated, ready, leader, message, members, membersAt } = value as Record<
    string,
    unknown
  >;
  if (!isCount(epoch) || !isCount(desired) || !isCount(updated) || !isCount(ready)) return undefined;
  if (typeof revision !== "string" || typeof phase !== "string" || !PHASES.includes(phase)) return undefined;
  if (leader !== undefined && typeof leader !== "string") return undefined;
  if (message !== undefined && typeof message !== "string") return undefined;
  const list = isMemberList(members) && isTime(membersAt) ? { members, membersAt } : {};
  return { epoch, revision, phase: phase as ReportPhase, desired, updated, ready, leader, message, ...list };
}

/** An invalid list counts as absent; the rest of the report is still used. */
function isMemberList(value: unknown): value is string[] {
  return Array.isArray(value) && value.length <= MAX_MEMBERS && value.every((name) => typeof name === "string");
}

function isTime(value: unknown): value is string {
  return typeof value === "string" && !Number.isNaN(Date.parse(value));
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}
