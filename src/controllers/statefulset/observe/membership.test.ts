import { expect, it } from "vitest";
import { parseMemberReport } from "../../../contract/index.ts";
import type { Json } from "../../../runtime/index.ts";
import { membershipOf } from "./membership.ts";

const NOW_MS = Date.parse("2026-01-01T12:00:00Z");
const SKEW_MS = 60_000;

function told(members: Json, membersAt: string) {
  const report = { epoch: 1, revision: "A", phase: "Done", desired: 1, updated: 1, ready: 1, members, membersAt };
  return parseMemberReport(report) ?? [];
}

it("[C4] the list that was read last counts, as old as clocks may be wrong", () => {
  const lists = [told(["db-0", "db-1"], "2026-01-01T11:00:00Z"), told(["db-0"], "2026-01-01T11:30:00Z")];
  const expected = { members: ["db-0"], atMs: Date.parse("2026-01-01T11:30:00Z") - SKEW_MS };
  expect(membershipOf(lists.flat(), NOW_MS)).toEqual(expected);
  expect(membershipOf(lists.reverse().flat(), NOW_MS)).toEqual(expected);
});

it("[C4] a list from the future is one from now", () => {
  expect(membershipOf([told(["db-0"], "2026-01-01T13:00:00Z")].flat(), NOW_MS)?.atMs).toBe(NOW_MS - SKEW_MS);
});

it("[C4] without a readable report in the contract's format, there is no list of members", () => {
  expect(membershipOf([], NOW_MS)).toBeUndefined();
  const unreadable = [told("db-0", "2026-01-01T11:00:00Z"), told(["db-0"], "yesterday")];
  expect(membershipOf(unreadable.flat(), NOW_MS)).toBeUndefined();
});
