import { readdirSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { batchAllowance, REASONS } from "../rollout/index.ts";
import { Bench } from "./check/testing/bench.ts";
import { type EditableIntent, rollingUpdate, testIntent } from "./check/testing/intent.ts";
import type { Intent } from "./types/index.ts";
import type { Part } from "./update/share.ts";

const LEADING: Intent["workload"] = {
  protocol: "contract",
  hasPartition: true,
  memberOrdered: true,
  reportsLeader: true,
};

/** Deployed and at rest. */
function running(sizes: Record<string, number>, edit: Partial<Intent> = {}): Bench {
  const bench = new Bench(testIntent(sizes, { podManagementPolicy: "Parallel", ...edit }));
  bench.run();
  return bench;
}

function schedule(intent: EditableIntent, sizes: Record<string, number>): void {
  const clusters = Object.entries(sizes).map(([cluster, replicas]) => ({ cluster, replicas }));
  for (const { cluster } of clusters) intent.fleet[cluster] ??= { state: "Ready" };
  intent.schedule = { kind: "known", source: "explicit", clusters };
}

function template(bench: Bench, id: string): void {
  bench.intent.revision = { kind: "ready", id };
}

function cut(bench: Bench, cluster: string): void {
  bench.unreachable.add(cluster);
  bench.intent.fleet[cluster] = { state: "NotReady", sinceMs: bench.nowMs };
}

function mend(bench: Bench, cluster: string): void {
  bench.unreachable.delete(cluster);
  bench.intent.fleet[cluster] = { state: "Ready" };
}

const codes = (bench: Bench) => bench.last?.waiting.map(({ code }) => code) ?? [];
const stepsOf = (bench: Bench) => bench.plan().steps.map(({ cluster, kind }) => `${cluster} ${kind}`);

describe("deployment", () => {
  it("[D3] a static deployment waits for a majority, and takes the missing cluster in when it is Ready", () => {
    const bench = new Bench(testIntent({ a: 1, b: 1, c: 1 }, { podManagementPolicy: "Parallel" }));
    cut(bench, "b");
    cut(bench, "c");
    expect(stepsOf(bench)).toEqual([]);
    mend(bench, "b");
    expect(stepsOf(bench)).toEqual(["a deploy", "b deploy"]);
    expect(bench.last?.figures).toMatchObject({ voters: 3, granted: 2 });
    bench.settle();
    bench.run();
    mend(bench, "c");
    expect(stepsOf(bench)).toEqual(["c deploy"]);
    expect(bench.last?.grants.find(({ cluster }) => cluster === "c")?.initialClusterState).toBe("new");
  });

  it("[D4] a dynamic deployment passes over a cluster that is away or cordoned", () => {
    const bench = new Bench(testIntent({ a: 1, b: 1, c: 1 }));
    cut(bench, "a");
    bench.intent.fleet.b = { state: "Ready", cordoned: "maintenance:NoSchedule" };
    bench.run();
    expect(bench.last?.grants.map(({ cluster }) => cluster)).toEqual(["c"]);
    expect(codes(bench)).toEqual(expect.arrayContaining(["ClusterNotReady", "ClusterCordoned"]));
    mend(bench, "a");
    bench.intent.fleet.b = { state: "Ready" };
    bench.run();
    expect(bench.last?.figures.ready).toBe(3);
  });

  it("[F1] a deployment that does not come up is reported, and nothing goes back", () => {
    const bench = new Bench(testIntent({ a: 1, b: 1 }, { update: rollingUpdate({ onFailure: "Rollback" }) }));
    bench.plan();
    bench.deliver();
    bench.plan();
    bench.wait(700);
    expect(stepsOf(bench)).toEqual([]);
    expect(codes(bench)).toContain("ProgressDeadlineExceeded");
    expect(bench.ledger.halt).toBeNull();
  });

  it("[U9] a first deployment on a broken revision goes straight on to the corrected one", () => {
    const bench = new Bench(
      testIntent(
        { a: 1, b: 1 },
        { workload: { protocol: "statefulset", hasPartition: true, memberOrdered: true, reportsLeader: false } },
      ),
    );
    bench.plan();
    bench.deliver();
    template(bench, "FIXED");
    expect(stepsOf(bench)).toEqual(["a rollback"]);
    expect(bench.last?.grants[0]).toMatchObject({ revision: "FIXED", initialClusterState: "new" });
    bench.settle();
    bench.run();
    expect(bench.last?.figures).toMatchObject({ ready: 2, currentRevision: "FIXED" });
  });
});

describe("scaling", () => {
  it("[S2] without a majority to keep, Parallel moves everything at once", () => {
    const bench = running({ a: 1, b: 3 }, { quorum: "None" });
    schedule(bench.intent, { a: 4, b: 1, c: 2 });
    expect(stepsOf(bench).filter((step) => !step.includes("topology"))).toEqual(["a grow", "c grow"]);
    bench.settle();
    bench.run();
    expect(bench.last?.grants.map(({ cluster, replicas }) => [cluster, replicas])).toEqual([
      ["a", 4],
      ["b", 1],
      ["c", 2],
    ]);
  });

  it("[S6] a membership change goes before the next update step, after the one under way", () => {
    const bench = running({ a: 1, b: 1, c: 1 });
    template(bench, "B");
    expect(stepsOf(bench)).toEqual(["c update"]);
    bench.intent.update = rollingUpdate({ waves: [{ clusters: ["c"], soakSeconds: 3600, approval: "Automatic" }] });
    schedule(bench.intent, { a: 2, b: 1, c: 1 });
    expect(stepsOf(bench)).toEqual([]);
    expect(codes(bench)).toContain("MembershipInProgress");
    bench.settle();
    expect(stepsOf(bench)).toEqual(["c return-turn"]);
    bench.settle();
    expect(stepsOf(bench)[0]).toBe("a grow");
  });

  it("[S11] a cluster that is stuck in mid-update can be drained", () => {
    const bench = running({ a: 2, b: 2, c: 1 });
    template(bench, "BROKEN");
    bench.plan();
    bench.deliver();
    bench.member("c").counts.ready = 0;
    bench.member("c").health = "unhealthy";
    schedule(bench.intent, { a: 2, b: 2 });
    expect(stepsOf(bench)[0]).toBe("c shrink");
  });

  it("[C9] a join that a loss interrupted is taken up again after the return", () => {
    const bench = running({ a: 2, b: 1 });
    schedule(bench.intent, { a: 2, b: 2 });
    bench.plan();
    cut(bench, "b");
    bench.plan();
    bench.wait(300);
    expect(stepsOf(bench)).toContain("b return-turn");
    mend(bench, "b");
    bench.deliver();
    bench.member("b").report = {
      epoch: bench.ledger.clusters.b?.epoch ?? 0,
      revision: "A",
      phase: "Working",
      desired: 2,
      updated: 1,
      ready: 1,
    };
    expect(stepsOf(bench)[0]).toBe("b grow");
    bench.settle();
    bench.run();
    expect(bench.last?.figures).toMatchObject({ ready: 4, voters: 4 });
  });
});

describe("rolling update", () => {
  it("[U6] a hundred instances do not take a hundred steps one after the other", () => {
    const sizes = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`m${i}`, 5]));
    const bench = running(sizes, { update: rollingUpdate({ maxUnavailable: "10%" }) });
    template(bench, "B");
    let rounds = 0;
    let most = 0;
    for (;;) {
      const { steps } = bench.plan();
      if (steps.length === 0) break;
      most = Math.max(most, steps.filter(({ kind }) => kind === "update").length);
      bench.settle();
      rounds++;
    }
    expect(most).toBe(10);
    // Ten clusters at a time, each step and each returned turn one round.
    expect(rounds).toBe(4);
    expect(bench.last?.figures.currentRevision).toBe("B");
  });

  it("[L6] [U3] a transfer that is under way when the rollout is paused gives its turn back", () => {
    const bench = running(
      { a: 1, b: 1, c: 1 },
      {
        workload: { protocol: "contract", hasPartition: true, memberOrdered: true, reportsLeader: true },
        update: rollingUpdate({ leaderTransfer: { timeoutSeconds: 60 } }),
      },
    );
    bench.member("a").leader = { kind: "here" };
    template(bench, "B");
    bench.run();
    expect(bench.ledger.clusters.a?.step?.kind).toBe("transfer");
    bench.intent.update = rollingUpdate({ leaderTransfer: { timeoutSeconds: 60 }, paused: true });
    expect(stepsOf(bench)).toEqual(["a return-turn"]);
    expect(bench.last?.grants[0]).not.toHaveProperty("transferLeaderTo");
  });

  it("[L4] the wait for an unknown leader restarts when it was known in between", () => {
    const bench = running(
      { a: 1, b: 1 },
      { workload: { protocol: "contract", hasPartition: true, memberOrdered: true, reportsLeader: true } },
    );
    bench.member("a").leader = { kind: "unknown" };
    bench.member("b").leader = { kind: "unknown" };
    template(bench, "B");
    bench.plan();
    bench.wait(59);
    bench.member("a").leader = { kind: "here" };
    bench.member("b").leader = { kind: "elsewhere" };
    bench.run();
    expect(bench.ledger.rollout?.leaderUnknownSinceMs ?? null).toBeNull();
  });

  it("[U7] batches are cumulative, the last repeats, and what is not complete holds the next back", () => {
    const part = (released: number, state: Part["state"]): Part => ({ cluster: "a", share: 0, released, state });
    expect(batchAllowance([], [part(3, "working")])).toBe(Number.POSITIVE_INFINITY);
    expect(batchAllowance([1, 2], [])).toBe(1);
    expect(batchAllowance([1, 2], [part(1, "working")])).toBe(0);
    expect(batchAllowance([1, 2], [part(1, "complete")])).toBe(2);
    expect(batchAllowance([1, 2], [part(3, "complete"), part(1, "working")])).toBe(1);
    expect(batchAllowance([1, 2], [part(7, "complete")])).toBe(2);
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 4 }),
        fc.nat(60),
        (batches, done) => {
          let ceiling = 0;
          for (let i = 0; ceiling <= done; i++) ceiling += batches[Math.min(i, batches.length - 1)] ?? 1;
          expect(batchAllowance(batches, [part(done, "complete")])).toBe(ceiling - done);
        },
      ),
    );
  });

  it("[W4] a canary that is lost proves nothing: its wave still takes its soak and its approval", () => {
    const bench = running(
      { a: 2, b: 2, canary: 1 },
      {
        update: rollingUpdate({ waves: [{ clusters: ["canary"], soakSeconds: 60, approval: "Manual" }] }),
      },
    );
    cut(bench, "canary");
    bench.plan();
    bench.wait(300);
    template(bench, "B");
    bench.run();
    expect(codes(bench)).toContain("Soaking");
    bench.wait(60);
    bench.run();
    expect(codes(bench)).toContain("AwaitingApproval");
    bench.intent.requests = { ...bench.intent.requests, approvals: [{ revision: "B", wave: 0 }] };
    bench.run();
    expect(bench.last?.figures.currentRevision).toBe("B");
  });

  it("[W5] a new target starts at the first wave, and old approvals are void", () => {
    const bench = running(
      { a: 1, b: 1, canary: 1 },
      {
        update: rollingUpdate({ waves: [{ clusters: ["canary"], soakSeconds: 0, approval: "Manual" }] }),
        requests: { approvals: [{ revision: "B", wave: 0 }], confirmedLost: [], confirmedDrain: [] },
      },
    );
    template(bench, "B");
    bench.plan();
    bench.settle();
    bench.plan();
    bench.settle();
    expect(bench.ledger.rollout?.wave).toBe(1);
    template(bench, "C");
    bench.run();
    expect(bench.ledger.rollout).toMatchObject({ to: "C", wave: 0 });
    expect(codes(bench)).toContain("AwaitingApproval");
  });
});

