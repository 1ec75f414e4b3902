import { expect, test } from "vitest";
import { nearest } from "./nearest.ts";

test.each([
  ["wbe", "web"],
  ["Web", "web"],
  ["web1", "web"],
  ["memeber1", "member1"],
  ["database", undefined],
  ["x", undefined],
  ["", undefined],
])("%j suggests %j", (word, suggestion) => {
  expect(nearest(word, ["web", "member1", "cache"])).toBe(suggestion);
});
