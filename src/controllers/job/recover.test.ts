import { describe, expect, it } from "vitest";
import { type ParsedCrossClusterJob, parseCrossClusterJob } from "../../api/index.ts";
import { type Attempt, emptyJobLedger, nextShare, succeededOf } from "../../jobs/index.ts";
import type { JsonObject } from "../../runtime/index.ts";
import { jobIntentOf } from "./observe/intent.ts";
import { recovered } from "./recover.ts";

const AT = "2026-01-01T00:00:00Z";
const NOW_MS = Date.parse("2026-01-01T01:00:00Z");

function jobOf(spec: JsonObject = {}): ParsedCrossClusterJob {
  const parsed = parseCrossClusterJob({
    apiVersion: "apps.karmada.io/v1alpha1",
    kind: "CrossClusterJob",
    metadata: { name: "train", namespace: "default", uid: "u" },
    spec: {
      template: { apiVersion: "batch/v1", kind: "Job", spec: { template: {} } },
      clusters: { names: ["member1"] },
      ...spec,
    },
  });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.errors));
  return parsed.value;
}

it("an object without a status starts with an empty ledger", () => {
  const empty = emptyJobLedger("digest");
  expect(recovered(empty, undefined, jobOf(), NOW_MS)).toEqual(empty);
});

it("an end stays an end, and the next attempt gets a number that no attempt had", () => {
  const conditions = [
    { type: "Complete", status: "True", reason: "Completed", message: "done", lastTransitionTime: AT },
  ];
  const attempts = [{ number: 7, cluster: "member1", state: "Succeeded", startedAt: AT, finishedAt: AT }];
  const ledger = recovered(emptyJobLedger("digest"), { attempts, conditions }, jobOf(), NOW_MS);
  expect(ledger.end).toEqual({ kind: "Complete", reason: "Completed", message: "done", atMs: Date.parse(AT) });
  expect(ledger.nextAttempt).toBe(8);
  expect(ledger.attempts).toMatchObject([{ number: 7, outcome: { kind: "succeeded" } }]);
});

it("a retry that the lost ledger may have acted on is not acted on again", () => {
  const conditions = [{ type: "Failed", status: "True", reason: "AttemptFailed", message: "", lastTransitionTime: AT }];
  const ledger = recovered(emptyJobLedger("digest"), { conditions }, jobOf({ retry: "1" }), NOW_MS);
  expect(ledger).toMatchObject({ end: { kind: "Failed" }, retryHeard: "1" });
});

it("indexes that a lost attempt had done stay done; a list that was cut loses its last entry", () => {
  const cut = `${Array.from({ length: 2_000 }, (_, at) => 2 * at).join(",")}`.slice(0, 4_096);
  const row = (number: number, completedIndexes: string) => ({
    number,
    cluster: "member1",
    state: "Lost",
    startedAt: AT,
    indexes: "0-9999",
    completedIndexes,
  });
  const { attempts } = recovered(
    emptyJobLedger("digest"),
    { attempts: [row(1, "0-3,7"), row(2, cut)] },
    jobOf(),
    NOW_MS,
  );
  expect(attempts[0]?.done.indexes).toBe("0-3,7");
  const whole = cut.split(",").slice(0, -1).join(",");
  expect(attempts[1]?.done.indexes).toBe(whole);
});

