import fc from "fast-check";
import { expect, it } from "vitest";
import { RoundTrips, SAMPLES, SLOW_MS } from "./round-trips.ts";

/** One question after the other, each answered after so long. */
function after(...tripsMs: number[]): RoundTrips {
  const trips = new RoundTrips();
  tripsMs.forEach((tripMs, at) => {
    trips.asked("u1", at, at * 100_000);
    trips.answered("u1", "east", at, at * 100_000 + tripMs);
  });
  return trips;
}

it("an agent that answers late is slow, although some answers come quickly; a quick one is not, although the hub was away once", () => {
  expect(after(11_000, 500, 15_000, 7_000, 12_000).isSlow("east")).toBe(true);
  expect(after(100, 13_000, 50, 300, 200).isSlow("east")).toBe(false);
  expect(after(11_000, 11_000, 11_000).isSlow("east")).toBe(false);
});

it("a warning neither comes nor goes for what is in between", () => {
  expect(after(...Array(20).fill(SLOW_MS - 500)).isSlow("east")).toBe(false);
  const slow = Array(SAMPLES).fill(2 * SLOW_MS);
  expect(after(...slow, ...Array(20).fill(SLOW_MS - 500)).isSlow("east")).toBe(true);
  expect(after(...slow, ...Array(SAMPLES).fill(100)).isSlow("east")).toBe(false);
});

it("a later answer ends earlier questions; those of other processes are not measured", () => {
  const trips = new RoundTrips();
  for (let at = 0; at < 3 * SAMPLES; at += 3) {
    trips.asked("u1", at, at * 15_000);
    trips.asked("u1", at + 1, (at + 1) * 15_000);
    trips.answered("u1", "east", at + 1, (at + 1) * 15_000 + 4_000);
    trips.answered("u1", "east", at, (at + 1) * 15_000 + 9_000_000);
    trips.answered("u1", "west", 7_777, 0);
  }
  expect(trips.isSlow("east")).toBe(true);
  expect(trips.isSlow("west")).toBe(false);
});

it("whatever happens, a cluster whose agent never answers late is never called slow", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: SLOW_MS })), (tripsMs) => {
      expect(after(...tripsMs).isSlow("east")).toBe(false);
    }),
  );
});