describe("a setting", () => {
  it("[D5] after the first deployment Parallel grows one instance at a time", () => {
    const bench = running({ a: 1, b: 1, c: 1 });
    schedule(bench.intent, { a: 3, b: 3, c: 3 });
    for (let i = 0; i < 30; i++) {
      const { steps } = bench.plan();
      expect(steps.filter(({ kind }) => kind === "grow").length).toBeLessThanOrEqual(1);
      bench.settle();
    }
    expect(bench.last?.figures.ready).toBe(9);
  });

  it("[U10] a restart is a revision like any other: the leader's cluster last, one at a time", () => {
    const bench = running({ a: 1, b: 1, c: 1 }, { workload: { ...LEADING } });
    bench.member("b").leader = { kind: "here" };
    template(bench, "A+restart-1");
    const order = bench
      .run()
      .filter(({ kind }) => kind === "update")
      .map(({ cluster }) => cluster);
    expect(order).toEqual(["c", "a", "b"]);
  });

  it("[U12] a cluster that is away starts nothing and is waited for until it is lost", () => {
    const bench = running({ a: 2, b: 2, c: 1 }, { update: rollingUpdate({ maxUnavailable: 2 }) });
    cut(bench, "c");
    template(bench, "B");
    bench.run();
    expect(bench.last?.figures.currentRevision).toBe("A");
    expect(bench.last?.grants.map(({ revision }) => revision)).toEqual(["B", "B", "A"]);
    bench.wait(300);
    bench.run();
    expect(bench.last?.figures.currentRevision).toBe("B");
    expect(bench.last?.grants.map(({ revision }) => revision)).toEqual(["B", "B", "A"]);
  });

  it("[U13] an edit in mid-step counts from the next step on", () => {
    const bench = running({ a: 1, b: 1, c: 1, d: 1, e: 1 }, { update: rollingUpdate({ maxUnavailable: 2 }) });
    template(bench, "B");
    expect(stepsOf(bench)).toEqual(["e update", "d update"]);
    bench.intent.update = rollingUpdate({ maxUnavailable: 1, partition: 4 });
    expect(stepsOf(bench)).toEqual([]);
    bench.settle();
    bench.run();
    // d was released before the partition rose; it is not taken back.
    expect(bench.last?.grants.map(({ revision }) => revision)).toEqual(["A", "A", "A", "B", "B"]);
  });

  it.each([
    ["Majority", 5, 2],
    ["None", 5, 5],
    ["Majority", 1, 1],
    ["None", 3, 3],
  ] as const)(
    "[Q12] quorum %s with maxUnavailable %i starts %i of five at once",
    (quorum, maxUnavailable, expected) => {
      const bench = running({ a: 1, b: 1, c: 1, d: 1, e: 1 }, { quorum, update: rollingUpdate({ maxUnavailable }) });
      template(bench, "B");
      expect(stepsOf(bench)).toHaveLength(expected);
    },
  );

  it("[R5] the plan says when time alone may change the answer", () => {
    const held = new Bench(testIntent({ a: 1 }, { minReadySeconds: 30 }));
    held.plan();
    held.settle();
    expect(held.plan().requeueAt).toBe(30_000);
    const bench = running({ a: 1, b: 1, c: 1 });
    expect(bench.plan().requeueAt).toBeUndefined();
    template(bench, "B");
    bench.intent.update = rollingUpdate({ window: { open: false, changesAtMs: 5_000 } });
    expect(bench.plan().requeueAt).toBe(5_000);
    bench.intent.update = rollingUpdate({ progressDeadlineSeconds: 90 });
    expect(bench.plan().requeueAt).toBe(90_000);
  });
});