describe("what attempts had done that the status does not list any more stays done", () => {
  const row = (number: number, more: JsonObject) => ({ number, cluster: "member1", startedAt: AT, ...more });
  const divided = (completionMode?: string) =>
    jobOf({
      template: {
        apiVersion: "batch/v1",
        kind: "Job",
        spec: { completions: 10, ...(completionMode && { completionMode }), template: {} },
      },
      division: completionMode ? "Indexes" : "Completions",
    });
  const leftOf = (job: ParsedCrossClusterJob, status: JsonObject) => {
    const { attempts } = recovered(emptyJobLedger("digest"), status, job, NOW_MS);
    const intent = jobIntentOf(job, { clusters: [], schedule: { kind: "unknown", message: "" }, forbidden: () => [] });
    return nextShare(intent.work, attempts, 1);
  };

  it("its indexes", () => {
    const attempts = [row(101, { state: "Lost", indexes: "6-9", completedIndexes: "6" })];
    const status = { attempts, completedIndexes: "0-6", succeeded: 7 };
    expect(leftOf(divided("Indexed"), status)).toEqual({ kind: "indexes", indexes: "7-9" });
  });

  it("its indexes, beside one that succeeded", () => {
    const attempts = [row(101, { state: "Succeeded", indexes: "6-7" })];
    const status = { attempts, completedIndexes: "0-7", succeeded: 8 };
    expect(leftOf(divided("Indexed"), status)).toEqual({ kind: "indexes", indexes: "8-9" });
  });

  it("its indexes, beside one that may still run", () => {
    const attempts = [row(101, { state: "Running", indexes: "6-9", completedIndexes: "6" })];
    const { attempts: known } = recovered(
      emptyJobLedger("digest"),
      { attempts, completedIndexes: "0-6", succeeded: 7 },
      divided("Indexed"),
      NOW_MS,
    );
    expect(known).toMatchObject([
      { number: 100, outcome: { kind: "lost" }, done: { indexes: "0-5" }, isCleaned: true },
      { number: 101, outcome: null },
    ]);
  });

  it("its completions", () => {
    const attempts = [
      row(101, { state: "Succeeded", completions: 2, succeeded: 2 }),
      row(102, { state: "Lost", completions: 3, succeeded: 1 }),
    ];
    expect(leftOf(divided(), { attempts, succeeded: 7 })).toEqual({ kind: "count", count: 3 });
  });

  const known = (number: number, more: Partial<Attempt>): Attempt => {
    const [attempt] = recovered(
      emptyJobLedger("digest"),
      { attempts: [row(number, { state: "Running" })] },
      jobOf(),
      NOW_MS,
    ).attempts;
    if (!attempt) throw new Error("no attempt");
    return { ...attempt, ...more };
  };
  const withKnown = (attempts: Attempt[], status: JsonObject, job: ParsedCrossClusterJob) =>
    recovered({ ...emptyJobLedger("digest"), attempts }, status, job, NOW_MS).attempts;

  it("also of an attempt whose dispatch object was last written before it had done them", () => {
    const indexed = known(1, { share: { kind: "indexes", indexes: "0-9" } });
    const attempts = [row(1, { state: "Running", indexes: "0-9", completedIndexes: "0-3,7" })];
    const found = withKnown([indexed], { attempts, completedIndexes: "0-3,7", succeeded: 5 }, divided("Indexed"));
    expect(found).toMatchObject([{ number: 1, outcome: null, done: { indexes: "0-3,7" } }]);
    const counted = known(1, { share: { kind: "count", count: 10 } });
    const rows = [row(1, { state: "Running", completions: 10, succeeded: 4 })];
    const counts = withKnown([counted], { attempts: rows, succeeded: 4 }, divided());
    expect(counts).toMatchObject([{ number: 1, outcome: null, done: { succeeded: 4 } }]);
  });

  it("completions of an old attempt that still has its dispatch object are counted once", () => {
    const outcome = { kind: "lost", reason: "ConfirmedLost", message: "", atMs: NOW_MS } as const;
    const old = known(3, {
      outcome,
      share: { kind: "count", count: 10 },
      done: { succeeded: 2, failed: 0, indexes: "" },
    });
    const attempts = [row(101, { state: "Lost", completions: 8, succeeded: 1 })];
    const found = withKnown([old], { attempts, succeeded: 7 }, divided());
    expect(succeededOf(found)).toBe(7);
  });

  it("indexes that a row of the status had no room for", () => {
    const all = Array.from({ length: 1_500 }, (_, at) => 2 * at);
    const list = all.join(",");
    const job = jobOf({
      template: {
        apiVersion: "batch/v1",
        kind: "Job",
        spec: { completions: 3_000, parallelism: 1_500, completionMode: "Indexed", template: {} },
      },
      division: "Indexes",
    });
    const attempts = [row(1, { state: "Lost", indexes: "0-2999", completedIndexes: list.slice(0, 4_096) })];
    const share = leftOf(job, { attempts, completedIndexes: list, succeeded: all.length });
    expect(share).toEqual({ kind: "indexes", indexes: all.map((index) => index + 1).join(",") });
  });

  it("and of one that may run, no index of a long share goes to another attempt", () => {
    const odd = Array.from({ length: 1_500 }, (_, at) => 2 * at + 1);
    const attempts = [row(1, { state: "Running", indexes: odd.join(",") })];
    const { attempts: found } = recovered(emptyJobLedger("digest"), { attempts }, divided("Indexed"), NOW_MS);
    expect(found).toMatchObject([{ outcome: null, share: { indexes: odd.join(",") } }]);
  });

  it("and nothing more: what every listed attempt has done is counted once", () => {
    const attempts = [row(1, { state: "Succeeded", completions: 2 }), row(2, { state: "Lost", succeeded: 1 })];
    expect(leftOf(divided(), { attempts, succeeded: 3 })).toEqual({ kind: "count", count: 7 });
    const whole = recovered(emptyJobLedger("digest"), { attempts, succeeded: 5 }, jobOf(), NOW_MS);
    expect(whole.attempts.map(({ done }) => done.succeeded)).toEqual([0, 1]);
  });
});

