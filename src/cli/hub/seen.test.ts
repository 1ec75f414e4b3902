import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../runtime/index.ts";
import { expectSeen, named, seenOf } from "./seen.ts";

function object(status: JsonObject, uid = "1") {
  return { apiVersion: "apps.karmada.io/v1alpha1", kind: "Any", metadata: { name: "web", uid }, status };
}

describe("what was seen", () => {
  const status = {
    updateRevision: "web-b",
    rollout: { from: "web-a", to: "web-b", wave: 2, soakUntil: "2026-01-01T00:00:00Z" },
  };

  it("of a CrossClusterStatefulset is its revision, its wave, and what holds it", () => {
    expect(seenOf(object(status))).toEqual({ uid: "1", revision: "web-b", from: "web-a", wave: 2, past: ["soak"] });
    expect(seenOf(object({ updateRevision: "web-b" }))).toEqual({ uid: "1", revision: "web-b", past: [] });
  });

  it("of a DistributedApplication is the same, by its reasons", () => {
    const rollout = { from: "notes-1", to: "notes-2", wave: 1 };
    const clusters = [{ name: "west", reason: "WindowClosed" }];
    expect(seenOf(object({ revision: "notes-2", rollout, reason: "Soaking", clusters }))).toEqual({
      uid: "1",
      revision: "notes-2",
      from: "notes-1",
      wave: 1,
      past: ["soak", "window"],
    });
  });

  it("of a CrossClusterJob is its last attempt", () => {
    expect(seenOf(object({ attempts: [{ number: 1 }, { number: 3 }, { number: 2 }] }))).toMatchObject({ attempt: 3 });
  });

  it.each<[string, JsonObject, string, string]>([
    ["another object of the same name", status, "2", "it was deleted, and another one has its name"],
    [
      "another revision",
      { ...status, rollout: { ...status.rollout, to: "web-c" } },
      "1",
      "it was to run revision web-b, and is now to run web-c",
    ],
    ["another start", { ...status, rollout: { ...status.rollout, from: "web-0" } }, "1", "is now one from web-0"],
    ["a rollout that is over", { updateRevision: "web-b" }, "1", "started from web-a, and is now over"],
    ["another wave", { ...status, rollout: { ...status.rollout, wave: 3 } }, "1", "at wave 2, and is now at wave 3"],
    [
      "another hold",
      { ...status, rollout: { ...status.rollout, windowClosed: true } },
      "1",
      "it waited for its soak, and now waits for its soak and a maintenance window",
    ],
    ["another attempt", { ...status, attempts: [{ number: 4 }] }, "1", "was number none, and is now number 4"],
  ])("refuses %s, in words", (_, now, uid, words) => {
    const seen = { ...seenOf(object(status)), attempt: undefined };
    expect(() => expectSeen("web", seen as never, object(now, uid))).toThrow(
      new RegExp(`^web has changed since you looked: .*${words}\\. Nothing was done\\. Look again, then decide$`),
    );
  });

  it("refuses nothing of what the action does not depend on", () => {
    expectSeen("web", { uid: "1" }, object({ ...status, rollout: { ...status.rollout, wave: 3 } }));
  });

  it("is named by options, which must be numbers where they are counted", () => {
    expect(named({ revision: "web-b", wave: "2" })).toEqual({ revision: "web-b", wave: 2 });
    expect(() => named({ wave: "first" })).toThrow("--wave 'first' is not a number from 1");
  });
});