describe("stale status", () => {
  const statefulset: Intent["workload"] = {
    protocol: "statefulset",
    hasPartition: true,
    memberOrdered: true,
    reportsLeader: false,
  };

  it("[G11] [Q3] counts from before the controller saw the spec do not free the budget", () => {
    const bench = running({ a: 1, b: 1, c: 1 }, { workload: statefulset, memberConcurrency: "Parallel" });
    template(bench, "B");
    expect(stepsOf(bench)).toEqual(["c update"]);
    bench.deliver();
    // The old status: everything updated and ready, for the revision before.
    bench.member("c").counts.updated = 1;
    expect(stepsOf(bench)).toEqual([]);
    expect(bench.last?.figures.pending).toBe(1);
  });

  it("[G11] [F2] counts from before the controller saw the new spec do not count as its progress", () => {
    const bench = running(
      { a: 4, b: 1, c: 1 },
      { workload: statefulset, update: rollingUpdate({ progressDeadlineSeconds: 60 }) },
    );
    template(bench, "B");
    for (let i = 0; i < 2; i++) {
      bench.plan();
      bench.settle();
    }
    bench.plan();
    bench.deliver();
    const a = bench.member("a");
    a.counts.updated = 4;
    bench.plan();
    a.observedGeneration = a.generation;
    for (let updated = 0; updated < 4; updated++) {
      a.counts.updated = updated;
      bench.wait(50);
      bench.plan();
    }
    expect(bench.ledger.halt).toBeNull();
    expect(bench.ledger.clusters.a?.done).toBe(false);
  });
});

