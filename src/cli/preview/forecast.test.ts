import { describe, expect, it } from "vitest";
import { rollingUpdate, testIntent } from "../../plan/check/testing/intent.ts";
import { emptyLedger, type Intent, type Ledger, type RollingUpdate } from "../../plan/index.ts";
import { type Approval, type Forecast, type ForecastInput, forecast, isBlocked } from "./forecast.ts";

const SIZES = { member1: 2, member2: 2, member3: 1 };

function run(intent: Intent, given: Partial<ForecastInput> = {}): Forecast {
  return forecast({
    intentAt: (_, approvals) => ({ ...intent, requests: { ...intent.requests, approvals } }),
    ledger: emptyLedger(),
    observations: {},
    leader: undefined,
    nowMs: 0,
    durationOf: () => undefined,
    ...given,
  });
}

/** A ledger of the application deployed on revision A, and members that show it. */
function deployed(edit: Partial<Intent> = {}): Pick<ForecastInput, "ledger" | "observations"> {
  const done = run(testIntent(SIZES, edit));
  return { ledger: done.ledger, observations: settledObservations(done.ledger) };
}

function settledObservations(ledger: Ledger): ForecastInput["observations"] {
  return Object.fromEntries(
    Object.entries(ledger.clusters).flatMap(([cluster, { grant }]) => {
      if (!grant) return [];
      const { epoch, revision, processor, partition, topologyVersion, replicas } = grant;
      return [
        [
          cluster,
          {
            kind: "present" as const,
            atMs: 0,
            generation: 1,
            observedGeneration: 1,
            live: { epoch, revision, processor, partition, topologyVersion, replicas },
            counts: { replicas, ready: replicas, available: replicas, updated: replicas, terminating: 0 },
            health: "healthy" as const,
            report: { epoch, revision, phase: "Done" as const, desired: replicas, updated: replicas, ready: replicas },
            leader: { kind: "unknown" as const },
          },
        ],
      ];
    }),
  );
}

const to = (revision: string, update: Partial<RollingUpdate> = {}, edit: Partial<Intent> = {}) =>
  testIntent(SIZES, { revision: { kind: "ready", id: revision }, update: rollingUpdate(update), ...edit });

const stepsOf = ({ events }: Forecast) =>
  events.flatMap((event) => (event.kind === "step" ? [`${event.step} ${event.cluster} ${event.to.replicas}`] : []));

