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

  const leads = () => ({ id: "1", leader: "1", term: 2 });
  const follows = () => ({ id: "2", leader: "1", term: 2 });
  const quorumSeconds = (seen: Look[], members: Members[], attempts: Attempt[] = []) =>
    withoutQuorumUs({ attempts, looks: seen, members }, window) / SECOND;

  it("count the time in which no majority has a leader", () => {
    const down = (at: number) => (at >= 2 && at < 5 ? { error: "refused" } : follows());
    const members = [voters(0, "a", "b", "c")];
    const one = [...looks("a", leads), ...looks("b", follows), ...looks("c", down)];
    expect(quorumSeconds(one, members)).toBe(0);
    const two = [...looks("a", leads), ...looks("b", down), ...looks("c", down)];
    expect(quorumSeconds(two, members)).toBeCloseTo(2.9, 1);
  });

  it("count the time in which a majority names a leader that is gone, or another one each", () => {
    const members = [voters(0, "a", "b", "c")];
    const gone = looks("a", (at) => (at >= 2 && at < 5 ? { error: "refused" } : leads()));
    expect(quorumSeconds([...gone, ...looks("b", follows), ...looks("c", follows)], members)).toBeCloseTo(2.9, 1);
    const alone = looks("b", () => ({ id: "2", leader: "2", term: 2 }));
    const none = looks("c", () => ({ id: "3", leader: "0", term: 2 }));
    expect(quorumSeconds([...looks("a", leads), ...alone, ...none], members)).toBe(10);
  });

  it("see no loss in a move of the leader that members tell of at different times", () => {
    const moved = (id: string, second: number) => (at: number) =>
      at < second ? { id, leader: "1", term: 2 } : { id, leader: "2", term: 3 };
    const seen = ["a", "b", "c"].flatMap((each, at) => looks(each, moved(String(at + 1), 4 + at / 20)));
    expect(quorumSeconds(seen, [voters(0, "a", "b", "c")])).toBe(0);
  });

  it("count a majority of those who vote at the time, whether they are looked at or not", () => {
    const seen = [...looks("a", leads), ...looks("b", follows), ...looks("c", follows)];
    const grown = [voters(0, "a", "b", "c"), voters(4, "a", "b", "c", "d", "e", "f", "g")];
    expect(quorumSeconds(seen, grown)).toBeCloseTo(6, 1);
    // A learner that does not answer yet is no voter.
    const learner = looks("d", () => ({ error: "refused" }));
    expect(quorumSeconds([...seen, ...learner], [voters(0, "a", "b", "c")])).toBe(0);
    const pair = [...looks("a", leads), ...learner, ...looks("e", () => ({ error: "refused" }))];
    expect(quorumSeconds(pair, [voters(0, "a")])).toBe(0);
  });

  it("see looks that overlap: an answer counts before a later timeout of an earlier look", () => {
    const answers = looks("a", leads);
    const slow = answers.map((each) => ({ ...each, end: each.start + SECOND, error: "timeout" }));
    expect(quorumSeconds([...slow, ...answers], [voters(0, "a")])).toBe(0);
  });

  it("take an acknowledged write for a majority where members answer late, but not where they refuse", () => {
    const members = [voters(0, "a", "b", "c")];
    const fails = (error: string) => {
      const down = (at: number) => (at >= 2 && at < 5 ? { error } : follows());
      return [...looks("a", leads), ...looks("b", down), ...looks("c", down)];
    };
    const late = fails("context deadline exceeded");
    const writes = Array.from({ length: 15 }, (_, at) => write(2_000 + 200 * at, 2_190 + 200 * at));
    expect(quorumSeconds(late, members, writes)).toBe(0);
    const failed = writes.map((each) => ({ ...each, error: "timeout" }));
    const reads = writes.map((each) => ({ ...each, kind: "read" as const }));
    for (const none of [failed, reads]) expect(quorumSeconds(late, members, none)).toBeCloseTo(2.9, 1);
    expect(quorumSeconds(late, members, [write(1_000, 4_000)])).toBeCloseTo(2.65, 1);
    expect(quorumSeconds(fails("connection refused"), members, writes)).toBeCloseTo(2.9, 1);
  });

  it("leave out the last line while it is being written", () => {
    expect(parseRecord(`${JSON.stringify(write(0, 1))}\n{"kind":"wri`).attempts).toHaveLength(1);
  });
});
