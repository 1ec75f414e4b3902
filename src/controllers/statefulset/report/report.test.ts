import { describe, expect, it } from "vitest";
import type { CrossClusterStatefulsetStatus } from "../../../api/index.ts";
import { Bench } from "../../../plan/check/testing/bench.ts";
import { rollingUpdate, testIntent } from "../../../plan/check/testing/intent.ts";
import type { PresentObservation } from "../../../plan/index.ts";
import type { JsonObject } from "../../../runtime/index.ts";
import { statefulset } from "../../testing/objects.ts";
import { instanceRows } from "./instance-rows.ts";
import { fieldErrorsText, invalidStatus, type ReportFacts, statusOf } from "./report.ts";
import { sentence } from "./words.ts";

type Status = CrossClusterStatefulsetStatus;

const START_MS = Date.UTC(2025, 0, 1);

/** Three clusters with one instance each. */
function threeClusters(): Bench {
  const bench = new Bench(testIntent({ member1: 1, member2: 1, member3: 1 }));
  bench.nowMs = START_MS;
  return bench;
}

function settled(): Bench {
  const bench = threeClusters();
  bench.run();
  return bench;
}

function report(bench: Bench, before?: Status, more: Partial<ReportFacts> = {}, spec: JsonObject = {}): Status {
  const { clusters } = bench.observations();
  return statusOf({
    statefulset: statefulset(spec),
    before,
    plan: bench.plan(),
    observations: clusters,
    history: [],
    failures: [],
    workload: undefined,
    selector: undefined,
    nowMs: bench.nowMs,
    ...more,
  });
}

const condition = (status: Status, type: string) => status.conditions?.find((one) => one.type === type);
const row = (status: Status, name: string) => status.clusters?.find((one) => one.name === name);

describe("the status of an application at rest", () => {
  it("says so in every place that people look at", () => {
    const status = report(settled());
    expect(status).toMatchObject({
      observedGeneration: 3,
      phase: "Settled",
      replicas: 3,
      readyReplicas: 3,
      updatedReplicas: 3,
      desiredReplicas: 3,
      display: { ready: "3/3", updated: "3/3" },
    });
    expect(status.reason).toBeUndefined();
    expect(status.step).toBeUndefined();
    expect(condition(status, "Available")).toMatchObject({ status: "True", reason: "QuorumReady" });
    expect(condition(status, "Progressing")).toMatchObject({ status: "False", reason: "Complete" });
    expect(condition(status, "Degraded")).toMatchObject({ status: "False" });
  });

  it("has a row per cluster, in the global order, with what it was given and what it shows", () => {
    const status = report(settled());
    expect(status.clusters?.map(({ name, ordinals }) => [name, ordinals])).toEqual([
      ["member1", [0]],
      ["member2", [100]],
      ["member3", [200]],
    ]);
    const first = row(status, "member1");
    expect(first).toMatchObject({ phase: "Settled", health: "Healthy", granted: { revision: "A", replicas: 1 } });
    expect(first?.observed?.epoch).toBe(first?.granted?.epoch);
  });
});

describe("the instances of a cluster", () => {
  const identity = settled().ledger.identity;
  if (!identity) throw new Error("an application at rest has an identity");
  const seen = (name: string, more: object = {}) => ({ name, ready: true, updated: true, terminating: false, ...more });

  function rows(instances: PresentObservation["instances"], edit: Partial<PresentObservation> = {}) {
    const bench = settled();
    const entry = bench.ledger.clusters.member2;
    const observation = bench.observations().clusters.member2;
    if (!entry || observation?.kind !== "present" || !identity) throw new Error("member2 is there");
    return instanceRows(identity, entry, { ...observation, ...(instances && { instances }), ...edit });
  }

  it("are listed as they were seen", () => {
    expect(rows([seen("xline-100", { updated: false })])).toEqual([{ name: "xline-100", ready: true, updated: false }]);
    expect(rows([seen("xline-100", { terminating: true })])).toEqual([
      { name: "xline-100", ready: false, updated: true, terminating: true },
    ]);
  });

  it("are not ready if they are missing from a complete list, and unknown if there is no list", () => {
    expect(rows([])).toEqual([{ name: "xline-100", ready: false }]);
    expect(rows(undefined)).toEqual([{ name: "xline-100" }]);
  });

  it("have no revision until the controller there has seen the spec", () => {
    expect(rows([seen("xline-100")], { generation: 7, observedGeneration: 6 })).toEqual([
      { name: "xline-100", ready: true },
    ]);
  });

  it("without a grant are shown as Unlisted", () => {
    expect(rows([seen("xline-100"), seen("xline-105")]).at(-1)).toMatchObject({ name: "xline-105", state: "Unlisted" });
  });

  it("are counted only, when there are more than a status can hold", () => {
    const sizes = Object.fromEntries(Array.from({ length: 11 }, (_, at) => [`member${at + 1}`, 100]));
    const many = new Bench(testIntent(sizes, { podManagementPolicy: "Parallel" }));
    many.run();
    expect(row(report(many), "member1")?.instances).toBeUndefined();
    expect(row(report(settled()), "member1")?.instances).toHaveLength(1);
  });
});

