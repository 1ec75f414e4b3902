import { describe, expect, it } from "vitest";
import type { ClaimNames, Engine, EngineApp, Snapshot } from "../../../engine/index.ts";
import { Bench } from "../../../plan/check/testing/bench.ts";
import { testIntent } from "../../../plan/check/testing/intent.ts";
import { emptyLedger, type Ledger, type Observations, type PlanResult } from "../../../plan/index.ts";
import type { JsonObject } from "../../../runtime/index.ts";
import { VirtualClock } from "../../../runtime/testing/virtual-clock.ts";
import type { Subject } from "../subject.ts";
import { claimNames, VOLUMES_ASKED_AFTER_MS, Volumes, volumesWanted, withVolumes } from "./volumes.ts";

const STATEFULSET = { apiVersion: "apps/v1", kind: "StatefulSet", namespace: "default", name: "web" };
const OPERATED = { apiVersion: "apps.my.io/v1alpha1", kind: "XlineCluster", namespace: "default", name: "web" };
const MOMENT: { members: ReadonlyMap<string, Snapshot> } = {
  members: new Map<string, Snapshot>([
    ["a", { kind: "absent", atMs: 1 }],
    ["b", { kind: "unreachable", message: "timeout" }],
  ]),
};
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
  const engine = {
    member: (cluster: string) => ({
      volumes: async (_namespace: string, names: ClaimNames) => {
        asked.push({ cluster, names });
        return volumes;
      },
    }),
  } as unknown as Engine;
  const clock = new VirtualClock();
  const all = new Volumes(engine, clock);
  /** What the plan after this one would rest on. */
  const read = async (subject: Subject, ledger: Ledger, result: PlanResult) => {
    await all.ask(subject, MOMENT, ledger, result, undefined);
    return all.take(subject.key)?.found ?? new Map();
  };
  return { asked, clock, volumes: all, read };
}

describe("[I15] volumes in the members", () => {
  it("are not read unless a plan needs to know", async () => {
    const { read, asked } = setUp([0]);
    expect(await read(subjectOf(STATEFULSET), emptyLedger(), waitingFor())).toEqual(new Map());
    expect(asked).toEqual([]);
  });

  it("are read where one is in the way and the member can be asked", async () => {
    const { read, asked } = setUp([0, 1]);
    const known = await read(subjectOf(STATEFULSET), emptyLedger(), waitingFor("a", "b"));
    expect(known).toEqual(new Map([["a", { ordinals: [0, 1], all: true }]]));
    expect(asked).toEqual([{ cluster: "a", names: { workload: "web", templates: ["data"] } }]);
    expect(withVolumes(SEEN, known).clusters).toEqual({
      a: { kind: "absent", foundVolumes: [0, 1], volumes: [0, 1] },
      b: { kind: "unreachable", message: "timeout" },
    });
  });

  it("stay unknown where they cannot be read", async () => {
    const { read } = setUp(undefined);
    const known = await read(subjectOf(STATEFULSET), emptyLedger(), waitingFor("a"));
    expect(known.size).toBe(0);
  });

  it("are none if the StatefulSet has no claims, and no member is asked", async () => {
    const { read, asked } = setUp(undefined);
    const known = await read(subjectOf(STATEFULSET, withClaims()), emptyLedger(), waitingFor("a"));
    expect(known).toEqual(new Map([["a", { ordinals: [], all: true }]]));
    expect(asked).toEqual([]);
  });

  it("that are in the way are asked for again after a while, and not before", async () => {
    const { volumes, read, asked, clock } = setUp([0]);
    const look = () => read(subjectOf(STATEFULSET), emptyLedger(), waitingFor("a"));
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
    const { read, asked } = setUp([]);
    const before = emptyLedger();
    const ledger: Ledger = { ...before, nextOrdinal: 4, retired: [{ ordinal: 2, cluster: "a" }] };
    await read(subjectOf(STATEFULSET), before, { ...waitingFor(), ledger });
    expect(asked.map(({ cluster }) => cluster)).toEqual(["a"]);
  });

  it("are known to the next plan alone, and not for long", async () => {
    const { volumes, clock } = setUp([0]);
    const ask = () => volumes.ask(subjectOf(STATEFULSET), MOMENT, emptyLedger(), waitingFor("a"), undefined);
    expect(await ask()).toBe(true);
    expect(volumes.take("default/web")?.found.get("a")).toEqual({ ordinals: [0], all: true });
    expect(volumes.take("default/web")).toBeUndefined();
    await ask();
    await clock.advance(10_001);
    expect(volumes.take("default/web")).toBeUndefined();
  });

  it("are not asked for again by the plan that uses them, even if they could not be read", async () => {
    const { volumes } = setUp(undefined);
    const ask = (taken: ReturnType<Volumes["take"]>) =>
      volumes.ask(subjectOf(STATEFULSET), MOMENT, emptyLedger(), waitingFor("a"), taken);
    expect(await ask(undefined)).toBe(true);
    expect(await ask(volumes.take("default/web"))).toBe(false);
  });

  describe("of an earlier life", () => {
    /** Cluster a gets its first instance, and b is scheduled. */
    const planned = (mode: "Blocks" | "Dense" | "PerCluster", reuseVolumes: boolean): Ledger => {
      const intent = testIntent({ a: 1, b: 1 }, { identity: { mode, blockSize: 100, clusterIds: {}, reuseVolumes } });
      const bench = new Bench(intent);
      return bench.plan().ledger;
    };

    it("are looked for in every cluster before the first deployment, where volumes may not be reused", () => {
      expect(volumesWanted(emptyLedger(), { ...waitingFor(), ledger: planned("Dense", false) })).toEqual(["a", "b"]);
      expect(volumesWanted(emptyLedger(), { ...waitingFor(), ledger: planned("Blocks", false) })).toEqual(["a", "b"]);
    });

    it("are not looked for where they may be reused, or the member's own controller decides", () => {
      expect(volumesWanted(emptyLedger(), { ...waitingFor(), ledger: planned("Blocks", true) })).toEqual([]);
      expect(volumesWanted(emptyLedger(), { ...waitingFor(), ledger: planned("PerCluster", false) })).toEqual([]);
    });
  });
});

describe("an operator's volumes", () => {
  const ledger = (...ordinals: number[]) =>
    ({
      ...emptyLedger(),
      clusters: { a: { instances: ordinals.map((ordinal) => ({ ordinal, state: "member" })) } },
    }) as unknown as Ledger;

  it("say something by their absence only where every instance has one", async () => {
    const { read } = setUp([0, 1]);
    const known = (...ordinals: number[]) => read(subjectOf(OPERATED), ledger(...ordinals), waitingFor("a"));
    expect((await known(0, 1)).get("a")).toEqual({ ordinals: [0, 1], all: true });
    expect((await known(0, 3)).get("a")).toEqual({ ordinals: [0, 1], all: false });
    expect((await known()).get("a")).toEqual({ ordinals: [0, 1], all: false });
  });
});

describe("the names of claims", () => {
  it("come from all templates that are known, and only for a StatefulSet", () => {
    const objects = [withClaims("data"), withClaims("data", "logs"), {}];
    expect(claimNames(appOf(STATEFULSET), objects)).toEqual({ workload: "web", templates: ["data", "logs"] });
    expect(claimNames(appOf(OPERATED), objects)).toEqual({ workload: "web" });
  });
});
