import { describe, expect, it } from "vitest";
import { testIntent } from "../check/testing/intent.ts";
import { newEntry } from "../identity/identity.ts";
import type { Grant, Intent, PresentObservation } from "../types/index.ts";
import { driftOf, gateOf, turnIsBack } from "./gate.ts";

const grant: Grant = {
  cluster: "a",
  revision: "B",
  replicas: 3,
  partition: 1,
  processor: true,
  topologyVersion: 4,
  epoch: 7,
  start: 0,
  initialClusterState: "existing",
  onDelete: false,
};

/** A snapshot that opens the gate in every protocol; each test spoils one thing. */
const perfect: PresentObservation = {
  kind: "present",
  generation: 5,
  observedGeneration: 5,
  live: { epoch: 7, revision: "B", processor: true, partition: 1, topologyVersion: 4, replicas: 3 },
  counts: { replicas: 3, ready: 3, available: 3, updated: 2, terminating: 0 },
  health: "healthy",
  report: { epoch: 7, revision: "B", phase: "Done", desired: 3, updated: 2, ready: 3 },
  leader: { kind: "unknown" },
};

function intentOf(protocol: Intent["workload"]["protocol"]): Intent {
  const intent = testIntent({ a: 3 });
  return { ...intent, workload: { ...intent.workload, protocol } };
}

function codeOf(
  protocol: Intent["workload"]["protocol"],
  spoiled: Partial<PresentObservation>,
  given: Grant = grant,
): string {
  const gate = gateOf(intentOf(protocol), newEntry(0, "a", 0), given, { ...perfect, ...spoiled }, 0);
  return gate.open ? "open" : gate.code;
}

const counts = (edit: Partial<PresentObservation["counts"]>) => ({ counts: { ...perfect.counts, ...edit } });
const report = (edit: Partial<NonNullable<PresentObservation["report"]>>) =>
  perfect.report ? { report: { ...perfect.report, ...edit } } : {};
const without = (...keys: Array<keyof PresentObservation>): Partial<PresentObservation> =>
  Object.fromEntries(keys.map((key) => [key, undefined]));

describe("every protocol", () => {
  it.each(["contract", "statefulset", "ignorant"] as const)("[G1] [G2] [G6] %s", (protocol) => {
    expect(codeOf(protocol, {})).toBe("open");
    expect(codeOf(protocol, { live: { ...perfect.live, epoch: 6 } })).toBe("WaitingForDelivery");
    expect(codeOf(protocol, { live: { ...perfect.live, epoch: 8 } })).toBe("WaitingForDelivery");
    expect(codeOf(protocol, { live: {} })).toBe("WaitingForDelivery");
    expect(codeOf(protocol, { observedGeneration: 4 })).toBe("WaitingForObserved");
    expect(codeOf(protocol, { health: "unknown" })).toBe("HealthUnknown");
    expect(codeOf(protocol, { health: "unhealthy" })).toBe("Unhealthy");
    expect(codeOf(protocol, counts({ ready: 2 }))).toBe("WaitingForReady");
    expect(codeOf(protocol, counts({ replicas: 4 }))).toBe("WaitingForReady");
    expect(codeOf(protocol, counts({ terminating: 1 }))).toBe("WaitingForTermination");
  });
});

describe("contract", () => {
  it.each([
    [report({ epoch: 6 }), "WaitingForReport"],
    [report({ epoch: 8 }), "WaitingForReport"],
    [without("report"), "WaitingForReport"],
    [report({ phase: "Failed" }), "MemberFailed"],
    [report({ phase: "Working" }), "WaitingForReady"],
    [report({ revision: "A" }), "WaitingForUpdated"],
    [report({ updated: 1 }), "WaitingForUpdated"],
    [report({ desired: 2 }), "WaitingForReady"],
    [report({ ready: 2 }), "WaitingForReady"],
  ] as const)("[G3] %j is %s", (spoiled, code) => {
    expect(codeOf("contract", spoiled)).toBe(code);
  });

  it("[G3] an object without observedGeneration is proven by the epoch", () => {
    expect(codeOf("contract", without("observedGeneration"))).toBe("open");
  });
});

