import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { systemClock } from "./clock.ts";

const DAY_MS = 24 * 60 * 60_000;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});

afterEach(() => {
  vi.useRealTimers();
});

it("the clock runs a deferred function once, at its time", () => {
  const run = vi.fn();
  systemClock.after(1_000, run);
  vi.advanceTimersByTime(999);
  expect(run).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(run).toHaveBeenCalledOnce();
});

it("the clock never runs a cancelled function, and keeps no timer for it", () => {
  const run = vi.fn();
  const cancel = systemClock.after(1_000, run);
  cancel();
  cancel();
  expect(vi.getTimerCount()).toBe(0);
  vi.advanceTimersByTime(DAY_MS);
  expect(run).not.toHaveBeenCalled();
});

it("the clock defers for longer than a timer of the platform can, and can still be cancelled", () => {
  const [kept, cancelled] = [vi.fn(), vi.fn()];
  systemClock.after(60 * DAY_MS, kept);
  const cancel = systemClock.after(60 * DAY_MS, cancelled);
  vi.advanceTimersByTime(59 * DAY_MS);
  expect(kept).not.toHaveBeenCalled();
  cancel();
  vi.advanceTimersByTime(2 * DAY_MS);
  expect(kept).toHaveBeenCalledOnce();
  expect(cancelled).not.toHaveBeenCalled();
});