it("an attempt that may run, and that no dispatch object tells of, is kept; one that had not started only uses up its number", () => {
  const attempts = [
    { number: 1, cluster: "member1", state: "Running", startedAt: AT, deadline: "2026-01-01T02:00:00Z" },
    { number: 2, cluster: "member1", state: "Starting", startedAt: AT },
  ];
  const exclusive = jobOf({ failover: { onClusterLoss: { guarantee: "Exclusive" } } });
  const ledger = recovered(emptyJobLedger("digest"), { attempts }, exclusive, NOW_MS);
  expect(ledger.attempts).toMatchObject([
    { uid: "unknown", isSwitched: true, latestDeadlineSeconds: 7_200, outcome: null },
  ]);
  expect(ledger.attempts).toHaveLength(1);
  expect(ledger.nextAttempt).toBe(3);
});

it("[J11] an attempt whose status shows no deadline is not over by one", () => {
  const running = { number: 1, cluster: "member1", state: "Running", startedAt: AT };
  const attempts = [running, { ...running, number: 2, deadline: "2026-01-01T02:00:00Z" }];
  const exclusive = jobOf({ failover: { onClusterLoss: { guarantee: "Exclusive" } } });
  const ledger = recovered(emptyJobLedger("digest"), { attempts }, exclusive, NOW_MS);
  expect(ledger.attempts.map(({ isHeld }) => isHeld ?? false)).toEqual([true, false]);
});

it("an attempt that was suspended or about to end when the ledger was lost keeps what it had done", () => {
  const divided = jobOf({
    template: { apiVersion: "batch/v1", kind: "Job", spec: { completions: 9, template: {} } },
    division: "Completions",
  });
  const attempts = [
    { number: 1, cluster: "member1", state: "Stopping", startedAt: AT, completions: 4, succeeded: 3 },
    { number: 2, cluster: "member2", state: "Suspended", startedAt: AT, completions: 5, succeeded: 1 },
  ];
  const ledger = recovered(emptyJobLedger("digest"), { attempts, succeeded: 4 }, divided, NOW_MS);
  expect(ledger.attempts).toMatchObject([
    { uid: "unknown", outcome: null, done: { succeeded: 3 } },
    { uid: "unknown", outcome: null, done: { succeeded: 1 } },
  ]);
});

it("what a status holds that is none is passed over", () => {
  const odd = { attempts: [1, { number: "x" }, { number: 1, cluster: "member1" }], conditions: "no", startTime: 5 };
  expect(recovered(emptyJobLedger("digest"), odd, jobOf(), NOW_MS)).toEqual(emptyJobLedger("digest"));
});