describe("the evidence of a reason", () => {
  it("is the planner's, beside the reason of the cluster and of the whole", () => {
    const bench = settled();
    bench.unreachable.add("member2");
    bench.intent.fleet.member2 = { state: "NotReady", sinceMs: bench.nowMs };
    bench.wait(60);
    const status = report(bench);
    const evidence = [
      { object: "cluster member2", field: "Ready", value: "NotReady", since: "2025-01-01T00:00:00Z" },
      { object: "member2", field: "snapshot", value: "no answer" },
    ];
    expect(status).toMatchObject({ reason: "ClusterNotReady", evidence });
    expect(row(status, "member2")).toMatchObject({ reason: "ClusterNotReady", evidence });
    expect(row(status, "member1")?.evidence).toBeUndefined();
  });

  it("of an older reason is not kept beside a newer one", () => {
    const bench = settled();
    bench.unreachable.add("member2");
    bench.intent.fleet.member2 = { state: "NotReady", sinceMs: bench.nowMs };
    const before = report(bench);
    expect(before.evidence).toBeDefined();
    expect(invalidStatus(7, before, "InvalidSpec", "it is wrong", START_MS).evidence).toBeUndefined();
  });
});

describe("the status of a step", () => {
  it("names the cluster, since when, until when, and what it waits for", () => {
    const bench = settled();
    bench.intent.revision = { kind: "ready", id: "B" };
    bench.wait(10);
    const status = report(bench);
    expect(status.phase).toBe("Updating");
    expect(status.step).toMatchObject({
      type: "Updating",
      cluster: "member3",
      revision: "B",
      since: "2025-01-01T00:00:10Z",
      deadline: "2025-01-01T00:10:10Z",
    });
    expect(row(status, "member3")).toMatchObject({ phase: "Updating" });
    expect(condition(status, "Progressing")?.status).toBe("True");
  });

  it("says which write failed, before anything else about that cluster", () => {
    const failures = [{ cluster: "member2", message: "the hub refused it", reason: "DispatchFailed" as const }];
    const status = report(settled(), undefined, { failures });
    expect(row(status, "member2")).toMatchObject({ reason: "DispatchFailed", message: "the hub refused it" });
    expect(row(status, "member1")?.reason).toBeUndefined();
  });
});

describe("times", () => {
  it("of conditions and clusters stay as long as what they say stays", () => {
    const bench = settled();
    const first = report(bench);
    bench.wait(3_600);
    const later = report(bench, first);
    expect(later).toEqual(first);
  });

  it("of a condition move when its status changes, and of the others stay", () => {
    const bench = settled();
    const first = report(bench);
    bench.wait(60);
    bench.intent.revision = { kind: "ready", id: "B" };
    const later = report(bench, first);
    expect(condition(later, "Progressing")).toMatchObject({
      status: "True",
      lastTransitionTime: "2025-01-01T00:01:00Z",
    });
    expect(condition(later, "Available")?.lastTransitionTime).toBe("2025-01-01T00:00:00Z");
    expect(row(later, "member3")?.since).toBe("2025-01-01T00:01:00Z");
  });
});

describe("the status of an application in trouble", () => {
  it("says that it is not available without a majority", () => {
    const bench = settled();
    for (const name of ["member1", "member2"]) {
      const member = bench.member(name);
      member.counts = { ...member.counts, ready: 0, available: 0 };
      member.health = "unhealthy";
    }
    const status = report(bench);
    expect(condition(status, "Available")).toMatchObject({ status: "False", reason: "NoQuorum" });
    expect(condition(status, "Degraded")).toMatchObject({ status: "True", reason: "NoQuorum" });
    expect(row(status, "member1")?.health).toBe("Unhealthy");
    expect(status.phase).not.toBe("Settled");
  });

  it("shows a cluster that cannot be seen as unknown, not as healthy", () => {
    const bench = settled();
    bench.unreachable.add("member2");
    bench.intent.fleet.member2 = { state: "NotReady", sinceMs: bench.nowMs };
    const member2 = row(report(bench), "member2");
    expect(member2?.health).toBe("Unknown");
    expect(member2?.observed).toBeUndefined();
    expect(member2?.granted).toBeDefined();
  });

  it("names a lost cluster", () => {
    const bench = settled();
    bench.unreachable.add("member2");
    bench.intent.fleet.member2 = { state: "NotReady", sinceMs: bench.nowMs };
    bench.wait(301);
    bench.plan();
    const status = report(bench);
    expect(row(status, "member2")).toMatchObject({ phase: "Lost", health: "Lost" });
    expect(condition(status, "Degraded")).toMatchObject({ reason: "ClusterLost", message: "lost: member2" });
  });

  it("says that it is paused", () => {
    const spec = { updateStrategy: { type: "RollingUpdate", rollingUpdate: { paused: true } } };
    expect(condition(report(settled(), undefined, {}, spec), "Paused")).toMatchObject({ status: "True" });
    expect(condition(report(settled()), "Paused")).toMatchObject({ status: "False", reason: "NotPaused" });
  });
});

