import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { EngineCluster } from "../../../engine/index.ts";
import type { Schedule } from "../../../plan/index.ts";
import type { JsonObject } from "../../../runtime/index.ts";
import { statefulset } from "../../testing/objects.ts";
import { divide, type IntentFacts, intentOf, leaderSourceOf, protocolOf } from "./intent.ts";

const cluster = (name: string, more: Partial<EngineCluster> = {}): EngineCluster => ({
  name,
  state: "Ready",
  labels: {},
  zones: [],
  ...more,
});

function intent(spec: JsonObject = {}, more: Partial<IntentFacts> = {}) {
  return intentOf({
    statefulset: statefulset(spec),
    template: undefined,
    templateReplicas: 5,
    revision: { kind: "ready", id: "web-1" },
    schedule: {
      kind: "known",
      clusters: [
        { cluster: "member1", replicas: 3 },
        { cluster: "member2", replicas: 2 },
      ],
    },
    clusters: [cluster("member1"), cluster("member2")],
    goneSinceMs: {},
    approvals: [],
    baselines: {},
    window: { open: true },
    nowMs: 1_000_000,
    ...more,
  });
}

const weights = fc.uniqueArray(fc.record({ cluster: fc.string(), weight: fc.integer({ min: 0, max: 50 }) }), {
  selector: ({ cluster: name }) => name,
  minLength: 1,
  maxLength: 8,
});
const total = fc.integer({ min: 0, max: 1_000 });

describe("divide", () => {
  it("gives out exactly the total, to every cluster in the order given", () => {
    fc.assert(
      fc.property(total, weights, (count, weighted) => {
        const shares = divide(count, weighted);
        expect(shares.map(({ cluster: name }) => name)).toEqual(weighted.map(({ cluster: name }) => name));
        expect(shares.reduce((sum, { replicas }) => sum + replicas, 0)).toBe(count);
      }),
    );
  });

  it("gives every cluster its exact share, rounded up or down by less than one", () => {
    fc.assert(
      fc.property(total, weights, (count, weighted) => {
        const sum = weighted.reduce((all, { weight }) => all + weight, 0);
        fc.pre(sum > 0);
        divide(count, weighted).forEach(({ replicas }, index) => {
          const exact = (count * (weighted[index]?.weight ?? 0)) / sum;
          expect(Math.abs(replicas - exact)).toBeLessThan(1);
        });
      }),
    );
  });

  it("gives a heavier cluster no less", () => {
    fc.assert(
      fc.property(total, weights, (count, weighted) => {
        fc.pre(weighted.some(({ weight }) => weight > 0));
        const shares = divide(count, weighted);
        for (const [a, one] of weighted.entries()) {
          for (const [b, other] of weighted.entries()) {
            if (one.weight > other.weight) {
              expect(shares[a]?.replicas).toBeGreaterThanOrEqual(shares[b]?.replicas ?? 0);
            }
          }
        }
      }),
    );
  });

  it("gives the odd one to the cluster listed first", () => {
    const even = ["a", "b", "c"].map((name) => ({ cluster: name, weight: 1 }));
    expect(divide(4, even).map(({ replicas }) => replicas)).toEqual([2, 1, 1]);
  });

  it("gives all to the first where no weight says anything", () => {
    const nothing = ["a", "b"].map((name) => ({ cluster: name, weight: 0 }));
    expect(divide(3, nothing).map(({ replicas }) => replicas)).toEqual([3, 0]);
  });
});

describe("the schedule", () => {
  it("is the engine's where no topology is given", () => {
    expect(intent().schedule).toMatchObject({
      kind: "known",
      source: "engine",
      clusters: [{ replicas: 3 }, { replicas: 2 }],
    });
  });

  it("keeps the engine's proportions when the object itself is scaled", () => {
    expect(intent({ replicas: 10 }).schedule).toMatchObject({ clusters: [{ replicas: 6 }, { replicas: 4 }] });
  });

  it("that is unknown is never zero clusters", () => {
    const schedule = { kind: "unknown", message: "not scheduled yet" } as const;
    expect(intent({ replicas: 4 }, { schedule }).schedule).toEqual(schedule);
  });

  it("is the topology's, whatever the engine says", () => {
    const topology = { clusters: [{ name: "member2", replicas: 4 }] };
    const schedule = { kind: "unknown", message: "no policy" } as const;
    expect(intent({ topology }, { schedule }).schedule).toEqual({
      kind: "known",
      source: "explicit",
      clusters: [{ cluster: "member2", replicas: 4 }],
    });
  });

  it("divides by weight what the object or else the template asks for", () => {
    const topology = {
      clusters: [
        { name: "member1", weight: 1 },
        { name: "member2", weight: 1 },
      ],
    };
    expect(intent({ topology }).schedule).toMatchObject({ clusters: [{ replicas: 3 }, { replicas: 2 }] });
    expect(intent({ topology, replicas: 2 }).schedule).toMatchObject({ clusters: [{ replicas: 1 }, { replicas: 1 }] });
    expect(intent({ topology }, { templateReplicas: undefined }).schedule).toMatchObject({ kind: "unknown" });
  });
});

