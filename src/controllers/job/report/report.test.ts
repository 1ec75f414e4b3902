import { expect, it } from "vitest";
import { parseCrossClusterJob } from "../../../api/index.ts";
import { type Attempt, emptyJobLedger } from "../../../jobs/index.ts";
import type { JsonObject } from "../../../runtime/index.ts";
import { jobStatusOf } from "./report.ts";

const WAITS = {
  code: "AttemptLost",
  cluster: "member1",
  message: "it is lost",
  remedy: "if it is gone: lockstep confirm-lost member1 ccj/NAME",
} as const;

function statusOf(workload: JsonObject, attempts: readonly Attempt[] = []) {
  const parsed = parseCrossClusterJob({
    apiVersion: "apps.karmada.io/v1alpha1",
    kind: "CrossClusterJob",
    metadata: { name: "train", namespace: "default", uid: "u" },
    spec: {
      template: { apiVersion: "argoproj.io/v1alpha1", kind: "Workflow", spec: {} },
      clusters: { names: ["member1"] },
    },
  });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.errors));
  const figures = { active: 0, succeeded: 0, failed: 0, wanted: 1, completed: 0, completedIndexes: "" };
  const plan = {
    ledger: { ...emptyJobLedger("digest"), attempts },
    standing: [],
    actions: [],
    waiting: [WAITS],
    figures,
    isFinished: false,
  };
  const newest = { apiVersion: "argoproj.io/v1alpha1", kind: "Workflow", metadata: { name: "a" }, status: workload };
  return jobStatusOf({ job: parsed.value, plan, failures: [], newest, nowMs: 0 }, undefined);
}

function attempt(number: number, more: Partial<Attempt>): Attempt {
  return {
    ...{
      number,
      cluster: "member1",
      share: { kind: "whole" },
      startedAtMs: 0,
      isSwitched: false,
      uid: "u",
      readAtMs: 0,
    },
    ...{ grant: { epoch: 1, parallelism: 0, deadlineSeconds: null }, latestDeadlineSeconds: 0, unheardSinceMs: null },
    ...{ pendingSinceMs: null, goneSinceMs: null, endSeenAtMs: null, stop: null, outcome: null, isCleaned: false },
    ...{ done: { succeeded: 0, failed: 0, indexes: "" }, mayRunTwice: false },
    ...more,
  };
}

it("a remedy names the object, so that it can be pasted", () => {
  const { message, waiting } = statusOf({});
  expect(message).toBe("it is lost. if it is gone: lockstep confirm-lost member1 ccj/train");
  expect(waiting?.[0]?.remedy).toBe("if it is gone: lockstep confirm-lost member1 ccj/train");
});

it("the attempt's own status is shown whole if it is small", () => {
  const workload = { phase: "Running", nodes: { a: { phase: "Running" } } };
  expect(statusOf(workload).workload).toEqual(workload);
});

it("a status that is too large for the hub is shown without its largest fields", () => {
  const nodes = Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [`node-${at}`, { phase: "Succeeded" }]));
  const { workload } = statusOf({ nodes, phase: "Running", progress: "5000/5000" });
  expect(workload).toEqual({ phase: "Running", progress: "5000/5000" });
});

it("[J15] only an attempt that was never allowed to run is Starting: a lost ledger forgets what such a one has done", () => {
  const ending = { kind: "succeeded", reason: "Completed", message: "", atMs: 0 } as const;
  const granted = (parallelism: number) => ({ grant: { epoch: 2, parallelism, deadlineSeconds: null } });
  const { attempts = [] } = statusOf({}, [
    attempt(1, {}),
    attempt(2, granted(3)),
    attempt(3, granted(0)),
    attempt(4, { ...granted(0), ending }),
    attempt(5, { ...granted(0), stop: { reason: "Drained", message: "" } }),
  ]);
  expect(attempts.map(({ state }) => state)).toEqual(["Starting", "Running", "Suspended", "Stopping", "Stopping"]);
});

it("[J11] an attempt that is suspended in its cluster has no deadline in the status: none of them counts", () => {
  const switched = { isSwitched: true, latestDeadlineSeconds: 60 };
  const { attempts = [] } = statusOf({}, [attempt(1, switched), attempt(2, { ...switched, isHeld: true })]);
  expect(attempts.map(({ deadline }) => deadline)).toEqual(["1970-01-01T00:01:00Z", undefined]);
});