describe("StatefulSet", () => {
  it.each([
    [counts({ updated: 1 }), "WaitingForUpdated"],
    [{ counts: { replicas: 3, ready: 3, available: 3, terminating: 0 } }, "WaitingForUpdated"],
    [{ counts: { replicas: 3, ready: 3, available: 3, updated: 2 } }, "WaitingForTermination"],
    [counts({ available: 2 }), "WaitingForReady"],
    [without("observedGeneration"), "WaitingForObserved"],
  ] as const)("[G4] %j is %s", (spoiled, code) => {
    expect(codeOf("statefulset", spoiled)).toBe(code);
  });

  it("[U11] [G4] OnDelete does not ask for updated instances", () => {
    expect(codeOf("statefulset", counts({ updated: 0 }), { ...grant, onDelete: true })).toBe("open");
  });
});

describe("ignorant", () => {
  const noGeneration: PresentObservation = (({ observedGeneration: _, ...rest }) => rest)(perfect);

  it("[G5] without observedGeneration nothing is proven", () => {
    const gate = gateOf(intentOf("ignorant"), newEntry(0, "a", 0), grant, noGeneration, 1e9);
    expect(gate).toMatchObject({ open: false, code: "CannotBeVerified" });
    expect(!gate.open && gate.remedy).toContain("status.crossCluster");
  });

  it("[G5] an assumption counts from delivery, and does not excuse bad health", () => {
    const intent = { ...intentOf("ignorant"), assumeCompleteAfterSeconds: 30 };
    const entry = { ...newEntry(0, "a", 0), ackedAtMs: 1000 };
    expect(gateOf(intent, entry, grant, noGeneration, 30_999)).toMatchObject({ open: false, opensAtMs: 31_000 });
    expect(gateOf(intent, entry, grant, noGeneration, 31_000).open).toBe(true);
    expect(gateOf(intent, entry, grant, { ...noGeneration, health: "unknown" }, 31_000).open).toBe(false);
  });

  it("[G5] if counts are unknown, health alone decides", () => {
    expect(codeOf("ignorant", { counts: {} })).toBe("open");
  });
});

it("[G6] without replicas, health is not needed", () => {
  const empty = {
    counts: { replicas: 0, ready: 0, available: 0, updated: 0, terminating: 0 },
    health: "unknown" as const,
  };
  const live = { ...perfect.live, replicas: 0, partition: 0 };
  expect(codeOf("statefulset", { ...empty, live }, { ...grant, replicas: 0, partition: 0 })).toBe("open");
});

it("[G7] an operator on the contract must itself have read that its turn is over", () => {
  const over = { ...grant, processor: false };
  expect(turnIsBack(intentOf("contract"), over, perfect)).toBe(true);
  expect(turnIsBack(intentOf("contract"), over, { ...perfect, ...report({ epoch: 6 }) })).toBe(false);
  expect(turnIsBack(intentOf("statefulset"), over, { ...perfect, ...report({ epoch: 6 }) })).toBe(true);
  expect(turnIsBack(intentOf("statefulset"), over, { ...perfect, live: { ...perfect.live, epoch: 6 } })).toBe(false);
  expect(turnIsBack(intentOf("contract"), grant, perfect)).toBe(false);
});

it("[G8] every annotation and the replicas are compared; what a member does not carry is not invented", () => {
  expect(driftOf(grant, perfect)).toEqual([]);
  const fields = (live: PresentObservation["live"]) => driftOf(grant, { ...perfect, live }).map(({ field }) => field);
  expect(fields({ ...perfect.live, revision: "A" })).toEqual(["revision"]);
  expect(fields({ ...perfect.live, processor: false })).toEqual(["processor"]);
  expect(fields({ ...perfect.live, partition: 0 })).toEqual(["partition"]);
  expect(fields({ ...perfect.live, topologyVersion: 3 })).toEqual(["topology-version"]);
  expect(fields({ ...perfect.live, transferLeaderTo: "xline-1" })).toEqual(["transfer-leader-to"]);
  expect(fields({ ...perfect.live, replicas: 9 })).toEqual(["spec.replicas"]);
  const { replicas: _, ...unread } = perfect.live;
  expect(fields(unread)).toEqual([]);
});
