import { parseMemberReport } from "../../contract/index.ts";
import type { Snapshot } from "../../engine/index.ts";
import type { MembershipEvidence } from "../../plan/index.ts";
import { isJsonObject } from "../../runtime/index.ts";

/** How far members' clocks may be ahead of ours: a list counts as that much older than it says. */
const CLOCK_SKEW_MS = 60_000;

/**
 * [C4] The application's own member list, from the operator that read it last. Several may tell, and each writes only when it
 * reconciles, so the time that the list itself carries decides, not when its object was seen.
 */
export function membershipOf(snapshots: Iterable<Snapshot>): MembershipEvidence | undefined {
  let latest: MembershipEvidence | undefined;
  for (const snapshot of snapshots) {
    if (snapshot.kind !== "present" || !isJsonObject(snapshot.object.status)) continue;
    const report = parseMemberReport(snapshot.object.status.crossCluster);
    if (!report?.members || report.membersAt === undefined) continue;
    const atMs = Math.min(Date.parse(report.membersAt), snapshot.atMs) - CLOCK_SKEW_MS;
    if (!latest || atMs > latest.atMs) latest = { members: report.members, atMs };
  }
  return latest;
}
