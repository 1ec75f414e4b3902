import { describe, expect, it } from "vitest";
import { humanAge, humanDuration } from "./duration.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

describe("humanDuration", () => {
  it.each([
    [-5 * SECOND, "<invalid>"],
    [-1 * SECOND, "0s"],
    [0, "0s"],
    [119 * SECOND, "119s"],
    [2 * MINUTE, "2m"],
    [3 * MINUTE + 7 * SECOND, "3m7s"],
    [10 * MINUTE + 7 * SECOND, "10m"],
    [179 * MINUTE, "179m"],
    [3 * HOUR, "3h"],
    [7 * HOUR + 5 * MINUTE, "7h5m"],
    [8 * HOUR + 5 * MINUTE, "8h"],
    [47 * HOUR, "47h"],
    [2 * DAY + 3 * HOUR, "2d3h"],
    [9 * DAY + 3 * HOUR, "9d"],
    [729 * DAY, "729d"],
    [(2 * 365 + 5) * DAY, "2y5d"],
    [8 * 365 * DAY + DAY, "8y"],
  ])("%d ms is %s", (durationMs, expected) => expect(humanDuration(durationMs)).toBe(expected));
});

describe("humanAge", () => {
  it("shows unknown values as unknown", () => {
    expect(humanAge(undefined, 0)).toBe("<unknown>");
    expect(humanAge("yesterday", 0)).toBe("<invalid>");
    expect(humanAge("1970-01-01T00:00:00Z", 5000)).toBe("5s");
  });
});
