import { describe, expect, it } from "vitest";
import { ANNOTATIONS, GRANT_SCHEMA, parseMemberReport, REPORT_SCHEMA } from "./index.ts";

const report = { epoch: 1, revision: "r", phase: "Done", desired: 1, updated: 1, ready: 1 };
const full = { ...report, leader: "a", members: ["a"], membersAt: "2026-01-01T00:00:00Z", message: "m" };

describe("the contract's schemas", () => {
  it("have every annotation that Lockstep writes", () => {
    expect(Object.keys(GRANT_SCHEMA.properties).sort()).toEqual(Object.values(ANNOTATIONS).sort());
  });

  it("have every field of a report, and require what Lockstep requires", () => {
    expect(Object.keys(REPORT_SCHEMA.properties).sort()).toEqual(Object.keys(parseMemberReport(full) ?? {}).sort());
    for (const field of REPORT_SCHEMA.required) {
      expect(parseMemberReport({ ...report, [field]: undefined }), field).toBeUndefined();
    }
    expect(parseMemberReport(report)).toBeDefined();
  });
});
