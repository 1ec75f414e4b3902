import type { Grant, MemberReport } from "lockstep/sdk";
import { describe, expect, it } from "vitest";
import { Calms } from "./calm.ts";
import type { EtcdView } from "./etcd.ts";
import { countServing, type Seen } from "./status.ts";

const grant = { epoch: 3 } as Grant;
const before = { epoch: 3, ready: 2 } as MemberReport;
const member = (name: string, isLearner = false) => ({ id: name, address: `${name}.east`, isLearner });
const view: EtcdView = { members: [member("a"), member("b")], leader: member("a"), term: "1" };
const seen = (name: string, more: Partial<Seen> = {}): Seen => ({
  name,
  address: `${name}.east`,
  state: "member",
  hasVolume: true,
  takesPart: true,
  tookPart: true,
  process: "ready",
  ...more,
});

describe("the instances that count as ready", () => {
  it("are those that take part and that etcd lists as voters", () => {
    expect(countServing(before, grant, [seen("a"), seen("b")], view, false)).toMatchObject({ isCertain: true });
    const learner: EtcdView = { ...view, members: [member("a"), member("b", true)] };
    for (const other of [learner, { ...view, members: [member("a")] }]) {
      const { serving, isCertain } = countServing(before, grant, [seen("a"), seen("b")], other, false);
      expect(serving.map(({ name }) => name)).toEqual(["a"]);
      expect(isCertain).toBe(false);
    }
  });

  it("are also those that have missed an answer, and nothing is certain then", () => {
    const late = seen("b", { takesPart: false, process: "starting" });
    const counted = (each: Seen) => countServing(before, grant, [seen("a"), each], view, false);
    expect(counted(late)).toMatchObject({ serving: [{ name: "a" }, { name: "b" }], isCertain: false });
    expect(counted({ ...late, tookPart: false }).serving.map(({ name }) => name)).toEqual(["a"]);
    const removed: EtcdView = { ...view, members: [member("a")] };
    expect(countServing(before, grant, [seen("a"), late], removed, false).serving).toHaveLength(1);
  });

  it("are none while etcd does not show its members, and nothing is certain then", () => {
    const { serving, isCertain } = countServing(before, grant, [seen("a"), seen("b")], undefined, false);
    expect(serving).toEqual([]);
    expect(isCertain).toBe(false);
  });

  it("are none in a cluster that has none, which is certain without etcd", () => {
    expect(countServing(before, grant, [], undefined, false)).toEqual({ serving: [], isCertain: true });
  });

  it("are as many as before while etcd elects a leader, and nothing is certain then", () => {
    const present = [seen("a"), seen("b", { takesPart: false, tookPart: false, process: "starting" })];
    const { serving, isCertain } = countServing(before, grant, present, undefined, true);
    expect(serving).toHaveLength(2);
    expect(isCertain).toBe(false);
    expect(countServing(before, grant, [seen("a"), seen("b")], undefined, true).isCertain).toBe(false);
    expect(countServing({ ...before, epoch: 2 }, grant, present, undefined, true).serving).toEqual([]);
  });
});

describe("what is remembered of each etcd", () => {
  it("is which members took part within the last three seconds", () => {
    const calm = new Calms().of("1", 0);
    expect(calm.wasHeard("a", 0)).toBe(false);
    calm.heard("a", 0);
    expect([calm.wasHeard("a", 2_999), calm.wasHeard("a", 3_000), calm.wasHeard("b", 0)]).toEqual([true, false, false]);
  });

  it("is kept while its object is reconciled, and forgotten when the object is gone", () => {
    const calms = new Calms();
    const first = calms.of("1", 0);
    calms.of("2", 0);
    for (let nowMs = 0; nowMs <= 300_000; nowMs += 1_000) expect(calms.of("1", nowMs)).toBe(first);
    expect(calms.size).toBe(1);
  });
});
