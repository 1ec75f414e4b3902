import fc from "fast-check";
import { expect, it } from "vitest";
import { scoredSchedule } from "./scored-schedule.ts";

const CLUSTERS = ["a", "b", "c"];
const of = (...weights: (number | undefined)[]) =>
  weights.map((weight, at) => ({ cluster: CLUSTERS[at] ?? "", ...(weight !== undefined && { weight }) }));
const divided = (...args: Parameters<typeof scoredSchedule>) => {
  const schedule = scoredSchedule(...args);
  return schedule.kind === "known" ? schedule.clusters.map(({ replicas }) => replicas) : schedule.message;
};

it("a first deployment is divided in proportion to the scores", () => {
  expect(divided(of(100, 200, 100), 4, {})).toEqual([1, 2, 1]);
  expect(divided(of(100, 100, 100), 5, {})).toEqual([2, 2, 1]);
});

it("the lowest score gets nothing, unless every cluster has it", () => {
  expect(divided(of(0, 50, 0), 3, {})).toEqual([0, 3, 0]);
  expect(divided(of(0, 0, 0), 1, {})).toEqual([1, 0, 0]);
});

it("no change of scores moves an instance", () => {
  const weight = fc.option(fc.integer({ min: 0, max: 200 }), { nil: undefined });
  const counts = fc.record({ a: fc.nat(9), b: fc.nat(9), c: fc.nat(9) });
  fc.assert(
    fc.property(fc.tuple(weight, weight, weight), counts, ([a, b, c], granted) => {
      const total = granted.a + granted.b + granted.c;
      expect(divided(of(a, b, c), total, granted)).toEqual([granted.a, granted.b, granted.c]);
    }),
  );
});

it("growth only adds, and a shrinking application only removes", () => {
  expect(divided(of(200, 10, 10), 6, { a: 1, b: 2, c: 2 })).toEqual([2, 2, 2]);
  expect(divided(of(200, 10, 100), 4, { a: 1, b: 2, c: 2 })).toEqual([1, 1, 2]);
});

it("a cluster without a valid score keeps what it has and gets nothing new", () => {
  expect(divided(of(undefined, 10, undefined), 5, { a: 3 })).toEqual([3, 2, 0]);
});

it("what a cluster that is no longer selected had goes to those that are", () => {
  expect(divided(of(100, 100), 4, { a: 1, b: 1, c: 2 })).toEqual([2, 2]);
});

it("without any score nothing new is placed, and the schedule is unknown, never zero", () => {
  expect(divided(of(undefined, undefined), 2, {})).toContain("no cluster that the Placement selects has a valid score");
  expect(divided(of(undefined, undefined), 2, { a: 2 })).toEqual([2, 0]);
});
