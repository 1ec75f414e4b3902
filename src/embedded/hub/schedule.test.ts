import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { KubeObject } from "../../apiserver/index.ts";
import type { JsonObject } from "../../runtime/index.ts";
import { divide, type Schedule, schedule } from "./schedule.ts";

function cluster(name: string, spec: JsonObject = {}, labels: Record<string, string> = {}): KubeObject {
  return { apiVersion: "cluster.karmada.io/v1alpha1", kind: "Cluster", metadata: { name, labels }, spec };
}
const views = (objects: readonly KubeObject[], room = 100) => objects.map((object) => ({ object, roomReplicas: room }));
const THREE = views([cluster("a"), cluster("b"), cluster("c")]);
const shares = (result: Schedule) =>
  result.kind === "scheduled"
    ? Object.fromEntries(result.targets.map(({ name, replicas }) => [name, replicas]))
    : result.message;
const weighted = (weights: Record<string, number>): JsonObject => ({
  replicaScheduling: {
    replicaSchedulingType: "Divided",
    replicaDivisionPreference: "Weighted",
    weightPreference: {
      staticWeightList: Object.entries(weights).map(([name, weight]) => ({
        targetCluster: { clusterNames: [name] },
        weight,
      })),
    },
  },
});
const byRoom = (preference: string): JsonObject => ({
  replicaScheduling: { replicaSchedulingType: "Divided", replicaDivisionPreference: preference },
});

describe("schedule", () => {
  it("divides by static weights, the rest to the heaviest", () => {
    const placement = weighted({ a: 2, b: 2, c: 1 });
    const of = (replicas: number) => shares(schedule({ placement, clusters: THREE, replicas, previous: [] }));
    expect(of(5)).toEqual({ a: 2, b: 2, c: 1 });
    expect(of(6)).toEqual({ a: 3, b: 2, c: 1 });
    expect(of(3)).toEqual({ a: 2, b: 1 });
    expect(of(0)).toEqual({});
  });

  it("orders clusters naturally: the second before the tenth", () => {
    const twelve = views(Array.from({ length: 12 }, (_, at) => cluster(`member${12 - at}`)));
    const placement = weighted(Object.fromEntries(twelve.map(({ object }) => [object.metadata.name, 1])));
    const result = schedule({ placement, clusters: twelve, replicas: 3, previous: [] });
    expect(shares(result)).toEqual({ member1: 1, member2: 1, member3: 1 });
    const all = schedule({ placement, clusters: twelve, replicas: 12, previous: [] });
    expect(Object.keys(shares(all)).slice(0, 3)).toEqual(["member1", "member2", "member3"]);
    expect(Object.keys(shares(all)).at(-1)).toBe("member12");
  });

  it("gives every cluster all of them when they are duplicated", () => {
    expect(shares(schedule({ placement: {}, clusters: THREE, replicas: 2, previous: [] }))).toEqual({
      a: 2,
      b: 2,
      c: 2,
    });
  });

  it("follows the placement's names, exclusions and labels", () => {
    const clusters = views([cluster("a", {}, { zone: "1" }), cluster("b", {}, { zone: "1" }), cluster("c")]);
    const of = (clusterAffinity: JsonObject) =>
      shares(schedule({ placement: { clusterAffinity }, clusters, replicas: 1, previous: [] }));
    expect(of({ clusterNames: ["a", "c"] })).toEqual({ a: 1, c: 1 });
    expect(of({ exclude: ["a"] })).toEqual({ b: 1, c: 1 });
    expect(of({ labelSelector: { matchLabels: { zone: "1" } } })).toEqual({ a: 1, b: 1 });
    expect(of({ clusterNames: ["nowhere"] })).toContain("0/3 clusters are available");
  });

  it("avoids tainted clusters unless they are tolerated or already have some", () => {
    const taints = [{ key: "maintenance", effect: "NoSchedule" }];
    const clusters = views([cluster("a", { taints }), cluster("b")]);
    const of = (placement: JsonObject, previous: { name: string; replicas: number }[] = []) =>
      shares(schedule({ placement, clusters, replicas: 1, previous }));
    expect(of({})).toEqual({ b: 1 });
    expect(of({ clusterTolerations: [{ key: "maintenance", operator: "Exists" }] })).toEqual({ a: 1, b: 1 });
    expect(of({}, [{ name: "a", replicas: 1 }])).toEqual({ a: 1, b: 1 });
  });

  it("divides by free capacity, keeps what is placed, and reports if the capacity is not enough", () => {
    const clusters = [
      { object: cluster("a"), roomReplicas: 1 },
      { object: cluster("b"), roomReplicas: 3 },
    ];
    const of = (preference: string, replicas: number, previous: { name: string; replicas: number }[] = []) =>
      shares(schedule({ placement: byRoom(preference), clusters, replicas, previous }));
    expect(of("", 4)).toEqual({ a: 1, b: 3 });
    expect(of("Aggregated", 3)).toEqual({ b: 3 });
    expect(of("Aggregated", 3, [{ name: "a", replicas: 1 }])).toEqual({ a: 2, b: 1 });
    expect(of("", 5)).toContain("not enough");
  });

  it("distributes exactly the total, for any weights", () => {
    fc.assert(
      fc.property(fc.nat(200), fc.array(fc.nat(9), { minLength: 1, maxLength: 8 }), (replicas, list) => {
        const targets = divide(
          replicas,
          list.map((weight, index) => ({ name: `c${index}`, weight })),
        );
        const given = targets.reduce((sum, target) => sum + target.replicas, 0);
        expect(given).toBe(list.some((weight) => weight > 0) ? replicas : 0);
        for (const [index, { replicas: share }] of targets.entries()) if (list[index] === 0) expect(share).toBe(0);
      }),
    );
  });
});
