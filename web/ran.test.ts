import { expect, it } from "vitest";
import { ranOf } from "./ran.ts";

const step = (cluster: string, fromMs: number, toMs?: number) => ({
  cluster,
  what: "Updating",
  why: "",
  fromMs,
  ...(toMs !== undefined && { toMs }),
});

it("a rollout that is over took the time from its first step to the end of its last one", () => {
  const spans = [step("west", 3_000, 9_000), step("east", 1_000, 2_000), step("west", 9_500, 10_000)];
  expect(ranOf({ spans })).toEqual({ endedMs: 10_000, tookMs: 9_000, steps: 3, clusters: 2 });
});

it("there are no figures while a step runs, or if nothing ran", () => {
  expect(ranOf({ spans: [step("west", 1, 2), step("east", 3)] })).toBeUndefined();
  expect(ranOf({ spans: [] })).toBeUndefined();
});