describe("a Placement's selection", () => {
  const schedule = {
    kind: "known",
    isSelection: true,
    clusters: ["c", "a", "b"].map((name) => ({ cluster: name, replicas: 1 })),
  } as const;
  const placementRef = { name: "zones" };

  it("is divided by weight: listed clusters first, those that are not listed with weight 1, by name", () => {
    const topology = {
      placementRef,
      clusters: [
        { name: "b", weight: 3 },
        { name: "gone", weight: 9 },
      ],
    };
    expect(intent({ topology }, { schedule }).schedule).toEqual({
      kind: "known",
      source: "engine",
      clusters: [
        { cluster: "b", replicas: 3 },
        { cluster: "a", replicas: 1 },
        { cluster: "c", replicas: 1 },
      ],
    });
  });

  const why = { message: "it may only have been away", isStuck: false };
  const kept = (...names: string[]) => ({
    ...schedule,
    clusters: schedule.clusters.map((each) => (names.includes(each.cluster) ? { ...each, kept: why } : each)),
  });
  const shares = (divided: Schedule) =>
    divided.kind === "known" && Object.fromEntries(divided.clusters.map((each) => [each.cluster, each.replicas]));

  it("[S19] leaves a cluster that may only have been away what it holds, and the others what they have", () => {
    const { schedule: divided } = intent(
      { topology: { placementRef } },
      { schedule: kept("b"), granted: { a: 2, b: 2, c: 1 } },
    );
    expect(divided).toMatchObject({ clusters: [{ cluster: "a" }, { cluster: "b", kept: why }, { cluster: "c" }] });
    expect(shares(divided)).toEqual({ a: 2, b: 2, c: 1 });
  });

  it("[S19] keeps what it holds also if the division would give it more or less", () => {
    const topology = { placementRef, clusters: [{ name: "a", weight: 9 }] };
    const divide = (granted: Record<string, number>, ...names: string[]) =>
      shares(intent({ topology }, { schedule: kept(...names), granted }).schedule);
    expect(divide({ a: 3, b: 2 }, "b")).toEqual({ a: 3, b: 2, c: 0 });
    // It was being deployed when it was lost: its share is not given to another one.
    expect(divide({ a: 4, b: 0 }, "b")).toEqual({ a: 4, b: 0, c: 0 });
    expect(divide({ a: 3, b: 4, c: 2 }, "b", "c")).toEqual({ a: 0, b: 4, c: 2 });
    expect(divide({ a: 3, b: 4, c: 2 }, "a", "b", "c")).toEqual({ a: 3, b: 4, c: 2 });
  });

  it("[S19] divided by scores leaves it what it holds, too", () => {
    const scored = kept("b").clusters.map((each) => ({ ...each, weight: 10 }));
    const { schedule: divided } = intent(
      { topology: { placementRef } },
      {
        schedule: { ...schedule, isScored: true, clusters: scored },
        templateReplicas: 3,
        granted: { a: 1, b: 2, c: 1 },
      },
    );
    expect(shares(divided)).toMatchObject({ b: 2 });
    expect(Object.values(shares(divided) || {}).reduce((sum, each) => sum + each, 0)).toBe(3);
    expect(divided).toMatchObject({ clusters: expect.arrayContaining([{ cluster: "b", replicas: 2, kept: why }]) });
  });

  it("[C6] gives a cluster up when a user allows its drain, and not another one that it selects", () => {
    const failover = { confirmedDrain: ["a", "b"] };
    const { schedule: divided } = intent({ topology: { placementRef }, failover }, { schedule: kept("b") });
    expect(Object.keys(shares(divided) || {})).toEqual(["a", "c"]);
  });

  it("that is unknown is never zero clusters", () => {
    const unknown = { kind: "unknown", message: "it has decided nothing yet" } as const;
    expect(intent({ topology: { placementRef } }, { schedule: unknown }).schedule).toEqual(unknown);
  });

  it("without a number to divide is unknown", () => {
    const { schedule: divided } = intent({ topology: { placementRef } }, { schedule, templateReplicas: undefined });
    expect(divided).toMatchObject({ kind: "unknown", message: expect.stringContaining("how many instances") });
  });
});

