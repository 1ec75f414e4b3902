/** What a member shows of an attempt, whatever its status says. */
import { expect, it } from "vitest";
import { parseCrossClusterJob } from "../../../api/index.ts";
import type { Engine } from "../../../engine/index.ts";
import type { Interpreter } from "../../../interpret/index.ts";
import { type Attempt, emptyJobLedger } from "../../../jobs/index.ts";
import type { JsonObject } from "../../../runtime/index.ts";
import { attemptRef } from "../attempt-marks.ts";
import { takeJobMoment } from "./observe.ts";

const UID = "job-uid";

function seenWith(status: JsonObject, message = "", spec: JsonObject = {}) {
  const parsed = parseCrossClusterJob({
    apiVersion: "apps.karmada.io/v1alpha1",
    kind: "CrossClusterJob",
    metadata: { name: "train", namespace: "default", uid: "u" },
    spec: {
      template: { apiVersion: "batch/v1", kind: "Job", spec: { template: {} } },
      clusters: { names: ["member1"] },
    },
  });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.errors));
  const job = parsed.value;
  const ref = attemptRef(job, 1);
  const object = {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name: ref.name, namespace: "default", uid: UID },
    spec: { parallelism: 1, ...spec },
    status,
  };
  const engine = {
    clusters: () => [],
    dispatched: () => [],
    snapshot: () => ({ kind: "present", object, source: "live", atMs: 0 }),
  } as unknown as Engine;
  const completion = { state: "failed", reason: "Failed", message };
  const interpreter = { interpret: () => ({ state: "known", value: completion }) } as unknown as Interpreter;
  const attempt = { number: 1, cluster: "member1", uid: UID, isCleaned: false, outcome: null } as Attempt;
  const ledger = { ...emptyJobLedger(""), attempts: [attempt], nextAttempt: 2 };
  const bundle = { kind: "CrossClusterJob", namespace: "default", name: "train", objects: [ref] } as const;
  const looks = { look: () => undefined, ends: () => {} };
  const session = { ledger, term: 1, stamped: true };
  return takeJobMoment({ engine, interpreter, looks }, job, bundle, session, [], 0).seen.attempts[1];
}

it("a count that is none is unknown: the hub would refuse a status that repeats it", () => {
  const seen = seenWith({ active: 1.5, succeeded: -1, failed: Number.MAX_VALUE, terminating: "2", ready: 1 });
  for (const count of ["active", "succeeded", "failed", "terminating"]) expect(seen).not.toHaveProperty(count);
  expect(seenWith({ active: 0, succeeded: 3 })).toMatchObject({ active: 0, succeeded: 3 });
});

it("a message is short, and cannot control a terminal", () => {
  expect(seenWith({}, "exit\u001b[2J 1\nnext\u202eline")).toMatchObject({ message: "exit [2J 1 next line" });
  const seen = seenWith({}, "x".repeat(100_000));
  expect(seen).toMatchObject({ message: "x".repeat(1024) });
});

it("a Job whose pods run is not pending, also if its status does not say how many of them are ready", () => {
  expect(seenWith({})).toMatchObject({ isPending: true });
  expect(seenWith({ active: 1, ready: 0 })).toMatchObject({ isPending: true });
  expect(seenWith({ active: 0 })).toMatchObject({ isPending: true });
  expect(seenWith({ active: 1, ready: 1 })).toMatchObject({ isPending: false });
  expect(seenWith({ active: 1 })).toMatchObject({ isPending: false });
  expect(seenWith({ active: 1, ready: 0, succeeded: 1 })).toMatchObject({ isPending: false });
});

it("[J11] a Job is suspended by its spec, and until its Job controller has resumed it", () => {
  const conditions = (status: string) => [{ type: "Suspended", status, reason: "", message: "" }];
  const startTime = "2026-01-01T00:00:00Z";
  expect(seenWith({ startTime })).not.toHaveProperty("isSuspended");
  expect(seenWith({ startTime }, "", { suspend: true })).toMatchObject({ isSuspended: true, startTime });
  expect(seenWith({ startTime, conditions: conditions("True") })).toMatchObject({ isSuspended: true });
  expect(seenWith({ startTime, conditions: conditions("False") })).not.toHaveProperty("isSuspended");
  expect(seenWith({ startTime: 5 })).not.toHaveProperty("startTime");
  expect(seenWith({ startTime: "x".repeat(1_000) })).toMatchObject({ startTime: "x".repeat(64) });
});
