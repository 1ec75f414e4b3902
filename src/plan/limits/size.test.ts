import { describe, expect, it } from "vitest";
import { Bench } from "../check/testing/bench.ts";
import { testIntent } from "../check/testing/intent.ts";
import { newEntry } from "../identity/identity.ts";
import { currentShape, initialCluster, topologyView } from "../identity/topology.ts";
import { LedgerUnreadable } from "../ledger/decode.ts";
import { emptyLedger, grantNote, parseFoundGrant, parseLedger, rebuildLedger } from "../ledger/ledger.ts";
import { packLedger } from "../ledger/packing.ts";
import { plan } from "../plan.ts";
import type { ClusterEntry, InstanceRecord, Ledger, TopologyShape } from "../types/index.ts";
import { MAX_CLUSTERS, MAX_INSTANCES, MAX_RETIRED, NOTE_TOPOLOGY_MAX_BYTES, TOPOLOGIES_MAX_BYTES } from "./size.ts";

/** etcd's default limit for one request. */
const ETCD_REQUEST_BYTES = 1536 * 1024;
/** Kubernetes' limit for all annotations of one object. */
const ANNOTATIONS_BYTES = 256 * 1024;

/** The longest name that Karmada gives a cluster. */
const nameOf = (at: number) => `cluster-in-a-region-with-a-rather-long-name-${String(at).padStart(4, "0")}`;

/** Dense, with every ordinal in another cluster than the one before: no two of them make up a range. */
function interleaved(clusters: number, instances: number): Ledger {
  const entries: Record<string, ClusterEntry> = {};
  const app = {
    name: "n".repeat(52),
    namespace: "s".repeat(63),
    service: "v".repeat(63),
    clusterToken: "t".repeat(36),
  };
  for (let at = 0; at < clusters; at++) {
    const held: InstanceRecord[] = [];
    for (let ordinal = at; ordinal < instances; ordinal += clusters) held.push({ ordinal, state: "member" });
    entries[nameOf(at)] = {
      ...newEntry(at, nameOf(at), 0),
      instances: held,
      grant: {
        cluster: nameOf(at),
        revision: "r".repeat(63),
        replicas: held.length,
        partition: 0,
        processor: true,
        topologyVersion: 1,
        epoch: 1_000_000 + at,
        start: 0,
        initialClusterState: "existing",
        onDelete: false,
      },
      baseRevision: "b".repeat(63),
      step: {
        kind: "update",
        sinceMs: 1_700_000_000_000,
        progressMs: 1_700_000_000_000,
        best: 1_000,
        unblock: false,
        unavailableBefore: 0,
        down: { accidents: [1, 2, 3], finishedFrom: 7 },
      },
    };
  }
  const identity = {
    app,
    mode: "Dense" as const,
    blockSize: 100,
    addressTemplate: `{instance}.${"a".repeat(400)}`,
    reuseVolumes: false,
  };
  return { ...emptyLedger(), identity, clusters: entries, nextIndex: clusters, nextOrdinal: instances };
}

/**
 * As large as the limits allow: twice the instances in the middle of a move, all views that are kept, all that is
 * remembered.
 */
function largest(): Ledger {
  const ledger = interleaved(MAX_CLUSTERS, 2 * MAX_INSTANCES);
  const names = Object.keys(ledger.clusters);
  const topologies: Record<string, TopologyShape> = {};
  const shape = currentShape(ledger, names);
  let bytes = 0;
  for (let version = 1; bytes < TOPOLOGIES_MAX_BYTES; version++) {
    const changed = names[version % names.length] ?? "";
    topologies[String(version)] = { ...shape, [changed]: `${shape[changed]} ${100_000 + version}+` };
    bytes += JSON.stringify(shape).length;
  }
  const retired = Array.from({ length: MAX_RETIRED }, (_, at) => ({
    ordinal: 30_000 + at * 3,
    cluster: nameOf(at % 256),
  }));
  const half = names.slice(0, names.length / 2);
  const replacements = Object.fromEntries(
    half.map((lost, at) => [lost, Object.fromEntries(names.slice(at, at + 78).map((name) => [name, 1]))]),
  );
  return { ...ledger, topologies, topologyVersion: 1_000, retired, replacements };
}

describe("[I19] the ledger of the largest application", () => {
  it("is stored packed, well below what etcd takes, and is read as it was", () => {
    const ledger = largest();
    const stored = JSON.stringify(packLedger(ledger));
    expect(JSON.stringify(ledger).length).toBeGreaterThan(2 * ETCD_REQUEST_BYTES);
    expect(stored.length).toBeLessThan(ETCD_REQUEST_BYTES / 1.5);
    expect(parseLedger(JSON.parse(stored))).toEqual(ledger);
  });

  it("a small one stays as people can read it", () => {
    const bench = new Bench(testIntent({ a: 2, b: 1 }, { podManagementPolicy: "Parallel" }));
    bench.run();
    expect(packLedger(bench.ledger)).toBe(bench.ledger);
  });

  it("a packed one that was tampered with is unreadable, and nothing is guessed", () => {
    expect(() => parseLedger({ packed: "tampered" })).toThrow(LedgerUnreadable);
    expect(() => parseLedger({ packed: 7 })).toThrow(LedgerUnreadable);
  });
});

