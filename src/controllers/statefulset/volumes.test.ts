import { describe, expect, it } from "vitest";
import type { ClaimNames, Engine, EngineApp, Snapshot } from "../../engine/index.ts";
import { emptyLedger, type Ledger, type Observations, type PlanResult } from "../../plan/index.ts";
import type { JsonObject } from "../../runtime/index.ts";
import { VirtualClock } from "../../runtime/testing/virtual-clock.ts";
import type { Subject } from "./subject.ts";
import { claimNames, VOLUMES_ASKED_AFTER_MS, Volumes, withVolumes } from "./volumes.ts";

const STATEFULSET = { apiVersion: "apps/v1", kind: "StatefulSet", namespace: "default", name: "web" };
const OPERATED = { apiVersion: "apps.my.io/v1alpha1", kind: "XlineCluster", namespace: "default", name: "web" };
const SEEN: Observations = {
  clusters: { a: { kind: "absent" }, b: { kind: "unreachable", message: "timeout" } },
};

function withClaims(...names: string[]): JsonObject {
  return { spec: { volumeClaimTemplates: names.map((name) => ({ metadata: { name } })) } };
}

function appOf(template: EngineApp["template"]): EngineApp {
  return { namespace: "default", name: "web", template };
}

function subjectOf(template: EngineApp["template"], object = withClaims("data")): Subject {
  return { key: "default/web", app: appOf(template), template: { kind: "one", object } } as unknown as Subject;
}

/** A plan that waits for old volumes in these clusters. */
function waitingFor(...clusters: string[]): PlanResult {
  const waiting = clusters.map((cluster) => ({ code: "VolumeSurvives", cluster }));
  return { ledger: emptyLedger(), waiting } as unknown as PlanResult;
}

/** Every member has these volumes, or cannot tell. */
function setUp(volumes: readonly number[] | undefined) {
  const asked: { cluster: string; names: ClaimNames }[] = [];
  const absent: Snapshot = { kind: "absent", atMs: 1 };
  const engine = {
    snapshot: () => absent,
    member: (cluster: string) => ({
      volumes: async (_namespace: string, names: ClaimNames) => {
        asked.push({ cluster, names });
        return volumes;
      },
    }),
  } as unknown as Engine;
  const clock = new VirtualClock();
  return { asked, clock, volumes: new Volumes(engine, clock) };
}

describe("volumes in the members", () => {
  it("are not read unless a plan needs to know", async () => {
    const { volumes, asked } = setUp([0]);
    expect(await volumes.read(subjectOf(STATEFULSET), emptyLedger(), waitingFor(), SEEN)).toEqual(new Map());
    expect(asked).toEqual([]);
  });

  it("are read where one is in the way and the member can be asked", async () => {
    const { volumes, asked } = setUp([0, 1]);
    const known = await volumes.read(subjectOf(STATEFULSET), emptyLedger(), waitingFor("a", "b"), SEEN);
    expect(known).toEqual(new Map([["a", [0, 1]]]));
    expect(asked).toEqual([{ cluster: "a", names: { workload: "web", templates: ["data"] } }]);
    expect(withVolumes(SEEN, known).clusters).toEqual({
      a: { kind: "absent", volumes: [0, 1] },
      b: { kind: "unreachable", message: "timeout" },
    });
  });

  it("stay unknown where they cannot be read", async () => {
    const { volumes } = setUp(undefined);
    const known = await volumes.read(subjectOf(STATEFULSET), emptyLedger(), waitingFor("a"), SEEN);
    expect(known.size).toBe(0);
  });

  it("are none where the StatefulSet claims none, and nobody is asked", async () => {
    const { volumes, asked } = setUp(undefined);
    const known = await volumes.read(subjectOf(STATEFULSET, withClaims()), emptyLedger(), waitingFor("a"), SEEN);
    expect(known).toEqual(new Map([["a", []]]));
    expect(asked).toEqual([]);
  });

  it("that are in the way are asked for again after a while, and not before", async () => {
    const { volumes, asked, clock } = setUp([0]);
    const look = () => volumes.read(subjectOf(STATEFULSET), emptyLedger(), waitingFor("a"), SEEN);
    await look();
    expect(volumes.askAgainAfterMs("default/web", waitingFor("a"))).toBe(VOLUMES_ASKED_AFTER_MS);
    await clock.advance(VOLUMES_ASKED_AFTER_MS - 1);
    await look();
    expect(volumes.askAgainAfterMs("default/web", waitingFor("a"))).toBe(1);
    expect(asked).toHaveLength(1);
    await clock.advance(1);
    await look();
    expect(asked).toHaveLength(2);
    expect(volumes.askAgainAfterMs("default/web", waitingFor())).toBeUndefined();
  });

  it("are looked at in every cluster that held a free ordinal before a new one is taken", async () => {
    const { volumes, asked } = setUp([]);
    const before = emptyLedger();
    const ledger: Ledger = { ...before, nextOrdinal: 4, retired: [{ ordinal: 2, cluster: "a" }] };
    await volumes.read(subjectOf(STATEFULSET), before, { ...waitingFor(), ledger }, SEEN);
    expect(asked.map(({ cluster }) => cluster)).toEqual(["a"]);
  });
});

describe("an operator's volumes", () => {
  const ledger = (...ordinals: number[]) =>
    ({
      ...emptyLedger(),
      clusters: { a: { instances: ordinals.map((ordinal) => ({ ordinal, state: "member" })) } },
    }) as unknown as Ledger;

  it("say something by their absence only where every instance has one", async () => {
    const { volumes } = setUp([0, 1]);
    const known = (...ordinals: number[]) =>
      volumes.read(subjectOf(OPERATED), ledger(...ordinals), waitingFor("a"), SEEN);
    expect(await known(0, 1)).toEqual(new Map([["a", [0, 1]]]));
    expect((await known(0, 3)).size).toBe(0);
    expect((await known()).size).toBe(0);
  });
});

describe("the names of claims", () => {
  it("come from all templates that are known, and only for a StatefulSet", () => {
    const objects = [withClaims("data"), withClaims("data", "logs"), {}];
    expect(claimNames(appOf(STATEFULSET), objects)).toEqual({ workload: "web", templates: ["data", "logs"] });
    expect(claimNames(appOf(OPERATED), objects)).toEqual({ workload: "web" });
  });
});
