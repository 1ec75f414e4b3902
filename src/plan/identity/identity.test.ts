import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Bench } from "../check/testing/bench.ts";
import { testIntent } from "../check/testing/intent.ts";
import type { InstanceRecord } from "../types/index.ts";
import { addressesOf, addressProblem } from "./address.ts";
import { fixIdentity, instanceKey, localName } from "./identity.ts";
import { decodeInstances, encodeInstances, initialCluster, topologyView } from "./topology.ts";

const identity = fixIdentity(testIntent({ a: 1 }));

describe("the address of an instance", () => {
  it("[I6] the Multi-Cluster Services name is the default", () => {
    const found = addressesOf(identity)({ instance: "xline-0", ordinal: 0, clusterId: "east" });
    expect(found).toBe("xline-0.east.xline.default.svc.clusterset.local");
    expect(addressProblem(found)).toBeUndefined();
  });

  it("[I6] a template may use every part, and a port", () => {
    const own = { ...identity, addressTemplate: "{service}-{ordinal}.{namespace}.{cluster}.example.org:2380" };
    const found = addressesOf(own)({ instance: "xline-7", ordinal: 7, clusterId: "west" });
    expect(found).toBe("xline-7.default.west.example.org:2380");
    expect(addressProblem(found)).toBeUndefined();
  });

  it.each([
    ["a label of 64", "x".repeat(64), "64 characters"],
    ["a name of 299", Array.from({ length: 60 }, () => "abcd").join("."), "299 characters"],
    ["an unknown placeholder", "xline-0.{zone}.local", "unknown placeholder {zone}"],
    ["a capital letter", "Xline-0.local", "not a DNS label"],
    ["an empty label", "a..b", "not a DNS label"],
  ])("[I6] %s is refused", (_, text, why) => {
    expect(addressProblem(text)).toContain(why);
  });
});

describe("the name of an instance", () => {
  it("[I2] in Blocks the name carries the global ordinal", () => {
    expect(localName(identity, { index: 3, start: 300 }, 302)).toBe("xline-302");
  });

  it("[I4] in PerCluster, names are local, start at the cluster's first ordinal, and are qualified by cluster", () => {
    const own = { ...identity, mode: "PerCluster" as const };
    expect(localName(own, { index: 1, start: 5 }, 101)).toBe("xline-6");
    expect(instanceKey(own, "west", { index: 1, start: 5 }, 101)).toBe("west/xline-6");
    expect(instanceKey(identity, "west", { index: 1, start: 100 }, 101)).toBe("xline-101");
  });
});

describe("the topology that members get", () => {
  const instances = fc
    .uniqueArray(fc.nat(400), { maxLength: 40 })
    .chain((ordinals) =>
      fc.tuple(
        fc.constant(ordinals.sort((a, b) => a - b)),
        fc.array(fc.constantFrom("member", "joining", "leaving"), { minLength: 40, maxLength: 40 }),
      ),
    )
    .map(([ordinals, states]): InstanceRecord[] =>
      ordinals.map((ordinal, i) => ({ ordinal, state: states[i] ?? "member" })),
    );

  it("[I7] a view survives being folded into ranges", () => {
    fc.assert(
      fc.property(instances, (list) => {
        expect(decodeInstances(encodeInstances(list))).toEqual(list);
      }),
    );
  });

  it("[I7] a run of members is one range", () => {
    const list = Array.from({ length: 100 }, (_, i) => ({ ordinal: i, state: "member" as const }));
    expect(encodeInstances([...list, { ordinal: 100, state: "joining" }])).toBe("0-99 100+");
  });

  it("[I8] a joiner's topology lists the existing members and itself, and no other joiner", () => {
    const bench = new Bench(testIntent({ a: 2, b: 1 }));
    bench.run();
    const grant = bench.ledger.clusters.a?.grant;
    if (!grant) throw new Error("a has no grant");
    const view = {
      version: 9,
      clusters: [
        {
          cluster: "a",
          replicas: 2,
          ordinals: [0, 1],
          instances: ["x-0", "x-1"],
          addresses: ["A0", "A1"],
          states: ["member", "joining"] as const,
        },
        {
          cluster: "b",
          replicas: 2,
          ordinals: [100, 101],
          instances: ["x-100", "x-101"],
          addresses: ["B0", "B1"],
          states: ["leaving", "joining"] as const,
        },
      ].map((each) => ({ ...each, states: [...each.states] })),
    };
    expect(initialCluster(bench.ledger, grant, view)).toBe("x-0=A0,x-1=A1,x-100=B0");
    expect(initialCluster(bench.ledger, { ...grant, initialClusterState: "new" }, view)).toBe(
      "x-0=A0,x-1=A1,x-100=B0,x-101=B1",
    );
  });

  it("[I7] every grant's version can be rendered, and only the versions in use are kept", () => {
    const bench = new Bench(testIntent({ a: 3, b: 2, c: 1 }));
    for (let i = 0; i < 40; i++) {
      const { grants, ledger } = bench.plan();
      for (const grant of grants)
        expect(topologyView(ledger, grant.topologyVersion).version).toBe(grant.topologyVersion);
      const used = new Set([...grants.map((grant) => String(grant.topologyVersion)), String(ledger.topologyVersion)]);
      expect(new Set(Object.keys(ledger.topologies))).toEqual(used);
      bench.settle();
    }
  });
});

