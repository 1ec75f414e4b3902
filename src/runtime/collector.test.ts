import { expect, it } from "vitest";
import { growthPercent } from "./collector.ts";

const MB = 2 ** 20;

it("a small heap is collected as the engine decides", () => {
  expect(growthPercent(50 * MB)).toBe(0);
});

it("a large heap is collected after it has grown by 160 MB, and by 30 percent at least", () => {
  expect(growthPercent(100 * MB)).toBe(160);
  expect(growthPercent(320 * MB)).toBe(50);
  expect(growthPercent(4_000 * MB)).toBe(30);
});
