import fc from "fast-check";
import { expect, it } from "vitest";
import { WindowMemory } from "./window-memory.ts";
import { windowState } from "./windows.ts";

const windows = [
  { cron: "0 2 * * 6", durationSeconds: 4 * 3600, timeZone: "Europe/Berlin" },
  { cron: "30 1 29 2 *", durationSeconds: 600, timeZone: "UTC" },
];
const DAYS_MS = 24 * 60 * 60_000;

it("the memory of windows remembers nothing that the calendar would say otherwise, also when clocks are set back", () => {
  const instant = fc.integer({ min: 0, max: 60 * DAYS_MS });
  fc.assert(
    fc.property(fc.array(instant, { minLength: 2, maxLength: 20 }), (instants) => {
      const memory = new WindowMemory();
      for (const nowMs of instants) expect(memory.state(windows, nowMs)).toEqual(windowState(windows, nowMs));
    }),
  );
});

it("the memory of windows asks the calendar once for as long as its answer holds", () => {
  const memory = new WindowMemory();
  const first = memory.state(windows, 0);
  expect(memory.state(windows, DAYS_MS / 2)).toBe(first);
  expect(memory.state([...windows], DAYS_MS / 2)).not.toBe(first);
});

it("the memory of windows says always open where no window is asked for", () => {
  expect(new WindowMemory().state(undefined, 0)).toEqual({ open: true });
});
