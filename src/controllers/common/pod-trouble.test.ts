import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../runtime/index.ts";
import { podTrouble, troubleWord } from "./pod-trouble.ts";

const pod = (status: JsonObject) => ({ apiVersion: "v1", kind: "Pod", metadata: { name: "web-0" }, status });
const container = (state: JsonObject, lastState: JsonObject = {}) =>
  pod({ containerStatuses: [{ name: "web", state, lastState }] });
const ended = (exitCode: number) => ({ terminated: { exitCode, reason: "Error", finishedAt: "2025-01-01T00:00:00Z" } });

describe("a pod that is not ready", () => {
  it("says why its container waits, and how it ended the last time", () => {
    const crashing = { waiting: { reason: "CrashLoopBackOff", message: "back-off 5m0s restarting failed container" } };
    const found = podTrouble(container(crashing, ended(137)));
    expect(found).toEqual({
      reason: "CrashLoopBackOff",
      message: "back-off 5m0s restarting failed container",
      container: "web",
      last: { exitCode: 137, reason: "Error", finishedAt: "2025-01-01T00:00:00Z" },
    });
    expect(found && troubleWord(found)).toBe("CrashLoopBackOff (exit code 137)");
  });

  it("says that its image cannot be had", () => {
    const waiting = { waiting: { reason: "ImagePullBackOff", message: 'Back-off pulling image "web:2"' } };
    expect(podTrouble(container(waiting))).toMatchObject({ reason: "ImagePullBackOff", container: "web" });
  });

  it("says that no node takes it", () => {
    const scheduled = { type: "PodScheduled", status: "False", reason: "Unschedulable", message: "0/3 nodes" };
    expect(podTrouble(pod({ conditions: [scheduled] }))).toEqual({ reason: "Unschedulable", message: "0/3 nodes" });
  });

  it("says that it was evicted, that it ended, and that it has ended before", () => {
    expect(podTrouble(pod({ phase: "Failed", reason: "Evicted" }))).toEqual({ reason: "Evicted" });
    expect(podTrouble(container(ended(2)))).toMatchObject({ reason: "Error", last: { exitCode: 2 } });
    expect(podTrouble(container({ running: {} }, ended(1)))).toMatchObject({
      reason: "Restarted",
      last: { exitCode: 1 },
    });
  });

  it("has no trouble to report while it starts, and when it is ready", () => {
    expect(podTrouble(container({ waiting: { reason: "ContainerCreating" } }))).toBeUndefined();
    expect(podTrouble(container({ running: {} }))).toBeUndefined();
    expect(podTrouble(pod({}))).toBeUndefined();
    const ready = pod({
      conditions: [{ type: "Ready", status: "True" }],
      containerStatuses: [{ name: "web", state: { running: {} }, lastState: ended(1) }],
    });
    expect(podTrouble(ready)).toBeUndefined();
  });

  it("cannot put words of its own into a status", () => {
    const own = { waiting: { reason: "password: hunter2 \u001b[31m", message: "m" } };
    expect(podTrouble(container(own))).toBeUndefined();
    const found = podTrouble(container({ waiting: { reason: "CrashLoopBackOff", message: "password: hunter2" } }));
    expect(found && troubleWord(found)).toBe("CrashLoopBackOff");
  });
});
