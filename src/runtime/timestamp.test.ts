import { expect, it } from "vitest";
import { timestamp } from "./timestamp.ts";

it("a timestamp has whole seconds, in UTC, and reads back as the second it began with", () => {
  expect(timestamp(Date.UTC(2030, 0, 2, 3, 4, 5, 678))).toBe("2030-01-02T03:04:05Z");
  expect(timestamp(0)).toBe("1970-01-01T00:00:00Z");
  expect(Date.parse(timestamp(Date.UTC(12_000, 0, 1)))).toBe(Date.UTC(12_000, 0, 1));
});
