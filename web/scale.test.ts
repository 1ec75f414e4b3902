import { describe, expect, it } from "vitest";
import { scaleOf } from "./scale.ts";

const RAN = [
  { fromMs: 0, toMs: 4_000 },
  { fromMs: 3_604_000, toMs: 3_610_000 },
];

describe("the timeline's scale", () => {
  it("draws an hour of waiting shorter than the steps around it, and says so", () => {
    const { share, breaks } = scaleOf(RAN, { fromMs: 0, nowMs: 3_610_000, toMs: 3_610_000 }, 0.3);
    expect(breaks).toHaveLength(1);
    expect(breaks[0]).toMatchObject({ fromMs: 4_000, toMs: 3_604_000 });
    expect(share(4_000)).toBeGreaterThan(0.25);
    expect(share(3_604_000) - share(4_000)).toBeLessThan(0.3);
    expect(share(3_610_000)).toBeCloseTo(1);
  });

  it("keeps the order of all moments, also of those outside", () => {
    const { share } = scaleOf(RAN, { fromMs: 0, nowMs: 3_620_000, toMs: 3_650_000 }, 0.4);
    const moments = [-5, 0, 2_000, 4_000, 1_000_000, 3_604_000, 3_610_000, 3_620_000, 3_640_000, 3_650_000, 3_700_000];
    const shares = moments.map(share);
    expect(shares).toEqual(shares.toSorted((a, b) => a - b));
    expect(shares[0]).toBe(0);
    expect(shares.at(-1)).toBe(1);
    expect(share(3_620_000)).toBeCloseTo(0.6);
  });

  it("is linear while everything runs", () => {
    const { share, breaks } = scaleOf([{ fromMs: 0, toMs: 100 }], { fromMs: 0, nowMs: 100, toMs: 100 }, 0.3);
    expect(share(25)).toBeCloseTo(0.25);
    expect(breaks).toEqual([]);
  });

  it("has an answer when nothing ran and no time has passed", () => {
    const { share } = scaleOf([], { fromMs: 50, nowMs: 50, toMs: 50 }, 0.3);
    expect(share(50)).toBe(0);
  });
});