describe("[R7] [R8] an application that went back", () => {
  /** Every cluster completed A; B fails in the first one, and is rolled back. */
  function rolledBack(): Bench {
    const bench = settled();
    bench.intent.update = rollingUpdate({ onFailure: "Rollback", progressDeadlineSeconds: 60 });
    bench.intent.revision = { kind: "ready", id: "B" };
    bench.plan();
    bench.deliver();
    bench.member("member3").counts.ready = 0;
    bench.plan();
    bench.wait(61);
    bench.run();
    return bench;
  }

  it("by itself is Settled, and its conditions name the revision that was rejected", () => {
    const status = report(rolledBack());
    expect(status).toMatchObject({ phase: "Settled", rejectedRevision: "B", reason: "RevisionRejected" });
    expect(condition(status, "Settled")).toMatchObject({ status: "True", reason: "RolledBack" });
    expect(condition(status, "Progressing")).toMatchObject({ status: "False", reason: "RolledBack" });
    expect(condition(status, "Degraded")).toMatchObject({ status: "True", reason: "RolledBack" });
    expect(condition(status, "Degraded")?.message).toContain("revision B failed");
  });

  it("is no longer Degraded when the template says something else", () => {
    const bench = rolledBack();
    bench.intent.revision = { kind: "ready", id: "C" };
    bench.run();
    const status = report(bench);
    expect(condition(status, "Settled")).toMatchObject({ status: "True", reason: "Complete" });
    expect(condition(status, "Degraded")).toMatchObject({ status: "False" });
  });

  it("by a person's undo ends in Settled, and is not Degraded", () => {
    const bench = settled();
    bench.intent.revision = { kind: "ready", id: "B" };
    bench.run();
    bench.intent.requests = { ...bench.intent.requests, undo: { id: "1", to: "A" } };
    bench.plan();
    expect(condition(report(bench), "Settled")).toMatchObject({ status: "False" });
    bench.settle();
    bench.run();
    const status = report(bench);
    expect(status).toMatchObject({ phase: "Settled", updateRevision: "A" });
    expect(condition(status, "Settled")).toMatchObject({ status: "True", reason: "Undone" });
    expect(condition(status, "Degraded")).toMatchObject({ status: "False" });
  });
});

describe("[R9] what the status rests on", () => {
  const observedTemplate = {
    uid: "1-2-3",
    generation: 4,
    metadata: "bcdfg",
    revision: "A",
    dependencies: [{ kind: "ConfigMap", name: "config", resourceVersion: "17" }],
  };

  it("is said, so that a reader can compare it with what is there now", () => {
    expect(report(settled(), undefined, { observedTemplate }).observedTemplate).toEqual(observedTemplate);
  });

  it("is Settled no more with the first sight of another template", () => {
    const bench = settled();
    expect(condition(report(bench), "Settled")).toMatchObject({ status: "True", observedGeneration: 3 });
    bench.intent.revision = { kind: "pending", id: "", message: "it is being looked at" };
    expect(condition(report(bench), "Settled")).toMatchObject({ status: "False", reason: "RevisionPending" });
  });

  it("is never Settled when nothing can be planned", () => {
    const status = invalidStatus(7, report(settled()), "InvalidSpec", "it is wrong", START_MS);
    expect(condition(status, "Settled")).toMatchObject({ status: "False", reason: "InvalidSpec" });
  });
});

describe("an object that cannot be acted upon", () => {
  const refused = (before: Status | undefined, nowMs = START_MS) =>
    invalidStatus(7, before, "InvalidSpec", "spec.replicas: must not be negative", nowMs);

  it("keeps what it said of its clusters, and says what is wrong", () => {
    const before = report(settled());
    const status = refused(before);
    expect(status).toMatchObject({ phase: "Invalid", reason: "InvalidSpec", observedGeneration: 7 });
    expect(status.clusters).toEqual(before.clusters);
    expect(condition(status, "Degraded")).toMatchObject({ status: "True", reason: "InvalidSpec" });
  });

  it("keeps the time at which that began", () => {
    expect(refused(refused(undefined), START_MS + 60_000)).toEqual(refused(undefined));
  });

  it("names every field", () => {
    const errors = ["spec.a", "spec.b"].map((path) => ({ kind: "Invalid" as const, path, message: "is wrong" }));
    expect(fieldErrorsText(errors)).toBe("spec.a: is wrong; spec.b: is wrong");
  });
});

