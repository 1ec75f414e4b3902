import { describe, expect, it } from "vitest";
import type { KubeObject } from "../../kube/index.ts";
import { rolloutStart, timelineOf, withStatus } from "./timeline.ts";

const at = (second: number) => `2026-01-01T00:00:${String(second).padStart(2, "0")}Z`;
const ms = (second: number) => Date.parse(at(second));

function event(reason: string, message: string, first: number, last = first, type = "Normal"): KubeObject {
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name: `${reason}-${first}` },
    reason,
    message,
    type,
    firstTimestamp: at(first),
    lastTimestamp: at(last),
  };
}

describe("the timeline", () => {
  it("has a bar from the Event by which a step begins to the one by which it ends", () => {
    const events = [
      event("Updating", "west: followers first", 10),
      event("StepFinished", "west: its step is finished", 14),
      event("Updating", "east: its turn", 14),
    ];
    expect(timelineOf(events, ms(10), ms(20)).spans).toEqual([
      { cluster: "west", what: "Updating", why: "followers first", fromMs: ms(10), toMs: ms(14) },
      { cluster: "east", what: "Updating", why: "its turn", fromMs: ms(14) },
    ]);
  });

  it("reads an Event that stands for several similar ones as the last of them, at its time", () => {
    const combined = event("Updating", "(combined from similar events): north: its turn", 2, 20);
    expect(timelineOf([combined], ms(0), ms(25)).spans).toEqual([
      { cluster: "north", what: "Updating", why: "its turn", fromMs: ms(20) },
    ]);
  });

  it("leaves out what was before the rollout, also if equal Events were counted in one object", () => {
    const events = [
      event("Updating", "west: followers first", 1, 30),
      event("StepFinished", "west: its step is finished", 5, 34),
    ];
    const { spans } = timelineOf(events, ms(30), ms(40));
    expect(spans).toEqual([
      { cluster: "west", what: "Updating", why: "followers first", fromMs: ms(30), toMs: ms(34) },
    ]);
  });

  it("keeps one bar for a cluster that is granted instance by instance", () => {
    const events = [
      event("Updating", "west: the first", 10),
      event("Updating", "west: the second", 12),
      event("TurnReturned", "west: done", 15),
    ];
    expect(timelineOf(events, ms(10), ms(20)).spans).toMatchObject([{ fromMs: ms(10), toMs: ms(15) }]);
  });

  it("ends a step that another one of the same cluster follows", () => {
    const events = [event("Updating", "west: go", 10), event("RollingBack", "west: it failed", 20)];
    expect(timelineOf(events, ms(10), ms(25)).spans).toMatchObject([
      { what: "Updating", toMs: ms(20) },
      { what: "RollingBack", fromMs: ms(20) },
    ]);
  });

  it("keeps warnings and acts as notes, and no bookkeeping", () => {
    const events = [
      event("Paused", "the rollout is paused", 11, 11, "Warning"),
      event("Reasserted", "west: written again", 12),
    ];
    expect(timelineOf(events, ms(10), ms(20)).notes).toEqual([
      { atMs: ms(11), isWarning: true, reason: "Paused", message: "the rollout is paused" },
    ]);
  });

  it("ignores Events that are not readable", () => {
    const broken: KubeObject = { apiVersion: "v1", kind: "Event", metadata: { name: "x" }, reason: 7, message: null };
    expect(timelineOf([broken], undefined, ms(5))).toEqual({ fromMs: ms(5), spans: [], holds: [], notes: [] });
  });
});

describe("the start of a rollout", () => {
  const history = [{ revision: "web-b", createdAt: at(20) }];

  it("is the running one's", () => {
    expect(rolloutStart(undefined, { rollout: { since: at(30) }, updateRevision: "web-b", history })).toBe(ms(30));
  });

  it("is the creation of the revision if none runs", () => {
    expect(rolloutStart(undefined, { updateRevision: "web-b", history })).toBe(ms(20));
    expect(rolloutStart(undefined, { updateRevision: "web-x", history })).toBeUndefined();
  });

  it("is the creation of a newer revision that was given up: the last rollout went back from it", () => {
    const given = [...history, { revision: "web-c", createdAt: at(40) }];
    expect(rolloutStart(undefined, { updateRevision: "web-b", history: given })).toBe(ms(40));
  });
});

describe("the timeline with the status", () => {
  it("has a bar for a step that runs and whose Event was dropped", () => {
    const status = { clusters: [{ name: "west", phase: "Updating", since: at(12), message: "1 of 2" }] };
    expect(withStatus(timelineOf([], ms(10), ms(15)), status, ms(15)).spans).toEqual([
      { cluster: "west", what: "Updating", why: "1 of 2", fromMs: ms(12) },
    ]);
  });

  it("has one bar for a step of which the Events already tell the end, and the status not yet", () => {
    const events = [event("Updating", "west: go", 10), event("StepFinished", "west: done", 18)];
    const status = { clusters: [{ name: "west", phase: "Updating", since: at(11) }] };
    expect(withStatus(timelineOf(events, ms(10), ms(20)), status, ms(20)).spans).toMatchObject([
      { fromMs: ms(10), toMs: ms(18) },
    ]);
  });

  it("ends the bar of a step that is over and whose last Event was dropped", () => {
    const timeline = timelineOf([event("Updating", "west: go", 10)], ms(10), ms(20));
    const status = { clusters: [{ name: "west", phase: "Settled", since: at(14) }] };
    expect(withStatus(timeline, status, ms(20)).spans).toMatchObject([{ fromMs: ms(10), toMs: ms(14) }]);
  });
});