describe("the ordinal of an instance", () => {
  const growths = fc.array(
    fc.record({ a: fc.nat(3), b: fc.nat(3), c: fc.nat(3) }).filter(({ a, b, c }) => a + b + c > 0),
    { minLength: 1, maxLength: 5 },
  );

  it.each(["Blocks", "Dense", "PerCluster"] as const)(
    "[I2] [I3] in %s no ordinal is held twice, and none changes its cluster while held",
    (mode) => {
      fc.assert(
        fc.property(growths, (edits) => {
          const intent = testIntent(edits[0] ?? { a: 1 });
          intent.identity = { ...intent.identity, mode };
          const bench = new Bench(intent);
          let before = new Map<number, string>();
          for (const edit of edits) {
            intent.schedule = {
              kind: "known",
              source: "explicit",
              clusters: Object.entries(edit).map(([cluster, replicas]) => ({ cluster, replicas })),
            };
            bench.run();
            const now = new Map<number, string>();
            for (const [cluster, { instances, start }] of Object.entries(bench.ledger.clusters)) {
              for (const { ordinal } of instances) {
                expect(now.has(ordinal)).toBe(false);
                now.set(ordinal, cluster);
                const held = before.get(ordinal);
                if (held !== undefined) expect(held).toBe(cluster);
              }
              if (mode === "Blocks" && instances[0]) expect(instances[0].ordinal).toBe(start);
            }
            before = now;
          }
        }),
        { numRuns: 40 },
      );
    },
  );

  it("[I5] with reuseVolumes false a cluster does not grow onto an ordinal whose volume may survive", () => {
    const intent = testIntent({ a: 2, b: 2 });
    intent.identity = { ...intent.identity, reuseVolumes: false };
    const bench = new Bench(intent);
    bench.run();
    const resize = (replicas: number) => {
      intent.schedule = {
        kind: "known",
        source: "explicit",
        clusters: [
          { cluster: "a", replicas },
          { cluster: "b", replicas: 2 },
        ],
      };
    };
    resize(1);
    bench.run();
    resize(2);
    bench.run();
    expect(bench.last?.waiting.map(({ code }) => code)).toEqual(["VolumeSurvives"]);
    bench.member("a").volumes = [0, 1];
    expect(bench.plan().waiting.map(({ code }) => code)).toEqual(["VolumeSurvives"]);
    bench.member("a").volumes = [0];
    expect(bench.plan().steps.map(({ kind }) => kind)).toEqual(["grow", "topology"]);
  });

  it("[I3] in Dense a retired ordinal is free again once its volume is gone", () => {
    const intent = testIntent({ a: 1, b: 1, c: 1 });
    intent.identity = { ...intent.identity, mode: "Dense" };
    const bench = new Bench(intent);
    bench.run();
    const set = (a: number, c: number) => {
      intent.schedule = {
        kind: "known",
        source: "explicit",
        clusters: [
          { cluster: "a", replicas: a },
          { cluster: "b", replicas: 1 },
          { cluster: "c", replicas: c },
        ],
      };
    };
    set(1, 0);
    bench.run();
    expect(bench.ledger.retired).toEqual([{ ordinal: 2, cluster: "c" }]);
    bench.member("c").volumes = [];
    set(2, 0);
    bench.run();
    expect(bench.ledger.clusters.a?.instances.map(({ ordinal }) => ordinal)).toEqual([0, 2]);
    expect(bench.ledger.retired).toEqual([]);
  });
});
