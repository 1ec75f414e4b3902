import { expect, it } from "vitest";
import type { RolloutRecord } from "../../rollout/index.ts";
import { timelineFrom } from "./record.ts";

const record: RolloutRecord = {
  revision: "web-b",
  type: "Update",
  sinceMs: 10_000,
  dropped: 2,
  entries: [
    { kind: "step", cluster: "west", code: "Updating", why: "its turn", fromMs: 10_000, toMs: 14_000 },
    { kind: "hold", cluster: "east", code: "WaitingForReady", why: "0 of 1", fromMs: 14_000 },
    { kind: "note", cluster: "", code: "Promoted", why: "by ada", fromMs: 15_000, toMs: 15_000 },
  ],
};

it("an account is a timeline: steps, holds and notes, and Events add what it does not have, once", () => {
  const note = (atMs: number, reason: string) => ({ atMs, isWarning: true, reason, message: "said" });
  expect(timelineFrom(record, [note(2_000, "Old"), note(15_400, "Promoted"), note(16_000, "Unhealthy")])).toEqual({
    fromMs: 10_000,
    spans: [{ cluster: "west", what: "Updating", why: "its turn", fromMs: 10_000, toMs: 14_000 }],
    holds: [{ cluster: "east", reason: "WaitingForReady", why: "0 of 1", fromMs: 14_000 }],
    notes: [{ atMs: 15_000, isWarning: false, reason: "Promoted", message: "by ada" }, note(16_000, "Unhealthy")],
    dropped: 2,
  });
});

it("a step is a failed one if its own cluster failed while it ran, not if another one did, or later", () => {
  const step = (cluster: string, fromMs: number, toMs?: number) =>
    ({ kind: "step", cluster, code: "Updating", why: "", fromMs, ...(toMs !== undefined && { toMs }) }) as const;
  const { spans } = timelineFrom({
    ...record,
    entries: [
      step("west", 10_000, 20_000),
      step("east", 10_000, 20_000),
      step("north", 10_000),
      step("west", 60_000, 70_000),
      { kind: "note", cluster: "", code: "StepFailed", why: "west: the step failed", fromMs: 20_400, toMs: 20_400 },
      { kind: "hold", cluster: "north", code: "ProgressDeadlineExceeded", why: "", fromMs: 40_000 },
    ],
  });
  const failed = spans.filter(({ isBad }) => isBad).map(({ cluster, fromMs }) => `${cluster} ${fromMs}`);
  expect(failed).toEqual(["west 10000", "north 10000"]);
});
