import { describe, expect, it } from "vitest";
import { claimOrdinal } from "./member.ts";

describe("the claims of a StatefulSet", () => {
  const web = { workload: "web", templates: ["data", "my-logs"] };

  it.each([
    ["data-web-0", 0],
    ["my-logs-web-12", 12],
  ])("%s is of ordinal %i", (claim, ordinal) => {
    expect(claimOrdinal(claim, web)).toBe(ordinal);
  });

  it.each(["data-my-web-0", "logs-web-0", "web-0", "data-web", "data-web-0-old", "data-website-0"])(
    "%s is somebody else's",
    (claim) => {
      expect(claimOrdinal(claim, web)).toBeUndefined();
    },
  );
});

describe("the claims of an operator's instances, whose names nobody states", () => {
  it("are those that can be nobody else's", () => {
    expect(claimOrdinal("data-xline-3", { workload: "xline" })).toBe(3);
    expect(claimOrdinal("data-my-xline-3", { workload: "xline" })).toBeUndefined();
  });
});
