import { expect, it } from "vitest";
import { nearest } from "./nearest.ts";

it.each([
  ["wbe", "web"],
  ["Web", "web"],
  ["web1", "web"],
  ["memeber1", "member1"],
  ["database", undefined],
  ["x", undefined],
  ["", undefined],
])("a mistyped %j suggests %j", (word, suggestion) => {
  expect(nearest(word, ["web", "member1", "cache"])).toBe(suggestion);
});
