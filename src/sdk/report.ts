import type { MemberReport } from "../contract/index.ts";
import type { Grant } from "./grant.ts";

export interface Done {
  /** Instances this cluster should run. */
  desired: number;
  /** Instances that run the grant's revision. */
  updated: number;
  ready: number;
  /** Instances that exist here at all: those that are starting, and those that are still going away, too. */
  present: number;
  /** The leading instance's name if it is in this cluster; "" if it is known not to be; absent if nobody knows. */
  leader?: string;
  /** The application's own member list, by instance name, and when (RFC 3339) its leader confirmed it. */
  membership?: { members: string[]; at: string };
  message?: string;
  /** Why the grant cannot be carried out at all. Lockstep then stops asking and shows it. */
  failed?: string;
}

/**
 * What to report for a grant: everything about the epoch and revision it was read with. `Done` follows from the counts,
 * and from the grant: with a partition, fewer instances are to be updated.
 */
export function report(grant: Grant, done: Done): MemberReport {
  const { desired, updated, ready, present, leader, membership, message, failed } = done;
  // One that is still going away is as unfinished as one that has not come up yet.
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

/** What a report leaves out must not stay there from the report before: null takes a field away in a merge patch. */
const NOT_TOLD = { leader: null, members: null, membersAt: null, message: null };

type Patched<Report> = { [Field in keyof Report]: Report[Field] | null };

/** A merge patch for the status subresource: the whole report in one write, as the contract asks. */
export function reportPatch(written: MemberReport): { status: { crossCluster: Patched<MemberReport> } } {
  return { status: { crossCluster: { ...NOT_TOLD, ...written } } };
}
