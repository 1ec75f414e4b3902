import { describe, expect, it } from "vitest";
import { plan } from "../plan.ts";
import type { Intent } from "../types/index.ts";
import { Bench } from "./testing/bench.ts";
import { rollingUpdate, testIntent } from "./testing/intent.ts";

/** Deployed and at rest. */
function running(sizes: Record<string, number>, edit: Partial<Intent> = {}): Bench {
  const bench = new Bench(testIntent(sizes, { podManagementPolicy: "Parallel", ...edit }));
  bench.run();
  return bench;
}

function schedule(bench: Bench, sizes: Record<string, number>): void {
  const clusters = Object.entries(sizes).map(([cluster, replicas]) => ({ cluster, replicas }));
  for (const { cluster } of clusters) bench.intent.fleet[cluster] ??= { state: "Ready" };
  bench.intent.schedule = { kind: "known", source: "explicit", clusters };
}

const stepsOf = (bench: Bench) => bench.plan().steps.map(({ cluster, kind }) => `${cluster} ${kind}`);
const STUCK_S = 60;

describe("the planner lets nothing wait forever", () => {
  it("[G13] a grant that is not seen to arrive for five minutes is written again, and blocks no other cluster", () => {
    const bench = running({ a: 1, b: 1, c: 1 });
    bench.intent.revision = { kind: "ready", id: "B" };
    expect(stepsOf(bench)).toEqual(["c update"]);
    bench.wait(299);
    expect(stepsOf(bench)).toEqual([]);
    bench.wait(1);
    expect(stepsOf(bench)).toEqual(["c reassert"]);
    expect(bench.ledger.clusters.c).toMatchObject({ turn: "held", done: false });
    bench.settle();
    bench.run();
    expect(bench.last?.figures).toMatchObject({ updated: 3 });
  });

  it("[G13] what was written while a cluster was away is on its way from its return on", () => {
    const bench = running({ a: 1, b: 1, c: 1 });
    bench.intent.revision = { kind: "ready", id: "B" };
    bench.plan();
    bench.unreachable.add("c");
    bench.intent.fleet.c = { state: "NotReady", sinceMs: bench.nowMs };
    bench.plan();
    bench.wait(1_000);
    bench.run();
    bench.unreachable.delete("c");
    bench.intent.fleet.c = { state: "Ready" };
    expect(stepsOf(bench)).not.toContain("c reassert");
    bench.wait(300);
    expect(stepsOf(bench)).toContain("c reassert");
  });

  it("[C6] [C7] what was voted out stays so while no list is shown, and is drained at once", () => {
    const bench = running({ a: 1, b: 2, c: 1 }, { workload: CONTRACT });
    bench.unreachable.add("b");
    bench.intent.fleet.b = { state: "NotReady", sinceMs: bench.nowMs };
    bench.plan();
    bench.wait(600);
    bench.membership = { members: ["xline-0", "xline-200"], atMs: bench.nowMs };
    bench.run();
    bench.unreachable.delete("b");
    bench.intent.fleet.b = { state: "Ready" };
    bench.run();
    bench.membership = undefined;
    expect(bench.plan().waiting).toMatchObject([{ code: "ReturnedAfterReplacement", cluster: "b" }]);
    expect(bench.last?.figures.voters).toBe(2);
    bench.intent.requests = { ...bench.intent.requests, confirmedDrain: ["b"] };
    expect(stepsOf(bench)).toEqual(["b shrink"]);
    expect(bench.ledger.clusters.b?.grant).toMatchObject({ replicas: 0, processor: true });
    bench.settle();
    bench.run();
    expect(bench.ledger.clusters.b).toMatchObject({ instances: [], grant: null, votes: "counted" });
    // The instances that it kept are no longer members: the cluster joins again once the old volumes are gone.
    expect(bench.last?.waiting).toMatchObject([{ code: "VolumeSurvives", cluster: "b" }]);
  });

  it.each([
    { confirmation: "not confirmed by a user", confirmedLost: [] },
    { confirmation: "also confirmed by a user", confirmedLost: ["b"] },
  ])(
    "[C7] what the application removed does not vote when it returns while no list is shown ($confirmation)",
    ({ confirmedLost }) => {
      const bench = running({ a: 1, b: 2, c: 1 }, { workload: CONTRACT });
      bench.unreachable.add("b");
      bench.intent.fleet.b = { state: "NotReady", sinceMs: bench.nowMs };
      bench.intent.requests = { ...bench.intent.requests, confirmedLost };
      bench.plan();
      bench.wait(600);
      bench.membership = { members: ["xline-0", "xline-200"], atMs: bench.nowMs };
      bench.run();
      bench.membership = undefined;
      bench.plan();
      bench.unreachable.delete("b");
      bench.intent.fleet.b = { state: "Ready" };
      bench.plan();
      expect(bench.last?.figures.voters).toBe(2);
      bench.membership = { members: ["xline-0", "xline-100", "xline-101", "xline-200"], atMs: bench.nowMs };
      bench.plan();
      expect(bench.last?.figures.voters).toBe(4);
    },
  );

  it("[C6] [C9] an interrupted removal continues once a user allows the drain of a voted-out cluster", () => {
    const bench = running({ a: 1, b: 1, c: 1 }, { workload: CONTRACT });
    schedule(bench, { a: 1, b: 1, c: 0 });
    expect(stepsOf(bench)).toContain("c shrink");
    bench.unreachable.add("c");
    bench.intent.fleet.c = { state: "NotReady", sinceMs: bench.nowMs };
    bench.wait(600);
    bench.membership = { members: ["xline-0", "xline-100"], atMs: bench.nowMs };
    bench.run();
    bench.unreachable.delete("c");
    bench.intent.fleet.c = { state: "Ready" };
    bench.plan();
    bench.deliver();
    const member = bench.member("c");
    member.observedGeneration = member.generation;
    const epoch = bench.ledger.clusters.c?.grant?.epoch ?? 0;
    member.report = { epoch, revision: "A", phase: "Done", desired: 0, updated: 1, ready: 1 };
    expect(stepsOf(bench)).toEqual([]);
    expect(bench.last?.waiting).toContainEqual(expect.objectContaining({ code: "ReturnedAfterReplacement" }));
    bench.intent.requests = { ...bench.intent.requests, confirmedDrain: ["c"] };
    expect(stepsOf(bench)).toEqual(["c shrink"]);
    bench.settle();
    bench.run();
    expect(bench.ledger.clusters.c).toMatchObject({ instances: [], grant: null });
  });

  it("[T2] a teardown takes up the removal that a loss interrupted", () => {
    const bench = running({ a: 1, b: 1 }, { workload: CONTRACT });
    bench.intent.deletion = { policy: "Teardown" };
    expect(bench.plan().steps).toContainEqual(expect.objectContaining({ cluster: "b", kind: "shrink" }));
    bench.unreachable.add("b");
    bench.intent.fleet.b = { state: "NotReady", sinceMs: bench.nowMs };
    bench.wait(600);
    bench.run();
    bench.unreachable.delete("b");
    bench.intent.fleet.b = { state: "Ready" };
    bench.plan();
    bench.deliver();
    const member = bench.member("b");
    member.observedGeneration = member.generation;
    const epoch = bench.ledger.clusters.b?.grant?.epoch ?? 0;
    member.report = { epoch, revision: "A", phase: "Done", desired: 0, updated: 1, ready: 1 };
    expect(bench.plan().steps).toMatchObject([{ cluster: "b", kind: "shrink" }]);
    bench.settle();
    bench.run();
    expect(bench.last?.finished).toBe(true);
  });

  it("[C6] [D3] a cluster that was replaced before it got its grant joins again once its drain is allowed", () => {
    const intent = testIntent(
      { a: 1, b: 1, c: 1 },
      { podManagementPolicy: "Parallel", failover: { policy: "Replace", afterSeconds: 300 } },
    );
    const bench = new Bench(intent);
    bench.unreachable.add("c");
    bench.intent.fleet.c = { state: "NotReady", sinceMs: 0 };
    bench.intent.requests = { ...bench.intent.requests, confirmedLost: ["c"] };
    bench.run();
    expect(bench.ledger.clusters.c).toMatchObject({ grant: null, votes: "givenUp" });
    bench.unreachable.delete("c");
    bench.intent.fleet.c = { state: "Ready" };
    bench.run();
    expect(bench.last?.waiting).toMatchObject([{ code: "ReturnedAfterReplacement", cluster: "c" }]);
    bench.intent.requests = { ...bench.intent.requests, confirmedDrain: ["c"] };
    bench.run();
    expect(bench.last?.waiting).toEqual([]);
    expect(bench.last?.grants.map(({ replicas }) => replicas)).toEqual([1, 1, 1]);
  });

  it("[C10] no step waits for a founder that left the fleet, was given up and is not wanted, granted or not", () => {
    const bench = new Bench(testIntent({ a: 1, b: 1, c: 1 }, { podManagementPolicy: "Parallel" }));
    bench.unreachable.add("c");
    bench.intent.fleet.c = { state: "NotReady", sinceMs: bench.nowMs };
    bench.run();
    bench.intent.fleet.c = { state: "Gone", sinceMs: bench.nowMs };
    bench.intent.requests = { ...bench.intent.requests, confirmedLost: ["c"] };
    bench.run();
    expect(bench.last?.waiting).toMatchObject([{ code: "ClusterLost", cluster: "c" }]);
    bench.intent.schedule = {
      kind: "known",
      source: "explicit",
      clusters: [
        { cluster: "a", replicas: 1 },
        { cluster: "b", replicas: 1 },
      ],
    };
    bench.run();
    expect(bench.ledger.clusters.c).toMatchObject({ grant: null, instances: [] });
    expect(bench.last?.waiting).toEqual([]);
  });

  it("[S9] a drained cluster is removed, not forgotten, while something may still bring its object", () => {
    const bench = running({ a: 1, b: 1 });
    schedule(bench, { a: 1 });
    while (!bench.ledger.clusters.b?.done || bench.ledger.clusters.b.grant?.replicas !== 0) {
      bench.plan();
      bench.deliver();
      for (const { cluster } of bench.last?.grants ?? []) bench.member(cluster).settle();
    }
    const planWith = (dispatched: boolean) => {
      const { clusters } = bench.observations();
      const dispatch = { b: { workload: dispatched ? ("going" as const) : ("none" as const), isLetGo: false } };
      const seen = { clusters: { ...clusters, b: { kind: "absent" as const } }, dispatch };
      return plan(bench.intent, bench.ledger, seen, bench.nowMs);
    };
    expect(planWith(true).ledger.clusters.b).toMatchObject({ grant: { replicas: 0 }, done: true });
    expect(planWith(true).actions).toMatchObject([{ kind: "remove", cluster: "b" }]);
    expect(planWith(false).ledger.clusters.b).toMatchObject({ grant: null });
  });

  it("[I2] a scheduled cluster that the fleet lacks gets no index, and the wait suggests the nearest name", () => {
    const bench = running({ member1: 1, member2: 1 });
    const { nextIndex } = bench.ledger;
    schedule(bench, { member1: 1, member2: 1, membr3: 1 });
    delete bench.intent.fleet.membr3;
    bench.intent.fleet.member3 = { state: "Ready" };
    const [waiting] = bench.plan().waiting;
    expect(waiting).toMatchObject({ code: "ClusterNotInFleet", cluster: "membr3" });
    expect(waiting?.message).toBe("the fleet has no cluster 'membr3'; the nearest name is 'member3'");
    expect(waiting?.remedy).not.toContain("back");
    expect(bench.ledger.nextIndex).toBe(nextIndex);
  });

  it("[G12] an operator that says Done with fewer updated than granted is asked again", () => {
    const bench = running({ a: 1, b: 2, c: 1 }, { workload: CONTRACT });
    const member = bench.member("b");
    expect(stepsOf(bench)).toEqual([]);
    if (member.report) member.report = { ...member.report, updated: 1 };
    expect(stepsOf(bench)).toEqual(["b update"]);
    bench.settle();
    bench.run();
    expect(bench.ledger.clusters.b).toMatchObject({ turn: "none", done: true });
  });

  it("[G12] an operator that says Done while an instance is being brought back is not asked again", () => {
    const bench = running({ a: 1, b: 2, c: 1 }, { workload: CONTRACT });
    const member = bench.member("b");
    if (member.report) member.report = { ...member.report, updated: 1, ready: 1 };
    expect(stepsOf(bench)).toEqual([]);
  });

  it("[U12] a cluster that is drained while it has an update step to repeat is not left between the two", () => {
    const bench = running({ a: 1, b: 2, c: 1 }, { workload: CONTRACT });
    const member = bench.member("b");
    if (member.report) member.report = { ...member.report, updated: 0 };
    schedule(bench, { a: 1, b: 0, c: 1 });
    expect(stepsOf(bench)).toEqual(["b update"]);
    bench.settle();
    bench.run();
    expect(bench.ledger.clusters.b?.instances).toEqual([]);
  });

  it("[Q15] [C3] a StatefulSet that was lost in mid-update continues its step, and is paused before a rollback", () => {
    const workload = {
      protocol: "statefulset",
      hasPartition: true,
      memberOrdered: false,
      reportsLeader: false,
    } as const;
    const bench = running({ a: 1, b: 1, c: 2 }, { workload });
    bench.intent.revision = { kind: "ready", id: "B" };
    expect(stepsOf(bench)).toEqual(["c update"]);
    bench.unreachable.add("c");
    bench.intent.fleet.c = { state: "NotReady", sinceMs: bench.nowMs };
    bench.wait(600);
    bench.intent.revision = { kind: "ready", id: "C" };
    bench.run();
    bench.unreachable.delete("c");
    bench.intent.fleet.c = { state: "Ready" };
    bench.deliver();
    const member = bench.member("c");
    // The one that restarts for B may be going this moment, and is counted as ready still.
    Object.assign(member, { observedGeneration: member.generation, health: "unhealthy" });
    Object.assign(member.counts, { replicas: 2, ready: 2, available: 2, updated: 1 });
    // It reads no turns, and continues with its grant. It is rolled back only if it makes no progress.
    expect(stepsOf(bench)).toEqual([]);
    bench.wait(60);
    expect(stepsOf(bench)).toEqual(["c rollback"]);
    expect(bench.ledger.clusters.c?.grant).toMatchObject({ revision: "A", onDelete: true });
    bench.settle();
    bench.run();
    expect(bench.last?.grants.map(({ revision, onDelete }) => [revision, onDelete])).toEqual(
      Array.from({ length: 3 }, () => ["C", false]),
    );
  });

  it("[Q15] a cluster that is stuck in its own turn may be cured while another stuck cluster holds a turn", () => {
    const bench = running({ a: 2, b: 1 }, { quorum: "None" });
    bench.intent.revision = { kind: "ready", id: "BROKEN" };
    schedule(bench, { a: 2, b: 1, c: 1 });
    expect(stepsOf(bench)).toContain("c grow");
    bench.deliver();
    Object.assign(bench.member("c").counts, { replicas: 1, updated: 1 });
    bench.member("c").health = "unhealthy";
    bench.plan();
    schedule(bench, { a: 2, b: 0, c: 1 });
    bench.intent.revision = { kind: "ready", id: "GOOD" };
    bench.plan();
    bench.wait(STUCK_S);
    expect(stepsOf(bench)).toContain("c rollback");
  });

  it("[S11] a stuck cluster that is to be drained goes before the growth that waits for its turn", () => {
    const bench = running({ a: 1, b: 1, c: 1 }, { quorum: "None", podManagementPolicy: "OrderedReady" });
    bench.intent.revision = { kind: "ready", id: "BROKEN" };
    expect(stepsOf(bench)).toEqual(["c update"]);
    bench.deliver();
    Object.assign(bench.member("c").counts, { ready: 0, updated: 1 });
    Object.assign(bench.member("c"), { health: "unhealthy", observedGeneration: bench.member("c").generation });
    bench.plan();
    schedule(bench, { a: 1, b: 1, c: 0, d: 1 });
    expect(stepsOf(bench)).toEqual([]);
    bench.wait(STUCK_S);
    expect(stepsOf(bench)).toContain("c shrink");
  });

  it("[U12] a drained cluster that is stuck in mid-update, and may not be drained further, is taken back", () => {
    const bench = running(
      { a: 2, b: 2, c: 2 },
      { workload: { ...CONTRACT, protocol: "ignorant", hasPartition: false } },
    );
    bench.intent.revision = { kind: "ready", id: "BROKEN" };
    expect(stepsOf(bench)).toEqual(["c update"]);
    bench.deliver();
    const member = bench.member("c");
    Object.assign(member.counts, { replicas: 2, ready: 1, available: 1, updated: 1 });
    Object.assign(member, { health: "unhealthy", observedGeneration: member.generation });
    bench.plan();
    schedule(bench, { a: 2, b: 2, c: 0 });
    bench.intent.revision = { kind: "ready", id: "GOOD" };
    bench.wait(STUCK_S);
    expect(stepsOf(bench)).toEqual(["c update"]);
    expect(bench.ledger.clusters.c?.grant?.revision).toBe("GOOD");
  });

  it("[S11] a drain does not end if a removal makes no progress only because the rest never becomes ready", () => {
    const bench = running({ a: 2, b: 2 });
    schedule(bench, { a: 2, b: 0 });
    expect(stepsOf(bench)[0]).toBe("b shrink");
    bench.deliver();
    const member = bench.member("b");
    Object.assign(member.counts, { replicas: 1, ready: 0, available: 0 });
    Object.assign(member, { health: "unhealthy", observedGeneration: member.generation });
    const { epoch = 0, revision = "" } = member.live ?? {};
    member.report = { epoch, revision, phase: "Working", desired: 1, updated: 1, ready: 0 };
    bench.plan();
    bench.wait(STUCK_S);
    expect(stepsOf(bench)[0]).toBe("b shrink");
    expect(bench.ledger.clusters.b?.grant?.replicas).toBe(0);
  });

  it("[C9] a newcomer that lost its turn and never becomes ready is updated like any other", () => {
    const bench = running({ a: 2, b: 1 });
    bench.intent.revision = { kind: "ready", id: "A" };
    schedule(bench, { a: 2, b: 1, c: 1 });
    expect(stepsOf(bench)).toContain("c grow");
    bench.deliver();
    const member = bench.member("c");
    Object.assign(member.counts, { replicas: 1, ready: 0, available: 0, updated: 1 });
    member.observedGeneration = member.generation;
    member.health = "unhealthy";
    bench.plan();
    // Another client edits the object: it is written again, and as far as the ledger knows without a turn.
    const entry = bench.ledger.clusters.c;
    if (!entry?.grant || !member.live) throw new Error("c was granted nothing");
    const grant = { ...entry.grant, processor: false };
    bench.ledger = {
      ...bench.ledger,
      clusters: { ...bench.ledger.clusters, c: { ...entry, grant, turn: "none", step: null } },
    };
    member.live = grant;
    bench.intent.revision = { kind: "ready", id: "GOOD" };
    expect(stepsOf(bench)[0]).toMatch(/^c (update|rollback)$/);
  });
});

