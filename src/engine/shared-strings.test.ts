import { expect, it } from "vitest";
import { SharedStrings } from "./shared-strings.ts";

it("shared strings are equal to what was given", () => {
  const shared = new SharedStrings();
  for (const text of ["", "short", "karmada-es-member1", "karmada-es-member1", "x".repeat(1_000)]) {
    expect(shared.of(text)).toBe(text);
  }
  expect(shared.size).toBe(1);
});

it("shared strings are forgotten when there are too many of them", () => {
  const shared = new SharedStrings();
  for (let index = 0; index < 120_000; index++) shared.of(`some string ${index}`);
  expect(shared.size).toBeLessThanOrEqual(100_000);
});
