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