describe("a failed step", () => {
  it("[F2] a crash loop is no progress", () => {
    const bench = running({ a: 1, b: 1, c: 1 }, { update: rollingUpdate({ progressDeadlineSeconds: 60 }) });
    template(bench, "BROKEN");
    bench.plan();
    bench.deliver();
    for (let i = 0; i < 8; i++) {
      bench.member("c").counts.ready = i % 2;
      bench.member("c").health = "unhealthy";
      bench.wait(10);
      bench.plan();
    }
    expect(bench.ledger.halt?.code).toBe("ProgressDeadlineExceeded");
  });

  it("[F5] a rollback that fails itself halts, and is not rolled back again", () => {
    const bench = running(
      { a: 1, b: 1, c: 1 },
      { update: rollingUpdate({ onFailure: "Rollback", progressDeadlineSeconds: 60 }) },
    );
    template(bench, "BROKEN");
    bench.plan();
    bench.deliver();
    bench.member("c").counts.ready = 0;
    bench.plan();
    bench.wait(60);
    expect(stepsOf(bench)).toEqual(["c rollback"]);
    bench.deliver();
    bench.plan();
    bench.wait(60);
    bench.plan();
    expect(bench.ledger.halt).toMatchObject({ code: "ProgressDeadlineExceeded", revision: "A" });
    expect(bench.last?.figures).toMatchObject({ targetRevision: "A", rejectedRevision: "BROKEN" });
    bench.settle();
    bench.run();
    expect(bench.ledger.halt).toBeNull();
  });

  it("[S7] [F5] a newcomer in a rollback is created from the revision gone back to", () => {
    const bench = running(
      { a: 1, b: 1, c: 1 },
      { update: rollingUpdate({ onFailure: "Rollback", progressDeadlineSeconds: 60 }) },
    );
    template(bench, "BROKEN");
    bench.plan();
    bench.deliver();
    bench.member("c").counts.ready = 0;
    bench.plan();
    bench.wait(60);
    schedule(bench.intent, { a: 1, b: 1, c: 1, d: 1 });
    bench.plan();
    bench.settle();
    bench.run();
    expect(bench.last?.grants.map(({ revision }) => revision)).toEqual(["A", "A", "A", "A"]);
  });
});

