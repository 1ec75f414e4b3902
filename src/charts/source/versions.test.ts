import { describe, expect, it } from "vitest";
import { bestVersion, isExact, isRange } from "./versions.ts";

const ALL = [
  "0.2.3",
  "0.2.9",
  "0.3.0",
  "1.0.0",
  "1.2.3",
  "1.2.10",
  "1.4.0",
  "2.0.0-rc.1",
  "2.0.0",
  "v2.1.0",
  "3.0.0-beta.2",
  "3.0.0-beta.10",
];

describe("a range", () => {
  it.each([
    ["1.2.3", "1.2.3"],
    ["v1.2.3", "1.2.3"],
    ["", "v2.1.0"],
    ["*", "v2.1.0"],
    ["^1", "1.4.0"],
    ["^1.2.4", "1.4.0"],
    ["^0.2.3", "0.2.9"],
    ["^0", "0.3.0"],
    ["~1.2", "1.2.10"],
    ["~1.2.3", "1.2.10"],
    ["~1", "1.4.0"],
    ["1.x", "1.4.0"],
    ["1.2.*", "1.2.10"],
    ["1.2", "1.2.10"],
    [">=1.2.3 <1.4.0", "1.2.10"],
    [">= 1.2.3, < 1.4.0", "1.2.10"],
    ["1.2 - 1.4", "1.4.0"],
    ["<=1.2", "1.2.10"],
    [">1.2", "v2.1.0"],
    ["!=2.x <3", "1.4.0"],
    ["^9 || ~0.2.3", "0.2.9"],
    [">=2.0.0-0 <2.0.0", "2.0.0-rc.1"],
    [">=3.0.0-0", "3.0.0-beta.10"],
    ["3.0.0-beta.2", "3.0.0-beta.2"],
  ])("%s gives %s, the highest that it allows", (range, expected) => {
    expect(bestVersion(range, ALL)).toBe(expected);
  });

  it("never gives a version before a release, unless it names one", () => {
    expect(bestVersion(">=3", ALL)).toBeUndefined();
    expect(bestVersion("^5", ALL)).toBeUndefined();
  });

  it("differs from what is no version", () => {
    expect(["1.2.3", "^1", "1.x || 2.x", ">=1, <2"].filter((text) => !isRange(text))).toEqual([]);
    expect(["latest", "1.2.3.4", "^", "a || 1"].filter(isRange)).toEqual([]);
    expect(["1.2.3", "v1.2.3-rc.1+b"].filter((text) => !isExact(text))).toEqual([]);
    expect(["1.2", "^1.2.3", "1.2.x"].filter(isExact)).toEqual([]);
  });
});
