import { expect, test } from "vitest";
import { campaign } from "./testing/seeds.ts";

const HOURS_MS = 3_600_000;

test("every property holds for every odd seed of the lean tier", { timeout: 2 * HOURS_MS }, async () => {
  const { seeds, reach } = await campaign("lean", 1, 2);
  expect(reach["settled in the end"]).toBeGreaterThan(seeds / 4);
});

test("every property holds for every odd seed of the full tier", { timeout: 2 * HOURS_MS }, async () => {
  const { seeds, reach } = await campaign("full", 1, 2);
  expect(reach["settled in the end"]).toBeGreaterThan(seeds / 4);
});