describe("a cluster with nothing ready on a revision that was given up", () => {
  /** All are on A but c, which completed BAD and is down; the first wave is a. */
  function bench(): Bench {
    const world = running({ a: 1, b: 1, c: 1 });
    const entry = world.ledger.clusters.c;
    const member = world.member("c");
    if (!entry?.grant) throw new Error("c was granted nothing");
    const grant = { ...entry.grant, revision: "BAD" };
    world.ledger = {
      ...world.ledger,
      clusters: { ...world.ledger.clusters, c: { ...entry, grant, baseRevision: "BAD" } },
    };
    member.live = grant;
    Object.assign(member.counts, { ready: 0, available: 0 });
    member.health = "unhealthy";
    world.intent.update = rollingUpdate({ waves: [{ clusters: ["a"], soakSeconds: 0, approval: "Automatic" }] });
    world.intent.revision = { kind: "ready", id: "GOOD" };
    return world;
  }

  it("[U9] goes to the revision that the rollout started from, although its wave is far", () => {
    const world = bench();
    expect(stepsOf(world)).toEqual(["c rollback"]);
    expect(world.ledger.clusters.c?.grant?.revision).toBe("A");
    world.settle();
    world.run();
    expect(world.last?.figures).toMatchObject({ updated: 3 });
  });

  it("[W3] waits for its wave where something is ready", () => {
    const world = bench();
    const member = world.member("c");
    Object.assign(member.counts, { ready: 1, available: 1 });
    member.health = "healthy";
    expect(stepsOf(world)).toEqual(["a update"]);
  });
});

