import { describe, expect, it } from "vitest";
import { type Grant, type InstanceView, nextStep } from "./index.ts";

const grant: Grant = {
  cluster: "east",
  epoch: 3,
  revision: "new",
  processor: true,
  topology: [],
  topologyVersion: 1,
  partition: 0,
};
const idle: Grant = { ...grant, processor: false };

function instance(name: string, rest: Partial<InstanceView> = {}): InstanceView {
  return { name, address: name, state: "member", process: "ready", revision: "new", hasVolume: true, ...rest };
}
const missing = { process: "none", revision: undefined } as const;

describe("the next step of an operator on the contract", () => {
  it("is nothing when everything runs as granted", () => {
    expect(nextStep(grant, [instance("a"), instance("b")])).toEqual({ do: "nothing" });
  });

  it("recreates a lost member on its volume, with and without the turn", () => {
    const lost = instance("a", missing);
    expect(nextStep(grant, [lost])).toEqual({ do: "recreate", instance: lost });
    expect(nextStep(idle, [lost])).toEqual({ do: "recreate", instance: lost });
  });

  it("without the turn creates no new instance, removes none and restarts none", () => {
    expect(nextStep(idle, [instance("a", { ...missing, state: "joining", hasVolume: false })])).toEqual({
      do: "nothing",
    });
    expect(nextStep(idle, [instance("a", { state: "leaving" })])).toEqual({ do: "nothing" });
    expect(nextStep(idle, [instance("a", { revision: "old" })])).toEqual({ do: "nothing" });
  });

  it("replaces a member whose volume is lost only with the turn, and says that it waits for it", () => {
    const lost = instance("a", { ...missing, hasVolume: false });
    expect(nextStep(idle, [lost])).toMatchObject({ do: "wait", why: expect.stringContaining("volume of a is lost") });
    expect(nextStep(grant, [lost])).toEqual({ do: "join", instance: lost });
  });

  it("starts a joining instance on an empty volume although a volume of an earlier life is left", () => {
    const joining = instance("a", { ...missing, state: "joining" });
    expect(nextStep(grant, [joining])).toEqual({ do: "join", instance: joining });
  });

  it("moves the leader first, if it is in this cluster and not there already", () => {
    const asked: Grant = { ...grant, transferLeaderTo: "z" };
    expect(nextStep(asked, [instance("a", { revision: "old" })], "a")).toEqual({ do: "transferLeader", to: "z" });
    expect(nextStep(asked, [instance("a")], "z")).toEqual({ do: "nothing" });
    expect(nextStep(asked, [instance("a")])).toEqual({ do: "nothing" });
  });

  it("restarts no running instance while it is not known who leads, if the leader is asked to move", () => {
    const asked: Grant = { ...grant, transferLeaderTo: "z" };
    const outdated = instance("a", { revision: "old" });
    expect(nextStep(asked, [outdated])).toMatchObject({ do: "wait", why: expect.stringContaining("who leads") });
    expect(nextStep(asked, [outdated], "z")).toMatchObject({ do: "restart" });
    expect(nextStep(grant, [outdated])).toMatchObject({ do: "restart" });
    const broken = instance("a", { revision: "old", process: "down" });
    expect(nextStep(asked, [broken])).toMatchObject({ do: "restart" });
  });

  it("restarts one instance at a time, from the highest ordinal down, the leader last", () => {
    const outdated = [
      instance("a", { revision: "old" }),
      instance("b", { revision: "old" }),
      instance("c", { revision: "old" }),
    ];
    expect(nextStep(grant, outdated, "c")).toMatchObject({ do: "restart", instance: { name: "b" } });
    expect(nextStep(grant, outdated.slice(0, 1), "a")).toMatchObject({ do: "restart", instance: { name: "a" } });
    expect(nextStep(grant, [instance("a", { revision: "old" }), instance("b", { process: "starting" })])).toMatchObject(
      { do: "wait" },
    );
  });

  it("leaves the first instances of a partition on the old revision", () => {
    const outdated = [instance("a", { revision: "old" }), instance("b", { revision: "old" })];
    expect(nextStep({ ...grant, partition: 1 }, outdated)).toMatchObject({ do: "restart", instance: { name: "b" } });
    expect(nextStep({ ...grant, partition: 2 }, outdated)).toEqual({ do: "nothing" });
  });

  it("does not wait for a broken instance of another revision, and waits for one that may only be slow", () => {
    const slow = instance("a", { revision: "old", process: "starting" });
    expect(nextStep(grant, [slow, instance("b", { revision: "old" })])).toMatchObject({ do: "wait" });
    const broken = instance("a", { revision: "old", process: "down" });
    expect(nextStep(grant, [broken, instance("b", { revision: "old" })])).toEqual({ do: "restart", instance: broken });
  });

  it("removes a leaving instance until neither its process nor its volume is left", () => {
    const leaving = instance("b", { state: "leaving" });
    expect(nextStep(grant, [instance("a"), leaving])).toEqual({ do: "remove", instance: leaving });
    expect(nextStep(grant, [instance("b", { ...missing, state: "leaving", hasVolume: false })])).toEqual({
      do: "nothing",
    });
  });
});
