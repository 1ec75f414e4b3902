import type { MemberReport } from "../contract/index.ts";
import type { Grant } from "./grant.ts";

export interface Done {
  /** Instances this cluster should run. */
  desired: number;
  /** Instances that run the grant's revision. */
  updated: number;
  ready: number;
  /** The leading instance's name, if it is in this cluster. */
  leader?: string;
  message?: string;
  /** Why the grant cannot be carried out at all. Lockstep then stops asking and shows it. */
  failed?: string;
}

/**
 * What to report for a grant: everything about the epoch and revision it was read with. `Done` follows from the counts,
 * and from the grant: with a partition, fewer instances are to be updated.
 */
export function report(grant: Grant, { desired, updated, ready, leader, message, failed }: Done): MemberReport {
  const complete = ready >= desired && updated >= Math.max(0, desired - grant.partition);
  const said = failed ?? message;
  return {
    epoch: grant.epoch,
    revision: grant.revision,
    phase: failed !== undefined ? "Failed" : complete ? "Done" : "Working",
    desired,
    updated,
    ready,
    ...(leader !== undefined && { leader }),
    ...(said !== undefined && { message: said }),
  };
}

/** A merge patch for the status subresource: the whole report in one write, as the contract asks. */
export function reportPatch(written: MemberReport): { status: { crossCluster: MemberReport } } {
  return { status: { crossCluster: written } };
}
