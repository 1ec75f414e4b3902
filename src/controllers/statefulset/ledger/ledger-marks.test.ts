import { describe, expect, it } from "vitest";
import { type ClusterEntry, emptyLedger, type Ledger } from "../../../plan/index.ts";
import { sameButMarks } from "./ledger-marks.ts";

const STEP = {
  kind: "update",
  sinceMs: 1,
  progressMs: 2,
  best: 3,
  unblock: false,
  unavailableBefore: 0,
  down: { accidents: [], finishedFrom: null },
} as const;

function entry(changes: Partial<ClusterEntry> = {}): ClusterEntry {
  const marks = { ackedAtMs: null, openSinceMs: null, step: STEP };
  return { index: 0, epoch: 4, turn: "held", done: false, instances: [], ...marks, ...changes } as ClusterEntry;
}

function ledger(changes: Partial<ClusterEntry> = {}): Ledger {
  return { ...emptyLedger(), clusters: { member1: entry(), member2: entry(changes) } };
}

describe("two ledgers are the same but for marks", () => {
  it.each<[string, Partial<ClusterEntry>]>([
    ["nothing changed", {}],
    ["a grant was seen to have arrived", { ackedAtMs: 7 }],
    ["a gate opened", { openSinceMs: 7 }],
    ["a step came further", { step: { ...STEP, progressMs: 9, best: 5, down: { accidents: [], finishedFrom: 2 } } }],
  ])("when %s", (_what, changes) => {
    expect(sameButMarks(ledger(), ledger(changes))).toBe(true);
    expect(sameButMarks(ledger(changes), ledger())).toBe(true);
  });

  it.each<[string, Partial<ClusterEntry>]>([
    ["an epoch was given", { epoch: 5 }],
    ["a turn is back", { turn: "none" }],
    ["a gate was passed", { done: true, ackedAtMs: 7 }],
    ["a step ended", { step: null }],
    ["another step began", { step: { ...STEP, sinceMs: 9 } }],
    ["an accident was seen beside it", { step: { ...STEP, down: { accidents: [1], finishedFrom: null } } }],
  ])("but not when %s", (_what, changes) => {
    expect(sameButMarks(ledger(), ledger(changes))).toBe(false);
    expect(sameButMarks(ledger(changes), ledger())).toBe(false);
  });

  it("but not when a cluster came or went, or anything else of the ledger changed", () => {
    const one = { ...ledger(), clusters: { member1: entry() } };
    expect(sameButMarks(ledger(), one)).toBe(false);
    expect(sameButMarks(one, ledger())).toBe(false);
    expect(sameButMarks(ledger(), { ...ledger(), topologyVersion: 1 })).toBe(false);
  });
});