const CONTRACT: Intent["workload"] = {
  protocol: "contract",
  hasPartition: true,
  memberOrdered: true,
  reportsLeader: false,
};

describe("joins that are taken back", () => {
  it("[S10] those that may be serving already go one at a time", () => {
    const sizes = { a: 3, b: 2 };
    const bench = new Bench(testIntent(sizes, { podManagementPolicy: "Parallel" }));
    bench.plan();
    bench.deliver();
    for (const [name, replicas] of Object.entries(sizes)) {
      const member = bench.member(name);
      Object.assign(member.counts, { replicas, ready: replicas, available: replicas, updated: replicas });
      member.health = "unhealthy";
      member.observedGeneration = member.generation;
    }
    schedule(bench, { a: 3, b: 0 });
    bench.plan();
    expect(bench.ledger.clusters.b?.grant?.replicas).toBe(1);
  });

  it("[S10] those of which the operator has not spoken since the last grant go one at a time", () => {
    const bench = new Bench(testIntent({ a: 2, b: 2 }, { podManagementPolicy: "Parallel", workload: CONTRACT }));
    bench.plan();
    bench.deliver();
    const epoch = bench.ledger.clusters.b?.grant?.epoch ?? 0;
    bench.member("b").report = { epoch: epoch - 1, revision: "A", phase: "Working", desired: 2, updated: 0, ready: 0 };
    schedule(bench, { a: 2, b: 0 });
    bench.plan();
    expect(bench.ledger.clusters.b?.grant?.replicas).toBe(1);
  });

  it("[S10] instances that never came up are removed one by one, without waiting for the rest to be ready", () => {
    const bench = new Bench(testIntent({ a: 2, b: 2 }, { podManagementPolicy: "Parallel" }));
    bench.plan();
    bench.deliver();
    schedule(bench, { a: 2, b: 0 });
    bench.plan();
    expect(bench.ledger.clusters.b?.grant?.replicas).toBe(1);
    bench.deliver();
    const member = bench.member("b");
    const epoch = bench.ledger.clusters.b?.grant?.epoch ?? 0;
    member.report = { epoch, revision: "A", phase: "Working", desired: 1, updated: 1, ready: 0 };
    Object.assign(member, { observedGeneration: member.generation });
    Object.assign(member.counts, { replicas: 2 });
    bench.plan();
    expect(bench.ledger.clusters.b?.grant?.replicas).toBe(1);
    Object.assign(member.counts, { replicas: 1 });
    bench.plan();
    expect(bench.ledger.clusters.b?.grant?.replicas).toBe(0);
  });
});