describe("[I19] the note beside a grant", () => {
  it("of the largest cluster leaves room for everything else in the annotations of its dispatch object", () => {
    const ledger = interleaved(2, 2 * MAX_INSTANCES);
    const topologies = { "1": currentShape(ledger, Object.keys(ledger.clusters)) };
    const note = grantNote({ ...ledger, topologies }, nameOf(0));
    expect(Buffer.byteLength(note)).toBeLessThan(ANNOTATIONS_BYTES / 2);
    const read = parseFoundGrant(JSON.parse(note));
    expect(read.instances).toEqual(ledger.clusters[nameOf(0)]?.instances);
    expect(read.topology).toBeNull();
  });

  it("of a usual application has the view, and is what an earlier version wrote otherwise", () => {
    const bench = new Bench(testIntent({ a: 2, b: 1 }, { podManagementPolicy: "Parallel" }));
    bench.run();
    const note: unknown = JSON.parse(grantNote(bench.ledger, "a"));
    expect(note).toMatchObject({ instances: "0-1", topology: { a: "0-1", b: "100" } });
    const earlier = { ...(note as object), instances: [0, 1].map((ordinal) => ({ ordinal, state: "member" })) };
    expect(parseFoundGrant(earlier)).toEqual(parseFoundGrant(note));
    expect(() => parseFoundGrant({ ...(note as object), instances: "0-x" })).toThrow("instances");
  });
});

describe("[I19] views that are too many", () => {
  /** Two clusters that hold a view of their own each, of about the size that is given. */
  function holding(viewBytes: number) {
    const bench = new Bench(testIntent({ a: 1, b: 1, c: 1 }, { podManagementPolicy: "Parallel" }));
    bench.run();
    const newest = bench.ledger.topologyVersion;
    const padding = Array.from({ length: Math.ceil(viewBytes / 7) }, (_, at) => 100_000 + 2 * at).join(" ");
    const view = (version: number): TopologyShape => ({
      ...bench.ledger.topologies[String(newest)],
      z: `${version} ${padding}`,
    });
    const older = { a: newest + 1, b: newest + 2 };
    const clusters = { ...bench.ledger.clusters };
    for (const [cluster, topologyVersion] of Object.entries(older)) {
      const entry = clusters[cluster];
      if (entry?.grant) clusters[cluster] = { ...entry, grant: { ...entry.grant, topologyVersion } };
    }
    const topologies = { [String(older.a)]: view(older.a), [String(older.b)]: view(older.b) };
    bench.ledger = {
      ...bench.ledger,
      clusters,
      topologies: { ...bench.ledger.topologies, ...topologies },
      topologyVersion: newest + 2,
    };
    bench.deliver();
    return { bench, older };
  }

  it("are dropped oldest first, and a cluster that holds a dropped one gets the newest", () => {
    const { bench, older } = holding(TOPOLOGIES_MAX_BYTES / 1.5);
    const { ledger } = plan(bench.intent, bench.ledger, { clusters: {} }, 0);
    expect(Object.keys(ledger.topologies)).not.toContain(String(older.a));
    expect(ledger.topologies[String(ledger.topologyVersion)]).toBeDefined();
    for (const [cluster, entry] of Object.entries(bench.ledger.clusters)) {
      if (entry.grant) bench.member(cluster).deliver(entry.grant);
    }
    bench.settle();
    bench.run();
    for (const { topologyVersion } of bench.last?.grants ?? []) topologyView(bench.ledger, topologyVersion);
    expect(new Set(bench.last?.grants.map(({ topologyVersion }) => topologyVersion)).size).toBe(1);
  });

  it("are all kept as long as they are small", () => {
    const { bench, older } = holding(1_000);
    const { ledger } = plan(bench.intent, bench.ledger, { clusters: {} }, 0);
    expect(Object.keys(ledger.topologies)).toEqual(expect.arrayContaining([String(older.a), String(older.b)]));
  });
});

