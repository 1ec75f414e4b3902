import { describe, expect, it } from "vitest";
import { RECORD_CHARS } from "../../api/index.ts";
import { RECORD_ENTRIES_MAX, type RolloutMoment, type RolloutRecord } from "../../rollout/index.ts";
import { compressed, seededRandom } from "../../runtime/index.ts";
import { RECORDED_REVISIONS, Records, readRecord, recordText } from "./records.ts";

const KEY = "default/web";

function moment(revision: string, ...clusters: string[]): RolloutMoment {
  const happening = clusters.map((cluster) => ({ kind: "step", cluster, code: "Updating", why: "its turn" }) as const);
  return { revision, rollout: { from: "web-0", kind: "update", sinceMs: 1_000 }, happening, notes: [] };
}

const rows = (...names: string[]) => names.map((revision) => ({ revision }));

describe("[R10] the account in a status", () => {
  it("continues in another process from what the status has", () => {
    const first = new Records();
    first.note(KEY, undefined, moment("web-1", "east"), 2_000);
    const before = first.into(KEY, rows("web-1"), undefined);
    const second = new Records();
    second.note(KEY, { history: before }, moment("web-1", "west"), 9_000);
    const [row] = second.into(KEY, rows("web-1"), before) as { record?: string }[];
    expect(readRecord("web-1", row?.record ?? "")).toMatchObject({
      revision: "web-1",
      from: "web-0",
      entries: [
        { cluster: "east", fromMs: 2_000, toMs: 9_000 },
        { cluster: "west", fromMs: 9_000 },
      ],
    });
  });

  it("of a rollout that was over stays as it is in another process, and is not begun for one that has none", () => {
    const over: RolloutMoment = { revision: "web-1", rollout: null, happening: [], notes: [] };
    const first = new Records();
    first.note(KEY, undefined, { ...moment("web-1", "east"), rollout: null }, 2_000);
    first.note(KEY, undefined, over, 4_000);
    const before = first.into(KEY, rows("web-1"), undefined);
    for (const history of [before, rows("web-1")]) {
      const second = new Records();
      second.note(KEY, { history }, over, 9_000);
      expect(second.into(KEY, rows("web-1"), history)).toEqual(history);
    }
  });

  it("of a revision that is no longer rolled out stays as it was, for the newest ten", () => {
    const records = new Records();
    let before: { revision: string; record?: string }[] = [];
    for (let at = 1; at <= RECORDED_REVISIONS + 3; at++) {
      records.note(KEY, { history: before }, moment(`web-${at}`, `c${at}`), at * 1_000);
      before = records.into(KEY, [{ revision: `web-${at}` }, ...before.map(({ revision }) => ({ revision }))], before);
    }
    expect(before.filter(({ record }) => record !== undefined)).toHaveLength(RECORDED_REVISIONS);
    const old = before[RECORDED_REVISIONS - 1]!;
    expect(readRecord(old.revision, old.record ?? "")).toMatchObject({ entries: [{ cluster: "c4" }] });
    // An undo to the oldest one: its account is the one that is written now.
    records.note(KEY, { history: before }, moment("web-1", "east"), 90_000);
    expect(records.into(KEY, before, before).at(-1)).toMatchObject({ revision: "web-1", record: expect.any(String) });
  });

  it("ends when another revision follows, also if no status was written in between", () => {
    const records = new Records();
    records.note(KEY, undefined, moment("web-1", "east"), 2_000);
    records.note(KEY, undefined, moment("web-2", "east"), 9_000);
    const written = records.into<{ revision: string; record?: string }>(KEY, rows("web-2", "web-1"), undefined);
    expect(readRecord("web-1", written[1]?.record ?? "")?.entries).toMatchObject([{ fromMs: 2_000, toMs: 9_000 }]);
    expect(records.into(KEY, rows("web-2", "web-1"), written)).toEqual(written);
    expect(records.into(KEY, rows("web-2", "web-1"), written)).toEqual(written);
  });

  it("has the same text until something happens, so that no status is written for it", () => {
    const records = new Records();
    const texts = [2_000, 5_000, 9_000].map((nowMs) => {
      records.note(KEY, undefined, moment("web-1", "east"), nowMs);
      return records.into<{ revision: string; record?: string }>(KEY, rows("web-1"), undefined)[0]?.record;
    });
    expect(new Set(texts).size).toBe(1);
  });

  it("is never longer than the status has room for", () => {
    const random = seededRandom(1);
    const word = () =>
      Array.from({ length: 150 }, () => String.fromCharCode(33 + Math.floor(random.next() * 90))).join("");
    const entries = Array.from({ length: RECORD_ENTRIES_MAX }, (_, at) => ({
      kind: "hold" as const,
      cluster: `c${at}`,
      code: "Unhealthy",
      why: word(),
      fromMs: at,
      toMs: at + 1_000,
    }));
    const record: RolloutRecord = { revision: "web-1", type: "Update", sinceMs: 0, entries, dropped: 0 };
    const text = recordText(record);
    expect(text.length).toBeLessThanOrEqual(RECORD_CHARS);
    const read = readRecord("web-1", text);
    expect(read?.entries.length).toBeGreaterThan(10);
    expect((read?.entries.length ?? 0) + (read?.dropped ?? 0)).toBe(RECORD_ENTRIES_MAX);
  });

  it.each([
    ["nothing", ""],
    ["no archive", "aGVsbG8="],
    ["no object", compressed("[]").toString("base64")],
    ["another form", compressed('{"type":"Update","sinceMs":1,"dropped":0,"entries":[["x"]]}').toString("base64")],
    ["a bomb", compressed("0".repeat(2 ** 22)).toString("base64")],
  ])("that has %s in it is not read", (_, text) => {
    expect(readRecord("web-1", text)).toBeUndefined();
  });
});
