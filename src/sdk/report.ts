import type { MemberReport } from "../contract/index.ts";
import type { Grant } from "./grant.ts";

/** What an operator counts at the start of its reconcile, and knows. */
export interface OperatorFigures {
  /** Instances this cluster should run. */
  readonly desired: number;
  /** Instances that run the grant's revision. */
  readonly updated: number;
  readonly ready: number;
  /** All instances that exist here, including starting and terminating ones. */
  readonly present: number;
  /** The leading instance's name if it is in this cluster; "" if it is known to be elsewhere; absent if unknown. */
  readonly leader?: string;
  /** The application's own member list, by instance name, and when (RFC 3339) its leader confirmed it. */
  readonly membership?: { members: string[]; at: string };
  readonly message?: string;
  /** Why the grant cannot be carried out. Lockstep then stops the rollout and shows it. */
  readonly failed?: string;
}

/**
 * The report for a grant: everything refers to the epoch and revision that were read with it. `Done` follows from the
 * counts and the grant: with a partition, fewer instances are updated.
 */
export function report(grant: Grant, figures: OperatorFigures): MemberReport {
  const { desired, updated, ready, present, leader, membership, message, failed } = figures;
  // A terminating instance is as incomplete as one that has not started yet.
  const settled = ready === desired && present === desired;
  const complete = settled && updated >= Math.max(0, desired - grant.partition);
  const said = failed ?? message;
  return {
    epoch: grant.epoch,
    revision: grant.revision,
    phase: failed !== undefined ? "Failed" : complete ? "Done" : "Working",
    desired,
    updated,
    ready,
    ...(leader !== undefined && { leader }),
    ...(membership && { members: membership.members, membersAt: membership.at }),
    ...(said !== undefined && { message: said }),
  };
}

/**
 * A field that this report leaves out must not remain from the previous report: null removes a field in a merge patch.
 */
const NOT_TOLD = { leader: null, members: null, membersAt: null, message: null };

type Patched<Report> = { [Field in keyof Report]: Report[Field] | null };

/** A merge patch for the status subresource: the whole report in one write, as the contract asks. */
export function reportPatch(written: MemberReport): { status: { crossCluster: Patched<MemberReport> } } {
  return { status: { crossCluster: { ...NOT_TOLD, ...written } } };
}
