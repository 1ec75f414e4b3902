import { describe, expect, it } from "vitest";
import { type Happening, RECORD_ENTRIES_MAX, type RolloutRecord, recordAfter, shortened } from "./index.ts";

const step = (cluster: string, code = "Updating"): Happening => ({ kind: "step", cluster, code, why: "its turn" });
const hold = (cluster: string, code = "WaitingForReady"): Happening => ({
  kind: "hold",
  cluster,
  code,
  why: "not yet",
});
const rollout = { from: "web-a", kind: "update", sinceMs: 1_000 } as const;

/** Plays moments, each with its time. */
function played(...moments: [number, Happening[], string?][]): RolloutRecord {
  let record: RolloutRecord | undefined;
  for (const [nowMs, happening, note] of moments) {
    const notes = note === undefined ? [] : [{ code: note, why: "by ada" }];
    record = recordAfter(record, { revision: "web-b", rollout, happening, notes }, nowMs);
  }
  if (!record) throw new Error("nothing was played");
  return record;
}

const told = ({ entries }: RolloutRecord) =>
  entries.map(({ kind, cluster, code, fromMs, toMs }) => `${kind} ${cluster} ${code} ${fromMs}-${toMs ?? ""}`);

describe("the account of a rollout", () => {
  it("has each step and each hold from when it began to when it no longer held", () => {
    const record = played(
      [1_000, [step("east"), hold("east"), hold("west", "NotItsTurn")]],
      [9_000, [step("west"), hold("west")]],
      [20_000, []],
    );
    expect(told(record)).toEqual([
      "step east Updating 1000-9000",
      "hold east WaitingForReady 1000-9000",
      "hold west NotItsTurn 1000-9000",
      "step west Updating 9000-20000",
      "hold west WaitingForReady 9000-20000",
    ]);
    expect(record).toMatchObject({ revision: "web-b", from: "web-a", type: "Update", sinceMs: 1_000 });
  });

  it("is the same object while nothing changes, so that nothing is written for it", () => {
    const before = played([1_000, [step("east")]]);
    const moment = { revision: "web-b", rollout, happening: [step("east")], notes: [] };
    expect(recordAfter(before, moment, 5_000)).toBe(before);
  });

  it("has a step that began before it was looked at since it began, and notes at their moment", () => {
    const record = played([3_000, [{ ...step("east"), sinceMs: 2_000 }], "Promoted"]);
    expect(told(record)).toEqual(["step east Updating 2000-", "note  Promoted 3000-3000"]);
  });

  it("leaves out a hold that was over at once, and joins one that returned at once", () => {
    const short = played([1_000, [hold("east")]], [1_500, []]);
    expect(told(short)).toEqual([]);
    const returned = played([1_000, [hold("east")]], [5_000, []], [6_000, [hold("east")]], [9_000, []]);
    expect(told(returned)).toEqual(["hold east WaitingForReady 1000-9000"]);
    const again = played([1_000, [hold("east")]], [5_000, []], [60_000, [hold("east")]]);
    expect(told(again)).toEqual(["hold east WaitingForReady 1000-5000", "hold east WaitingForReady 60000-"]);
  });

  it("begins again with another revision, and when a rollout returns to one", () => {
    const before = played([1_000, [step("east")]]);
    const other = { revision: "web-c", rollout: { ...rollout, sinceMs: 8_000 }, happening: [], notes: [] };
    expect(recordAfter(before, other, 8_000)).toMatchObject({ revision: "web-c", entries: [] });
    const back = { from: "web-c", kind: "rollback", sinceMs: 9_000 } as const;
    const returning = { revision: "web-b", rollout: back, happening: [step("east", "RollingBack")], notes: [] };
    expect(recordAfter(before, returning, 9_000)).toMatchObject({ type: "RollBack", from: "web-c", sinceMs: 9_000 });
  });

  it("stays as it was when the rollout is over, and continues with what runs later", () => {
    const before = played([1_000, [step("east")]], [4_000, []]);
    const later = { revision: "web-b", rollout: null, happening: [step("east", "ScalingOut")], notes: [] };
    expect(told(recordAfter(before, later, 90_000))).toEqual([
      "step east Updating 1000-4000",
      "step east ScalingOut 90000-",
    ]);
    expect(recordAfter(undefined, { ...later, happening: [] }, 5_000)).toMatchObject({
      type: "Deploy",
      sinceMs: 5_000,
    });
  });

  it("is bounded: holds that are over are left out first, and are counted", () => {
    let record: RolloutRecord | undefined;
    for (let at = 0; at < RECORD_ENTRIES_MAX; at++) {
      const happening = [step(`c${at}`), hold(`c${at}`)];
      record = recordAfter(record, { revision: "web-b", rollout, happening, notes: [] }, 1_000 + at * 10_000);
    }
    const { entries = [], dropped = 0 } = record ?? {};
    expect(entries).toHaveLength(RECORD_ENTRIES_MAX);
    expect(dropped).toBe(RECORD_ENTRIES_MAX);
    expect(entries.filter(({ kind }) => kind === "step")).toHaveLength(RECORD_ENTRIES_MAX - 1);
    expect(entries.filter(({ toMs }) => toMs === undefined)).toHaveLength(2);
    expect(shortened(record!, 1).entries).toHaveLength(1);
  });
});
