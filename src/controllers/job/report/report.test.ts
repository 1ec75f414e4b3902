import { expect, it } from "vitest";
import { parseCrossClusterJob } from "../../../api/index.ts";
import { emptyJobLedger } from "../../../jobs/index.ts";
import type { JsonObject } from "../../../runtime/index.ts";
import { jobStatusOf } from "./report.ts";

const WAITS = {
  code: "AttemptLost",
  cluster: "member1",
  message: "it is lost",
  remedy: "if it is gone: lockstep confirm-lost member1 ccj/NAME",
} as const;

function statusOf(workload: JsonObject) {
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
    ledger: emptyJobLedger("digest"),
    standing: [],
    actions: [],
    waiting: [WAITS],
    figures,
    isFinished: false,
  };
  const newest = { apiVersion: "argoproj.io/v1alpha1", kind: "Workflow", metadata: { name: "a" }, status: workload };
  return jobStatusOf({ job: parsed.value, plan, failures: [], newest, nowMs: 0 }, undefined);
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