describe("a lost cluster", () => {
  it("[C7] a cluster that was given up too early votes again", () => {
    const bench = running({ a: 1, b: 1, c: 1 });
    cut(bench, "c");
    bench.intent.requests = { ...bench.intent.requests, confirmedLost: ["c"] };
    bench.plan();
    expect(bench.last?.figures.voters).toBe(2);
    mend(bench, "c");
    bench.plan();
    expect(bench.last?.figures.voters).toBe(3);
  });

  it("[C1] a confirmation has no effect on a cluster that the fleet calls Ready", () => {
    const bench = running({ a: 1, b: 1, c: 1 });
    bench.unreachable.add("c");
    bench.intent.requests = { ...bench.intent.requests, confirmedLost: ["c"] };
    bench.plan();
    expect(bench.last?.figures.voters).toBe(3);
  });

  it("[C4] a member list from before the loss, an empty one, or one of strangers proves nothing", () => {
    const bench = running({ a: 1, b: 1, c: 1 });
    bench.wait(10);
    cut(bench, "c");
    bench.plan();
    bench.wait(300);
    for (const membership of [
      { members: ["xline-0", "xline-100"], atMs: 9_000 },
      { members: [], atMs: bench.nowMs },
      { members: ["somebody-else"], atMs: bench.nowMs },
      { members: ["xline-0", "xline-100", "xline-200"], atMs: bench.nowMs },
    ]) {
      bench.membership = membership;
      bench.plan();
      expect(bench.last?.figures.voters).toBe(3);
    }
    bench.membership = { members: ["xline-0", "xline-100"], atMs: bench.nowMs };
    bench.plan();
    expect(bench.last?.figures.voters).toBe(2);
  });

  it("[C2] [G10] a controller that has seen nothing yet does nothing", () => {
    const bench = running({ a: 2, b: 2, c: 1 });
    const before = bench.last?.grants;
    bench.intent.revision = { kind: "ready", id: "B" };
    for (const cluster of ["a", "b", "c"]) bench.unreachable.add(cluster);
    const result = bench.plan();
    expect(result.steps).toEqual([]);
    expect(result.grants).toEqual(before);
    expect(result.actions).toEqual([]);
  });
});

