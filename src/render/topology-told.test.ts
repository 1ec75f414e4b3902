import { describe, expect, it } from "vitest";
import {
  ANNOTATIONS,
  parseTopologyRef,
  TOPOLOGY_ELSEWHERE,
  TOPOLOGY_INLINE_MAX_BYTES,
  TOPOLOGY_PART_MAX_BYTES,
} from "../contract/index.ts";
import { type JsonObject, valueAt } from "../runtime/index.ts";
import { stringMapAt } from "./json.ts";
import { checkLimits } from "./limits.ts";
import { type MemberManifest, renderMember } from "./render.ts";
import { APP, initialClusterOf, renderInput, STATEFULSET, topology, yaml } from "./testing/fixtures.ts";
import { tellTopology } from "./topology-told.ts";

const ROOM = { annotationsBytes: 200_000 };
const sizes = (clusters: number, each: number) => Array.from({ length: clusters }, () => each);

function manifestsOf(view: ReturnType<typeof topology>, template?: JsonObject): MemberManifest[] {
  const source = { topology: view, initialCluster: initialClusterOf(view) };
  const result = renderMember(renderInput(template ? { ...source, template } : source));
  if (!result.ok) throw result.error;
  return result.manifests;
}

const ofRole = (manifests: readonly MemberManifest[], role: MemberManifest["role"]) =>
  manifests.filter((each) => each.role === role).map(({ object }) => object);
const annotationsOf = (manifests: readonly MemberManifest[]) =>
  stringMapAt(ofRole(manifests, "workload")[0] ?? {}, "metadata", "annotations");
const partText = (object: JsonObject) => String(valueAt(object, "data", "part"));

describe("[I11] a topology", () => {
  it("is in annotations as long as each text has at most 64 KiB", () => {
    const view = topology([1]);
    const [cluster] = view.clusters;
    if (!cluster) throw new Error("no cluster");
    const padded = (bytes: number) => {
      const bare = JSON.stringify([{ ...cluster, addresses: [""] }]).length;
      return { ...view, clusters: [{ ...cluster, addresses: ["x".repeat(bytes - bare)] }] };
    };
    expect(tellTopology(APP, padded(TOPOLOGY_INLINE_MAX_BYTES), "a=b", ROOM)).toMatchObject({ ref: "", parts: [] });
    expect(tellTopology(APP, padded(TOPOLOGY_INLINE_MAX_BYTES + 1), "a=b", ROOM).parts).toHaveLength(1);
    expect(tellTopology(APP, view, "x".repeat(TOPOLOGY_INLINE_MAX_BYTES), ROOM).parts).toEqual([]);
    expect(tellTopology(APP, view, "x".repeat(TOPOLOGY_INLINE_MAX_BYTES + 1), ROOM).parts).toHaveLength(1);
  });

  it("is given by reference also if the user's own annotations leave no room for it", () => {
    const view = topology(sizes(2, 100));
    const initial = initialClusterOf(view);
    const own = tellTopology(APP, view, initial, ROOM);
    expect(own.ref).toBe("");
    const annotationsBytes = own.topology.length + own.initialCluster.length;
    expect(tellTopology(APP, view, initial, { annotationsBytes }).ref).toBe("");
    expect(tellTopology(APP, view, initial, { annotationsBytes: annotationsBytes - 1 }).parts).toHaveLength(1);
  });

  it("never exceeds the limit of annotations, however many annotations the template has", () => {
    const view = topology(sizes(6, 100));
    const template = yaml(STATEFULSET);
    const metadata = { name: "db", namespace: "shop", annotations: { notes: "x".repeat(190_000) } };
    const manifests = manifestsOf(view, { ...template, metadata });
    expect(annotationsOf(manifests)[ANNOTATIONS.topologyRef]).not.toBe("");
    expect(annotationsOf(manifests).notes).toHaveLength(190_000);
  });

  it("that is given by reference has a text in the annotations that no parser reads as a list", () => {
    const annotations = annotationsOf(manifestsOf(topology(sizes(12, 100))));
    expect(annotations[ANNOTATIONS.topology]).toBe(TOPOLOGY_ELSEWHERE);
    expect(annotations[ANNOTATIONS.initialCluster]).toBe(TOPOLOGY_ELSEWHERE);
    expect(() => JSON.parse(TOPOLOGY_ELSEWHERE)).toThrow();
  });

  it("that is short again clears the reference, which Karmada would otherwise keep", () => {
    expect(annotationsOf(manifestsOf(topology([2, 2])))[ANNOTATIONS.topologyRef]).toBe("");
  });
});

describe("[I11] the ConfigMaps of a reference", () => {
  const view = topology(sizes(50, 100));
  const manifests = manifestsOf(view);
  const parts = ofRole(manifests, "topologyPart");

  it("are immutable, named by their content, and no larger than 400 KiB each", () => {
    expect(parts.length).toBeGreaterThan(1);
    for (const part of parts) {
      expect(part).toMatchObject({ kind: "ConfigMap", immutable: true, metadata: { namespace: "shop" } });
      expect(valueAt(part, "metadata", "name")).toMatch(/^db-topology-[0-9a-f]{32}$/);
      expect(Buffer.byteLength(partText(part))).toBeLessThanOrEqual(TOPOLOGY_PART_MAX_BYTES);
      checkLimits(part);
    }
    const again = ofRole(manifestsOf(view), "topologyPart");
    expect(again).toEqual(parts);
  });

  it("are dispatched before the workload that names them, in its order", () => {
    expect(manifests.at(-1)?.role).toBe("workload");
    const ref = parseTopologyRef(annotationsOf(manifests)[ANNOTATIONS.topologyRef] ?? "");
    expect(ref?.configMaps).toEqual(parts.map((part) => valueAt(part, "metadata", "name")));
    expect(JSON.parse(parts.map(partText).join(""))).toEqual({
      topology: view.clusters,
      initialCluster: initialClusterOf(view),
    });
  });

  it("never end inside a character", () => {
    const odd = { ...view, clusters: view.clusters.map((each) => ({ ...each, cluster: `ö${each.cluster}ß€` })) };
    const told = tellTopology(APP, odd, "€".repeat(300_000), ROOM);
    expect(told.parts.length).toBeGreaterThan(2);
    expect(JSON.parse(told.parts.map(partText).join("")).initialCluster).toBe("€".repeat(300_000));
  });

  it("have valid names, however long the workload's name is", () => {
    const app = { ...APP, name: `${"n".repeat(210)}.${"m".repeat(40)}` };
    for (const part of tellTopology(app, view, "", ROOM).parts) checkLimits(part);
  });
});

describe("[I11] the files for pods", () => {
  const filesOf = (view: ReturnType<typeof topology>) => {
    const data = valueAt(ofRole(manifestsOf(view), "topology")[0] ?? {}, "data");
    return Object.keys(data ?? {}).sort();
  };
  const small = ["cluster", "cluster-token", "initial-cluster-state", "topology-version"];

  it("contain the whole topology as long as they fit into 400 KiB together", () => {
    expect(filesOf(topology(sizes(15, 100)))).toEqual([...small, "initial-cluster", "peers", "topology.json"].sort());
  });

  it("name the reference instead if they do not fit", () => {
    expect(filesOf(topology(sizes(50, 100)))).toEqual([...small, "topology-ref"].sort());
  });
});