it("[I9] [I19] a ledger rebuilt from notes without views tells the newest one by one, and moves nothing", () => {
  const bench = new Bench(
    testIntent(
      { a: 2_500, b: 2_500 },
      { podManagementPolicy: "Parallel", identity: { mode: "Dense", blockSize: 100, clusterIds: {} } },
    ),
  );
  bench.run();
  // As if the two had grown by turns: no two ordinals of one cluster are neighbours.
  const clusters = { ...bench.ledger.clusters };
  for (const [at, name] of ["a", "b"].entries()) {
    const entry = clusters[name];
    const instances = Array.from({ length: 2_500 }, (_, i) => ({
      ordinal: 100_000 + 4 * i + at,
      state: "member" as const,
    }));
    if (entry) clusters[name] = { ...entry, instances };
  }
  const shape = currentShape({ clusters }, ["a", "b"]);
  expect(JSON.stringify(shape).length).toBeGreaterThan(NOTE_TOPOLOGY_MAX_BYTES);
  const ledger = { ...bench.ledger, clusters, topologies: { [String(bench.ledger.topologyVersion)]: shape } };
  const notes = ["a", "b"].map((cluster) => parseFoundGrant(JSON.parse(grantNote(ledger, cluster))));
  bench.ledger = rebuildLedger(notes);
  expect(bench.ledger.topologies).toEqual({});
  const steps = bench.run();
  expect(steps.map(({ cluster, kind }) => `${cluster} ${kind}`)).toEqual(["a topology", "b topology"]);
  expect(bench.ledger.clusters.a?.instances).toEqual(clusters.a?.instances);
  for (const grant of bench.last?.grants ?? [])
    expect(initialCluster(bench.ledger, grant).split(",")).toHaveLength(5_000);
});

it("[I3] [I19] the last ten thousand given back ordinals are remembered; others are not given again", () => {
  const retired = Array.from({ length: MAX_RETIRED }, (_, ordinal) => ({ ordinal, cluster: "gone" }));
  const bench = new Bench(
    testIntent(
      { a: 2, b: 1 },
      { podManagementPolicy: "Parallel", identity: { mode: "Dense", blockSize: 100, clusterIds: {} } },
    ),
    { ...emptyLedger(), retired, nextOrdinal: MAX_RETIRED },
  );
  bench.run();
  bench.intent.schedule = {
    kind: "known",
    source: "explicit",
    clusters: [
      { cluster: "a", replicas: 1 },
      { cluster: "b", replicas: 1 },
    ],
  };
  bench.run();
  expect(bench.ledger.retired).toHaveLength(MAX_RETIRED);
  expect(bench.ledger.retired.at(-1)).toEqual({ ordinal: MAX_RETIRED + 1, cluster: "a" });
  expect(bench.ledger.retired[0]?.ordinal).toBe(1);
});

describe("[I12] an application that asks for more than there may be", () => {
  const clustersOf = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`c${at}`, 1]));

  it("of clusters: none is registered, and the ledger stays as it was", () => {
    const bench = new Bench(testIntent(clustersOf(MAX_CLUSTERS + 1), { podManagementPolicy: "Parallel" }));
    const { ledger, grants, waiting } = bench.plan();
    expect(grants).toEqual([]);
    expect(ledger.clusters).toEqual({});
    expect(waiting.map(({ code, message }) => `${code} ${message}`)).toEqual([
      expect.stringContaining("TooLarge spec.topology.clusters: 257 clusters are known or asked for"),
    ]);
  });

  it("of clusters over time: those that it has left still count, because they keep their places", () => {
    const atOnce = { podManagementPolicy: "Parallel", quorum: "None" } as const;
    const bench = new Bench(testIntent(clustersOf(MAX_CLUSTERS), atOnce));
    bench.run();
    bench.intent.fleet.another = { state: "Ready" };
    const clusters = [
      { cluster: "c0", replicas: 1 },
      { cluster: "another", replicas: 1 },
    ];
    bench.intent.schedule = { kind: "known", source: "explicit", clusters };
    bench.run();
    expect(bench.last?.waiting.map(({ code }) => code)).toContain("TooLarge");
    expect(bench.ledger.clusters.another).toBeUndefined();
  });

  it("OrderedReady or Parallel, with or without a quorum: nothing is added", () => {
    for (const podManagementPolicy of ["OrderedReady", "Parallel"] as const) {
      for (const quorum of ["Majority", "None"] as const) {
        const identity = { mode: "Dense" as const, blockSize: 100, clusterIds: {} };
        const bench = new Bench(testIntent({ a: 1, b: 1, c: 1 }, { podManagementPolicy, quorum, identity }));
        bench.run();
        const clusters = [
          { cluster: "a", replicas: MAX_INSTANCES },
          { cluster: "b", replicas: 1 },
          { cluster: "c", replicas: 1 },
        ];
        bench.intent.schedule = { kind: "known", source: "explicit", clusters };
        expect(bench.run()).toEqual([]);
        expect(bench.last?.waiting.map(({ code }) => code)).toContain("TooLarge");
      }
    }
  });
});
