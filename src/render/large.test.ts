import { describe, expect, it } from "vitest";
import { ANNOTATIONS } from "../contract/index.ts";
import { Bench } from "../plan/check/testing/bench.ts";
import { testIntent } from "../plan/check/testing/intent.ts";
import { type Grant, initialCluster, type Ledger, topologyView } from "../plan/index.ts";
import { isJsonObject, type JsonObject } from "../runtime/index.ts";
import { type ConfigMap, type Grant as GrantRead, readGrant } from "../sdk/index.ts";
import { stringMapAt } from "./json.ts";
import { type MemberManifest, renderMember } from "./render.ts";
import { nameRevision, snapshotRevision } from "./revision.ts";
import { cluster, yaml } from "./testing/fixtures.ts";

/** Names as in production: a thousand instances used to exceed Kubernetes' limit of annotations. */
const APP = { name: "orders-database", namespace: "payments-production", service: "orders-database" };
const template = yaml(`
apiVersion: apps.my.io/v1alpha1
kind: XlineCluster
metadata: {name: ${APP.name}, namespace: ${APP.namespace}}
spec: {replicas: 3}
`);
const content = snapshotRevision({ template, dependencies: [] });
const { id } = nameRevision(content);

function sizesOf(clusters: number, each: number): Record<string, number> {
  return Object.fromEntries(Array.from({ length: clusters }, (_, at) => [`europe-west-${at + 1}`, each]));
}

function application(sizes: Readonly<Record<string, number>>, mode: "Blocks" | "Dense" = "Blocks"): Bench {
  const intent = testIntent(sizes, {
    revision: { kind: "ready", id },
    podManagementPolicy: "Parallel",
    identity: { mode, blockSize: 1_000, clusterIds: {} },
  });
  intent.app = { ...APP, clusterToken: "token" };
  return new Bench(intent);
}

function resize(bench: Bench, sizes: Readonly<Record<string, number>>): void {
  const clusters = Object.entries(sizes).map(([name, replicas]) => ({ cluster: name, replicas }));
  bench.intent.schedule = { kind: "known", source: "explicit", clusters };
}

function render(ledger: Ledger, grant: Grant): readonly MemberManifest[] {
  const result = renderMember({
    app: { ...APP, clusterToken: "token" },
    cluster: cluster(grant.cluster),
    grant,
    revision: { id, content },
    topology: topologyView(ledger, grant.topologyVersion),
    initialCluster: initialCluster(ledger, grant),
  });
  if (!result.ok) throw result.error;
  return result.manifests;
}

/** The grant as the member's operator reads it, from the objects that a member would hold. */
function readBy(manifests: readonly MemberManifest[]): GrantRead {
  const held = new Map(manifests.map(({ object }) => [nameOf(object), object]));
  const workload = manifests.at(-1)?.object ?? {};
  const annotations = stringMapAt(workload, "metadata", "annotations");
  const reading = readGrant({ metadata: { annotations } }, (name) => configMap(held.get(name)));
  if (reading.state !== "granted") throw new Error(JSON.stringify(reading).slice(0, 500));
  return reading.grant;
}

function nameOf({ metadata }: JsonObject): string {
  return isJsonObject(metadata) ? String(metadata.name) : "";
}

function configMap(object: JsonObject | undefined): ConfigMap | undefined {
  return object && { data: stringMapAt(object, "data") };
}

describe("[I11] twelve hundred instances over twelve clusters", () => {
  const sizes = sizesOf(12, 100);

  it("are granted, each grant can be rendered, and its operator reads the planner's intent", () => {
    const bench = application(sizes);
    bench.run();
    const { ledger, grants } = bench.plan();
    expect(grants).toHaveLength(12);
    for (const grant of grants) {
      const read = readBy(render(ledger, grant));
      expect(read.topology).toEqual(topologyView(ledger, grant.topologyVersion).clusters);
      expect(read.initialCluster).toBe(initialCluster(ledger, grant));
    }
  });

  it("[I17] are scaled back one by one, down to nothing, and every grant on the way can be rendered", () => {
    const bench = application(sizes);
    bench.run();
    resize(bench, { "europe-west-1": 0, "europe-west-2": 1 });
    let rendered = 0;
    for (let round = 0; round < 5_000; round++) {
      const { ledger, grants, steps, actions } = bench.plan();
      const moved = new Set(steps.map((step) => step.cluster));
      // Every hundredth is checked; checking all of them would not show more.
      if (round % 100 === 0) for (const grant of grants) if (moved.has(grant.cluster)) readBy(render(ledger, grant));
      rendered += moved.size;
      if (moved.size === 0 && !actions.some(({ kind }) => kind === "remove")) break;
      bench.settle();
    }
    expect(rendered).toBeGreaterThan(1_000);
    expect(Object.values(bench.ledger.clusters).map(({ instances }) => instances.length)).toEqual([
      0,
      1,
      ...Array.from({ length: 10 }, () => 0),
    ]);
    const [last] = bench.last?.grants ?? [];
    if (!last) throw new Error("nothing is left");
    const annotations = stringMapAt(render(bench.ledger, last).at(-1)?.object ?? {}, "metadata", "annotations");
    expect(annotations[ANNOTATIONS.topologyRef]).toBe("");
  });
});

describe("[I11] five thousand instances over a hundred clusters", () => {
  const sizes = sizesOf(100, 50);

  it.each(["Blocks", "Dense"] as const)("are deployed, scaled out and scaled in, in mode %s", (mode) => {
    const bench = application(sizes, mode);
    /** One in this many grants is rendered and read. */
    const check = (every: number) => {
      const { ledger, grants } = bench.plan();
      for (const [at, grant] of grants.entries()) {
        if (at % every !== 0) continue;
        const manifests = render(ledger, grant);
        const read = readBy(manifests);
        expect(read.topology.reduce((sum, { replicas }) => sum + replicas, 0)).toBeGreaterThan(4_900);
        expect(read.initialCluster?.split(",").length).toBeGreaterThan(4_900);
        const parts = manifests.filter(({ role }) => role === "topologyPart");
        expect(parts).toHaveLength(4);
      }
    };
    bench.run();
    expect(bench.last?.figures.ready).toBe(5_000);
    check(10);
    resize(bench, { ...sizes, "europe-west-7": 51 });
    check(25);
    bench.settle();
    bench.run();
    expect(bench.last?.figures.ready).toBe(5_001);
    resize(bench, { ...sizes, "europe-west-7": 49 });
    check(25);
    bench.settle();
    bench.run();
    expect(bench.last?.figures.ready).toBe(4_999);
  });
});
