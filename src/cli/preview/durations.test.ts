import { expect, it } from "vitest";
import type { KubeObject } from "../../kube/index.ts";
import { durationsFrom } from "./durations.ts";

const at = (seconds: number) => new Date(Date.UTC(2025, 0, 1) + seconds * 1000).toISOString();
const event = (reason: string, message: string, first: number, last = first): KubeObject => ({
  apiVersion: "v1",
  kind: "Event",
  metadata: { name: `${reason}-${first}`, namespace: "default" },
  involvedObject: { kind: "CrossClusterStatefulset", name: "web" },
  reason,
  message,
  firstTimestamp: at(first),
  lastTimestamp: at(last),
});

it("a step lasts from its Event to the return of its turn or to its own end, and is the median of those known", () => {
  const durationOf = durationsFrom([
    event("Updating", "member1: its turn", 100),
    event("TurnReturned", "member1: done", 130),
    event("Updating", "member2: its turn", 200, 300),
    event("StepFinished", "member2: done", 240, 350),
  ]);
  expect(durationOf({ kind: "update", cluster: "member1" })).toBe(30_000);
  expect(durationOf({ kind: "rollback", cluster: "member2" })).toBe(50_000);
  expect(durationOf({ kind: "update", cluster: "member9" })).toBe(40_000);
});

it("steps without an Event for their end, other kinds of work and other objects' Events have no duration", () => {
  const durationOf = durationsFrom([
    event("Updating", "member1: its turn", 100),
    event("TurnReturned", "member2: done", 240),
    { ...event("Updating", "member3: x", 1), involvedObject: { kind: "Pod" } },
  ]);
  expect(durationOf({ kind: "update", cluster: "member1" })).toBeUndefined();
  expect(durationOf({ kind: "grow", cluster: "member2" })).toBeUndefined();
  expect(durationOf({ kind: "transfer", cluster: "member1" })).toBeUndefined();
});
