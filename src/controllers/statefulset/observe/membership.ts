import type { MemberReport } from "../../../contract/index.ts";
import type { MembershipEvidence } from "../../../plan/index.ts";

/** How far members' clocks may be ahead of ours: a list counts as that much older than it says. */
const CLOCK_SKEW_MS = 60_000;

/**
 * [C4] The application's own member list, from the operator that read it last. Several may tell, and each writes only
 * when it reconciles, so the time that the list itself carries decides, not when its object was seen.
 */
export function membershipOf(reports: Iterable<MemberReport>, nowMs: number): MembershipEvidence | undefined {
  let latest: MembershipEvidence | undefined;
  for (const { members, membersAt } of reports) {
    if (!members || membersAt === undefined) continue;
    const atMs = Math.min(Date.parse(membersAt), nowMs) - CLOCK_SKEW_MS;
    if (!latest || atMs > latest.atMs) latest = { members, atMs };
  }
  return latest;
}