describe("the fleet", () => {
  it("tells states, times and cordons", () => {
    const clusters = [
      cluster("a", { cordoned: "maintenance:NoSchedule" }),
      cluster("b", { state: "NotReady", sinceMs: 5 }),
      cluster("c", { state: "NotReady" }),
      cluster("d", { state: "Unknown" }),
    ];
    expect(intent({}, { clusters, goneSinceMs: { e: 9 } }).fleet).toEqual({
      a: { state: "Ready", cordoned: "maintenance:NoSchedule" },
      b: { state: "NotReady", sinceMs: 5 },
      c: { state: "NotReady", sinceMs: 1_000_000 },
      d: { state: "Unknown" },
      e: { state: "Gone", sinceMs: 9 },
    });
  });
});

describe("what a person asks for during a rollout", () => {
  const at = "2025-01-01T00:00:00Z";

  it("is a promotion, whose waves the planner counts from 0", () => {
    const { requests } = intent({ promote: { revision: "B", wave: 2, at, by: "ada" } });
    expect(requests.promotion).toEqual({ revision: "B", wave: 1, window: false });
  });

  it("is a leader elsewhere, heard once for each time", () => {
    const { requests } = intent({ transferLeader: { to: "member2", at } });
    expect(requests.transferLeader).toEqual({ id: at, to: "member2" });
  });

  it("is a cluster's maintenance, by the taint that lockstep drain sets", () => {
    const { fleet } = intent({}, { clusters: [cluster("a", { cordoned: "lockstep.karmada.io/drain:NoSchedule" })] });
    expect(fleet.a).toMatchObject({ state: "Ready", maintenance: true });
  });
});

describe("a user's confirmation that a cluster is lost", () => {
  const at = "2025-01-01T00:00:00Z";
  const spec = { failover: { confirmedLost: [{ name: "member1", at }] } };
  const lost = (clusters: readonly EngineCluster[]) => intent(spec, { clusters }).requests.confirmedLost;
  const away = (sinceMs: number) => cluster("member1", { state: "NotReady", sinceMs });

  it("counts for the loss that it was said about", () => {
    expect(lost([away(Date.parse(at) - 1)])).toEqual(["member1"]);
  });

  it("does not count for a loss that began afterwards, or for a cluster that is Ready", () => {
    expect(lost([away(Date.parse(at) + 1)])).toEqual([]);
    expect(lost([cluster("member1")])).toEqual([]);
  });

  it("counts for a cluster that has left the fleet", () => {
    expect(lost([])).toEqual(["member1"]);
  });
});

describe("what the object says of its workload", () => {
  const operator = { resourceSelector: { apiVersion: "apps.my.io/v1", kind: "Xline", name: "web" } };

  it("decides the protocol, and with it the identity", () => {
    expect(protocolOf(statefulset())).toBe("statefulset");
    expect(intent().identity.mode).toBe("Blocks");
    expect(protocolOf(statefulset(operator))).toBe("ignorant");
    expect(intent(operator).identity.mode).toBe("PerCluster");
    const contract = { ...operator, completion: { protocol: "Contract" } };
    expect(protocolOf(statefulset(contract))).toBe("contract");
    expect(intent(contract).identity.mode).toBe("Dense");
  });

  it("decides where the leader is read", () => {
    expect(leaderSourceOf(statefulset())).toEqual({ report: true });
    expect(leaderSourceOf(statefulset({ leader: { fieldPath: "status.leader" } }))).toEqual({
      fieldPath: "status.leader",
    });
    expect(leaderSourceOf(statefulset({ leader: { podLabel: "role=leader" } }))).toEqual({
      podLabel: { key: "role", value: "leader" },
    });
  });

  it("is deleted by its policy once it is being deleted", () => {
    expect(intent().deletion).toBeUndefined();
    const deleting = statefulset({ deletionPolicy: "Teardown" }, { deletionTimestamp: "2025-01-01T00:00:00Z" });
    expect(intent({}, { statefulset: deleting }).deletion).toEqual({ policy: "Teardown" });
  });
});
