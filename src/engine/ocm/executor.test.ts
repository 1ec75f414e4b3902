import { expect, it } from "vitest";
import { EXECUTOR_ANNOTATION, executorIn, executorOf, readExecutor } from "./executor.ts";
import { APP, LINEAGE, orderFor, reported, SENT_AT_MS } from "./testing/agent.ts";
import { outlineOf, readWork, removing, workFor } from "./works.ts";

const EXECUTOR = { namespace: "lockstep-system", name: "lockstep" };
const writing = { plural: "statefulsets", lineage: LINEAGE, nowMs: SENT_AT_MS, pods: [] };
const work = workFor(APP, orderFor(1), undefined, { ...writing, executor: EXECUTOR });
const written = { ...work, metadata: { ...work.metadata, uid: "u1", generation: 1 } };

it("what is dispatched names the account, also when it is outlined and removed", () => {
  expect(work.spec).toMatchObject({
    executor: {
      subject: { type: "ServiceAccount", serviceAccount: { namespace: "lockstep-system", name: "lockstep" } },
    },
  });
  expect(executorIn(outlineOf(written))).toEqual(EXECUTOR);
  const gone = removing(outlineOf(written), "statefulsets");
  expect(gone && executorIn(gone)).toEqual(EXECUTOR);
  expect(workFor(APP, orderFor(1), undefined, writing).spec).not.toHaveProperty("executor");
});

it("an account that lacks a right is a failed delivery that says which account, and what to do", () => {
  const message = "Failed to apply manifest: not allowed to apply the resource apps statefulsets, default web";
  const { delivery } = readWork(reported(written, { applied: false, message })) ?? {};
  expect(delivery).toMatchObject({
    state: "failed",
    message: expect.stringContaining("lockstep install --apply --executor lockstep-system/lockstep"),
  });
  const other = readWork(reported(written, { applied: false, message: "conflict" }));
  expect(other?.delivery.message).toBe("conflict");
});

it("a cluster's account is that of the ManifestWork which carries it, unless that is being deleted", () => {
  const carrier = {
    apiVersion: "work.open-cluster-management.io/v1",
    kind: "ManifestWork",
    metadata: { name: "lockstep-executor", annotations: { [EXECUTOR_ANNOTATION]: "lockstep-system/lockstep" } },
  };
  expect(executorOf(carrier)).toEqual(EXECUTOR);
  const ending = { ...carrier, metadata: { ...carrier.metadata, deletionTimestamp: "2025-01-01T00:00:00Z" } };
  expect(executorOf(ending)).toBeUndefined();
  expect(executorOf(undefined)).toBeUndefined();
});

it("text that names no account is refused", () => {
  for (const text of ["", "a", "a/b/c", "/b", "a/", "A/b", "a/b c"]) expect(readExecutor(text)).toBeUndefined();
});