describe("a forecast", () => {
  it("shows the room in each cluster, uses it up, and is blocked where it ends", () => {
    const room = { instances: 1, evidence: "1 of 4 cpu are free, an instance requests 1" };
    const intent = testIntent(SIZES);
    const made = run({ ...intent, fleet: { ...intent.fleet, member2: { state: "Ready", room } } });
    expect(made.rooms).toEqual({ member2: room });
    expect(stepsOf(made)).toEqual(["deploy member1 1", "deploy member1 2", "deploy member2 1", "deploy member3 1"]);
    expect(made.blockedBy).toMatchObject([{ code: "NoRoom", cluster: "member2" }]);
    expect(made.events.filter(({ kind }) => kind === "wait")).toEqual([]);
  });

  it("deploys one instance at a time, in the global order", () => {
    const made = run(testIntent(SIZES));
    expect(stepsOf(made)).toEqual([
      "deploy member1 1",
      "deploy member1 2",
      "deploy member2 1",
      "deploy member2 2",
      "deploy member3 1",
    ]);
    expect(made).toMatchObject({ blockedBy: [], stepsOfUnknownTime: 5, knownMs: 0 });
    expect(isBlocked(made)).toBe(false);
  });

  it("updates followers from the top, asks the leader to move, and takes its cluster last", () => {
    const traits = { protocol: "contract", hasPartition: true, memberOrdered: true, reportsLeader: true } as const;
    const intent = to("B", { leaderTransfer: { timeoutSeconds: 60 } }, { workload: traits });
    const made = run(intent, {
      ...deployed({ workload: traits }),
      leader: { cluster: "member2", instance: "xline-100" },
    });
    expect(stepsOf(made)).toEqual(["update member3 1", "update member1 2", "transfer member2 2", "update member2 2"]);
    expect(made.figures).toMatchObject({ currentRevision: "B", updated: 5, leader: "member1" });
  });

  it("never lets the ready instances of a step fall below the majority", () => {
    const made = run(to("B", { maxUnavailable: 5 }), deployed());
    for (const event of made.events) {
      if (event.kind !== "step") continue;
      const { ready, pending, majority } = event.figures;
      expect(ready - pending).toBeGreaterThanOrEqual(majority);
    }
    expect(stepsOf(made)).toHaveLength(3);
  });

  it("goes through approvals and soaks, and says so", () => {
    const waves = [{ clusters: ["member3"], soakSeconds: 600, approval: "Manual" as const }];
    const given: Approval[][] = [];
    const intent = to("B", { waves });
    const made = run(intent, {
      ...deployed(),
      intentAt: (_, approvals) => {
        given.push([...approvals]);
        return { ...intent, requests: { ...intent.requests, approvals } };
      },
    });
    expect(made.events.map(({ kind }) => kind)).toEqual(["step", "wait", "person", "step", "step"]);
    expect(made.events[1]).toMatchObject({ code: "Soaking", forMs: 600_000 });
    expect(made.events[2]).toMatchObject({ code: "AwaitingApproval" });
    expect(given.at(-1)).toEqual([{ revision: "B", wave: 0 }]);
    expect(isBlocked(made)).toBe(false);
  });

  it("adds up what steps took before, side by side where they run side by side", () => {
    const made = run(to("B"), {
      ...deployed(),
      durationOf: ({ cluster }) => (cluster === "member3" ? undefined : 30_000),
    });
    expect(made).toMatchObject({ knownMs: 60_000, stepsOfUnknownTime: 1 });
  });

  it("waits for a window to open", () => {
    const opensMs = 3_600_000;
    const made = run(to("B"), {
      ...deployed(),
      intentAt: (nowMs) =>
        to("B", { window: nowMs < opensMs ? { open: false, changesAtMs: opensMs } : { open: true } }),
    });
    expect(made.events[0]).toMatchObject({ kind: "wait", code: "WindowClosed", forMs: opensMs });
    expect(isBlocked(made)).toBe(false);
  });

  it("is blocked by a pause, by a cluster that would cost the majority, and by impossible settings", () => {
    const paused = run(to("B", { paused: true }), deployed());
    expect(paused.blockedBy).toMatchObject([{ code: "Paused" }]);
    expect(stepsOf(paused)).toEqual([]);

    const ready = deployed();
    const down = { ...ready.observations };
    for (const cluster of ["member1", "member2"]) {
      const found = down[cluster];
      if (found?.kind === "present") {
        down[cluster] = { ...found, counts: { ...found.counts, ready: 1, available: 1 }, health: "unhealthy" };
      }
    }
    const risky = run(
      to(
        "A",
        {},
        {
          schedule: {
            kind: "known",
            source: "explicit",
            clusters: [
              { cluster: "member1", replicas: 2 },
              { cluster: "member2", replicas: 2 },
              { cluster: "member3", replicas: 0 },
            ],
          },
        },
      ),
      { ...ready, observations: down },
    );
    expect(isBlocked(risky)).toBe(true);
    expect(risky.blockedBy.map(({ code }) => code)).toContain("QuorumAtRisk");

    const impossible = run(
      to(
        "B",
        { partition: 1 },
        {
          workload: { protocol: "ignorant", hasPartition: false, memberOrdered: true, reportsLeader: false },
          identity: { mode: "PerCluster", blockSize: 100, clusterIds: {} },
        },
      ),
    );
    expect(impossible.problems).toMatchObject([{ severity: "error", field: "updateStrategy.rollingUpdate.partition" }]);
    expect(isBlocked(impossible)).toBe(true);
  });

  it("rests with a partition, and says what stays", () => {
    const made = run(to("B", { partition: 2 }), deployed());
    expect(stepsOf(made)).toEqual(["update member3 1", "update member2 2"]);
    expect(made.remains.map(({ code }) => code)).toContain("Partitioned");
    expect(isBlocked(made)).toBe(false);
  });

  it("waits until an unreachable cluster counts as lost, and continues without it", () => {
    const fleet = {
      member1: { state: "Ready" },
      member2: { state: "Ready" },
      member3: { state: "NotReady", sinceMs: 0 },
    } as const;
    const made = run(to("B", {}, { fleet }), deployed());
    expect(made.events[0]).toMatchObject({ kind: "wait", forMs: 300_000 });
    expect(stepsOf(made)).toEqual(["update member2 2", "update member1 2"]);
    expect(made.remains.map(({ code }) => code)).toContain("ClusterLost");
  });

  it("removes a drained cluster's objects", () => {
    const schedule = {
      kind: "known",
      source: "explicit",
      clusters: [
        { cluster: "member1", replicas: 2 },
        { cluster: "member2", replicas: 2 },
      ],
    } as const;
    const made = run(to("A", {}, { schedule }), deployed());
    expect(made.events.at(-1)).toMatchObject({ kind: "remove", cluster: "member3", volumes: "Retain" });
    expect(made.grants.map(({ cluster }) => cluster)).toEqual(["member1", "member2"]);
  });

  it("changes none of its arguments", () => {
    const start = deployed();
    const before = JSON.stringify(start);
    run(to("B"), start);
    expect(JSON.stringify(start)).toBe(before);
  });
});
