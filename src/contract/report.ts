/** `Working`: not done with this epoch yet. `Done`: everything this epoch asks for is in place. `Failed`: it cannot be. */
export type ReportPhase = "Working" | "Done" | "Failed";

/**
 * What an operator on the contract writes, in one status write, as `status.crossCluster`. Every figure is about the
 * epoch and revision it names, read at the start of the reconcile that wrote it.
 */
export interface MemberReport {
  epoch: number;
  revision: string;
  phase: ReportPhase;
  /** Instances this cluster should run. */
  desired: number;
  /** Instances that run `revision`. */
  updated: number;
  ready: number;
  /** The leading instance's name if it is in this cluster; "" if it is known not to be; absent if nobody knows. */
  leader?: string;
  /**
   * The application's own list of members, by instance name, as its leader confirmed it at `membersAt` (RFC 3339). Lockstep
   * believes that lost instances were removed from the application only on such a list from after the loss.
   */
  members?: string[];
  membersAt?: string;
  message?: string;
}

/** More members than any application that keeps a quorum has; a longer list is not read. */
const MAX_MEMBERS = 1_000;

const PHASES: readonly string[] = ["Working", "Done", "Failed"] satisfies ReportPhase[];

/** Reads `status.crossCluster` as far as it keeps to the contract; anything else is undefined, which is never "done". */
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

/** A list that is not what the contract says is no list; the rest of the report still counts. */
function isMemberList(value: unknown): value is string[] {
  return Array.isArray(value) && value.length <= MAX_MEMBERS && value.every((name) => typeof name === "string");
}

function isTime(value: unknown): value is string {
  return typeof value === "string" && !Number.isNaN(Date.parse(value));
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}