describe("a sentence", () => {
  const waiting = { code: "Paused" as const, message: "It is paused.", evidence: [], remedy: "Resume it." };

  it("ends with the remedy, if there is one", () => {
    expect(sentence(waiting)).toBe("It is paused. Resume it.");
    expect(sentence({ ...waiting, remedy: "" })).toBe("It is paused.");
  });

  it("is cut where the API server would refuse the whole status", () => {
    const long = sentence({ ...waiting, message: "x".repeat(10_000) });
    expect(long).toHaveLength(4096);
    expect(long.endsWith("...")).toBe(true);
  });
});

describe("what status says of numbers and times", () => {
  it("never shows more instances updated or ready than there should be, while one is being removed", () => {
    const bench = settled();
    bench.intent.schedule = { kind: "known", source: "explicit", clusters: [{ cluster: "member1", replicas: 1 }] };
    const status = report(bench);
    expect(status.updatedReplicas).toBeGreaterThan(1);
    expect(status.display).toEqual({ ready: "1/1", updated: "1/1", kind: "StatefulSet" });
  });

  it("says since when the reason has been there, however long the application has been at work", () => {
    const waves = [{ clusters: ["member3"], soakSeconds: 4, approval: "Automatic" as const }];
    const bench = settled();
    bench.intent.update = rollingUpdate({ waves });
    bench.intent.revision = { kind: "ready", id: "B" };
    const spec = { updateStrategy: { rollingUpdate: { waves } } };
    let status = report(bench, undefined, {}, spec);
    bench.nowMs += 77_000;
    bench.settle();
    status = report(bench, status, {}, spec);
    bench.settle();
    status = report(bench, status, {}, spec);
    expect(status).toMatchObject({ reason: "Soaking", since: "2025-01-01T00:01:17Z" });
    expect(status.rollout).toMatchObject({ wave: 1, soakUntil: "2025-01-01T00:01:21Z" });
    bench.nowMs += 2_000;
    expect(report(bench, status, {}, spec).since).toBe("2025-01-01T00:01:17Z");
  });

  it("shows a wave only where the strategy has waves", () => {
    const bench = settled();
    bench.intent.revision = { kind: "ready", id: "B" };
    const status = report(bench);
    expect(status.rollout).toMatchObject({ to: "B", from: "A", type: "Update" });
    expect(status.rollout).not.toHaveProperty("wave");
    expect(status.step).not.toHaveProperty("wave");
  });
});

describe("[I19] the status of the largest application", () => {
  const many = (count: number, each: number) => {
    const sizes = Object.fromEntries(Array.from({ length: count }, (_, at) => [`cluster-${at}`, each]));
    const bench = new Bench(testIntent(sizes, { podManagementPolicy: "Parallel", quorum: "None" }));
    bench.nowMs = START_MS;
    bench.run();
    return bench;
  };

  it("is far below what etcd takes, whatever has to be said of each cluster", () => {
    const bench = many(256, 39);
    const failures = Object.keys(bench.ledger.clusters).map((cluster) => ({
      cluster,
      reason: "DispatchFailed" as const,
      message: "x".repeat(20_000),
    }));
    const status = report(bench, undefined, { failures, workload: { notes: "y".repeat(2_000_000) } });
    expect(status.clusters).toHaveLength(256);
    expect(JSON.stringify(status).length).toBeLessThan(600_000);
    expect(row(status, "cluster-255")).toMatchObject({ reason: "DispatchFailed", message: "x".repeat(300) });
    const copied = report(bench, undefined, { failures, ledgerCopy: "z".repeat(500_000) });
    expect(JSON.stringify(copied).length).toBeLessThan(600_000);
    expect(copied).not.toHaveProperty("ledger");
    expect(report(bench, undefined, { failures, ledgerCopy: "zzz" }).ledger).toBe("zzz");
  });

  it("lists no instances, and at most 256 clusters", () => {
    const bench = many(100, 11);
    const status = report(bench);
    expect(status.clusters?.some(({ instances }) => instances !== undefined)).toBe(false);
    const ledger = bench.plan().ledger;
    const [first] = Object.values(ledger.clusters);
    if (!first) throw new Error("no cluster");
    const clusters = Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`c-${at}`, { ...first, index: at }]));
    const plan = { ...bench.plan(), ledger: { ...ledger, clusters } };
    expect(report(bench, undefined, { plan }).clusters).toHaveLength(256);
  });

  it("that fits is left as it is", () => {
    const workload = { replicas: 3 };
    expect(report(settled(), undefined, { workload }).workload).toEqual(workload);
  });
});