describe("a release or teardown", () => {
  it("[T1] a release in mid-step writes nothing", () => {
    const bench = running({ a: 1, b: 1, c: 1 });
    template(bench, "B");
    bench.plan();
    const before = bench.last?.grants;
    bench.intent.deletion = { policy: "Release" };
    const result = bench.plan();
    expect(result.steps).toEqual([]);
    expect(result.grants).toEqual(before);
    expect(result.actions.map(({ kind }) => kind)).toEqual(["release", "release", "release"]);
  });

  it("[T2] a teardown in mid-rollout ends the rollout and removes from the highest ordinal down", () => {
    const bench = running({ a: 2, b: 1 });
    template(bench, "B");
    bench.plan();
    bench.intent.deletion = { policy: "Teardown" };
    bench.intent.podManagementPolicy = "OrderedReady";
    bench.intent.retention = { whenScaled: "Retain", whenDeleted: "Delete" };
    const order = bench
      .run()
      .filter(({ kind }) => kind === "shrink")
      .map(({ cluster }) => cluster);
    expect(order).toEqual(["b", "a", "a"]);
    expect(bench.last?.finished).toBe(true);
    expect(bench.last?.grants).toEqual([]);
  });
});

describe("reasons", () => {
  const folder = new URL("./", import.meta.url);
  const shared = ["waves.ts", "maintenance.ts", "history.ts", "windows.ts"].map((file) => `../rollout/${file}`);
  const read = (file: string) => readFileSync(new URL(file, folder), "utf8");
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"));
  const ofApplications = readdirSync(new URL("../applications/", folder)).map((file) => `../applications/${file}`);
  const sources = [...files, ...ofApplications.filter((file) => file.endsWith(".ts"))];
  const source = [...sources.filter((file) => !file.endsWith(".test.ts") && !file.startsWith("check/")), ...shared]
    .map(read)
    .join("\n");

  it.each(Object.keys(REASONS))("[R1] %s is given by some rule", (code) => {
    expect(source).toContain(`"${code}"`);
  });
});

describe("a clock that was wrong", () => {
  it("[R6] a time that lies ahead is read as now, so that a gate does not wait for it", () => {
    const bench = running({ a: 1, b: 1, c: 1 });
    bench.intent.minReadySeconds = 10;
    template(bench, "B");
    const [step] = bench.plan().steps;
    const cluster = step?.cluster ?? "";
    bench.deliver();
    bench.settle();
    bench.plan();
    const entry = bench.ledger.clusters[cluster];
    if (!entry) throw new Error("no step was started");
    const ahead = { ...entry, openSinceMs: bench.nowMs + 3_600_000 };
    bench.ledger = { ...bench.ledger, clusters: { ...bench.ledger.clusters, [cluster]: ahead } };
    expect(bench.plan().requeueAt).toBe(bench.nowMs + 10_000);
  });
});
