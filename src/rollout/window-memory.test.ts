import fc from "fast-check";
import { expect, it } from "vitest";
import { WindowMemory } from "./window-memory.ts";
import { windowState } from "./windows.ts";

const windows = [
  { cron: "0 2 * * 6", durationSeconds: 4 * 3600, timeZone: "Europe/Berlin" },
  { cron: "30 1 29 2 *", durationSeconds: 600, timeZone: "UTC" },
];
const DAYS_MS = 24 * 60 * 60_000;

it("a remembered window state always equals the computed one, even if the clock is set back", () => {
  const instant = fc.integer({ min: 0, max: 60 * DAYS_MS });
  fc.assert(
    fc.property(fc.array(instant, { minLength: 2, maxLength: 20 }), (instants) => {
      const memory = new WindowMemory();
      for (const nowMs of instants) expect(memory.state(windows, nowMs)).toEqual(windowState(windows, nowMs));
    }),
  );
});

it("the state of windows is computed once and remembered until it changes", () => {
  const memory = new WindowMemory();
  const first = memory.state(windows, 0);
  expect(memory.state(windows, DAYS_MS / 2)).toBe(first);
  expect(memory.state([...windows], DAYS_MS / 2)).not.toBe(first);
});

it("without configured windows, the remembered state is always open", () => {
  expect(new WindowMemory().state(undefined, 0)).toEqual({ open: true });
});
