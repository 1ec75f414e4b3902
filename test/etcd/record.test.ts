import { describe, expect, it } from "vitest";
import {
  type Attempt,
  figuresOf,
  type Look,
  leaderChanges,
  type Members,
  parseRecord,
  withoutQuorumUs,
} from "../availability/record.ts";

const SECOND = 1_000_000;
const window = { fromUs: 0, toUs: 10 * SECOND };

function write(startMs: number, endMs: number, rest: Partial<Attempt> = {}): Attempt {
  return { kind: "write", client: 0, key: "k", start: startMs * 1000, end: endMs * 1000, try: 1, ...rest };
}

/** A member that answers every 100 ms, with what `says` returns for the second. */
function looks(endpoint: string, says: (second: number) => Partial<Look>): Look[] {
  return Array.from({ length: 110 }, (_, at) => {
    const start = at * 100_000;
    return { kind: "look", endpoint, start, end: start + 1000, ...says(start / SECOND) };
  });
}

function voters(second: number, ...names: string[]): Members {
  return { kind: "members", end: second * SECOND, voters: names };
}

describe("the figures of a record", () => {
  it("count a request that succeeded with its retry as retried, and one whose retry failed as failed", () => {
    const attempts = [
      write(0, 10),
      write(20, 30, { error: "unavailable" }),
      write(30, 40, { try: 2 }),
      write(50, 60, { error: "unavailable" }),
      write(60, 70, { try: 2, error: "unavailable" }),
    ];
    expect(figuresOf({ attempts, looks: [], members: [] }, window)).toMatchObject({
      requests: 3,
      retried: 2,
      failed: 1,
    });
  });

  it("have the longest time without a successful write, also at the edges of the window", () => {
    const attempts = [write(90, 100), write(2000, 5000), write(5000, 5010, { error: "timeout" }), write(6000, 6010)];
    expect(figuresOf({ attempts, looks: [], members: [] }, window).longestWriteGapMs).toBe(4900);
    expect(figuresOf({ attempts: [], looks: [], members: [] }, window).longestWriteGapMs).toBe(10_000);
  });

  it("count each term with a leader after the first as a change of the leader", () => {
    const seen = [
      ...looks("a", (at) => ({ leader: at < 5 ? "1" : "2", term: at < 5 ? 3 : 4 })),
      ...looks("b", () => ({ leader: "0", term: 9 })),
    ];
    expect(leaderChanges(seen, window)).toBe(1);
  });

  it("count the time in which no majority agrees on a leader", () => {
    const up = () => ({ leader: "1", term: 2 });
    const down = (at: number) => (at >= 2 && at < 5 ? { error: "refused" } : up());
    const members = [voters(0, "a", "b", "c")];
    const one = [...looks("a", up), ...looks("b", up), ...looks("c", down)];
    expect(withoutQuorumUs({ attempts: [], looks: one, members }, window)).toBe(0);
    const two = [...looks("a", up), ...looks("b", down), ...looks("c", down)];
    expect(withoutQuorumUs({ attempts: [], looks: two, members }, window) / SECOND).toBeCloseTo(3, 0);
  });

  it("count a majority of those who vote at the time, whether they are looked at or not", () => {
    const up = () => ({ leader: "1", term: 2 });
    const seen = [...looks("a", up), ...looks("b", up), ...looks("c", up)];
    const grown = [voters(0, "a", "b", "c"), voters(4, "a", "b", "c", "d", "e", "f", "g")];
    expect(withoutQuorumUs({ attempts: [], looks: seen, members: grown }, window) / SECOND).toBeCloseTo(6, 1);
    // A learner that does not answer yet is no voter.
    const learner = looks("d", () => ({ error: "refused" }));
    const members = [voters(0, "a", "b", "c")];
    expect(withoutQuorumUs({ attempts: [], looks: [...seen, ...learner], members }, window)).toBe(0);
    const pair = [...looks("a", up), ...learner, ...looks("e", () => ({ error: "refused" }))];
    expect(withoutQuorumUs({ attempts: [], looks: pair, members: [voters(0, "a")] }, window)).toBe(0);
  });

  it("see looks that overlap: an answer counts before a later timeout of an earlier look", () => {
    const answers = looks("a", () => ({ leader: "1", term: 2 }));
    const slow = answers.map((each) => ({ ...each, end: each.start + SECOND, error: "timeout" }));
    const record = { attempts: [], looks: [...slow, ...answers], members: [voters(0, "a")] };
    expect(withoutQuorumUs(record, window)).toBe(0);
  });

  it("take an acknowledged write for a majority where members answer late", () => {
    const late = looks("a", (at) => (at >= 2 && at < 5 ? { error: "timeout" } : { leader: "1", term: 2 }));
    const record = (attempts: Attempt[]) => ({ attempts, looks: late, members: [voters(0, "a")] });
    const writes = Array.from({ length: 75 }, (_, at) => write(2_000 + 40 * at, 2_020 + 40 * at));
    expect(withoutQuorumUs(record(writes), window) / SECOND).toBeCloseTo(0, 0);
    const failed = writes.map((each) => ({ ...each, error: "timeout" }));
    expect(withoutQuorumUs(record(failed), window) / SECOND).toBeCloseTo(3, 0);
    const reads = writes.map((each) => ({ ...each, kind: "read" as const }));
    expect(withoutQuorumUs(record(reads), window) / SECOND).toBeCloseTo(3, 0);
    expect(withoutQuorumUs(record([write(1_000, 4_000)]), window) / SECOND).toBeCloseTo(2.95, 1);
  });

  it("leave out the last line while it is being written", () => {
    expect(parseRecord(`${JSON.stringify(write(0, 1))}\n{"kind":"wri`).attempts).toHaveLength(1);
  });
});
