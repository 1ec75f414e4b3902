import { describe, expect, it } from "vitest";
import type { TopologyCluster } from "../contract/index.ts";
import type { JsonObject } from "../runtime/index.ts";
import { stringMapAt } from "./json.ts";
import { annotationsRoom } from "./limits.ts";
import { renderMember } from "./render.ts";
import { snapshotRevision } from "./revision.ts";
import { CONTRACT_MAX_BYTES, revisionSizeProblem } from "./revision-size.ts";
import { APP, cluster, initialClusterOf, renderInput, STATEFULSET, topology, yaml } from "./testing/fixtures.ts";

const annotated = (bytes: number): JsonObject => {
  const template = yaml(STATEFULSET);
  return { ...template, metadata: { name: "db", namespace: "shop", annotations: { notes: "x".repeat(bytes) } } };
};
const problemOf = (template: JsonObject, policies: JsonObject[] = []) =>
  revisionSizeProblem(snapshotRevision({ template, dependencies: [], policies }), [
    cluster("member1"),
    cluster("member2"),
  ]);

describe("[I18] a revision", () => {
  it("has at most the size that leaves room for the contract", () => {
    const most = annotationsRoom({}) - CONTRACT_MAX_BYTES - "notes".length;
    expect(problemOf(annotated(most))).toBeUndefined();
    expect(problemOf(annotated(most + 1))).toBe(
      "StatefulSet shop/db: metadata.annotations has 211969 bytes, " +
        "and at most 211968 leave room for Lockstep's own annotations; make it smaller",
    );
  });

  it("that is accepted can be rendered for the largest application, and therefore for every smaller one", () => {
    const template = annotated(annotationsRoom({}) - CONTRACT_MAX_BYTES - "notes".length);
    const name = "n".repeat(63);
    const one = topology([78]).clusters[0];
    if (!one) throw new Error("no cluster");
    const addresses = one.addresses.map(() => "a".repeat(259));
    // Twice the maximum number of instances, over the maximum number of clusters.
    const clusters = Array.from({ length: 256 }, (_, at): TopologyCluster => {
      return { ...one, cluster: `${name.slice(0, 60)}${String(at).padStart(3, "0")}`, addresses };
    });
    const view = { version: 4, clusters };
    const grant = { cluster: clusters[0]?.cluster ?? "", transferLeaderTo: name, revision: name };
    const result = renderMember(
      renderInput({ template, topology: view, initialCluster: initialClusterOf(view), grant, app: APP }),
    );
    if (!result.ok) throw result.error;
    const own = { ...stringMapAt(result.workload, "metadata", "annotations"), notes: "" };
    const bytes = annotationsRoom({}) - annotationsRoom(own);
    expect(bytes).toBeGreaterThan(CONTRACT_MAX_BYTES / 3);
    expect(bytes).toBeLessThan(CONTRACT_MAX_BYTES);
  });

  it("is refused if an override makes it too large, and the error names the cluster", () => {
    const policy: JsonObject = {
      apiVersion: "policy.karmada.io/v1alpha1",
      kind: "OverridePolicy",
      metadata: { name: "notes", namespace: "shop" },
      spec: {
        resourceSelectors: [{ apiVersion: "apps/v1", kind: "StatefulSet", name: "db" }],
        overrideRules: [
          {
            targetCluster: { clusterNames: ["member2"] },
            overriders: { annotationsOverrider: [{ operator: "add", value: { more: "y".repeat(100_000) } }] },
          },
        ],
      },
    };
    expect(problemOf(annotated(100_000), [policy])).toBeUndefined();
    expect(problemOf(annotated(150_000), [policy])).toMatch(/^in cluster member2: StatefulSet shop\/db: metadata/);
  });

  it("is refused because of a dependency, by name", () => {
    const large = yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: huge, namespace: shop}}");
    const dependencies = [{ ...large, data: { file: "x".repeat(1_048_577) } }];
    const content = snapshotRevision({ template: yaml(STATEFULSET), dependencies });
    expect(revisionSizeProblem(content, [])).toMatch(/^ConfigMap shop\/huge: data has 1048577 bytes/);
  });

  it("whose spec is too large is refused", () => {
    const template = yaml(STATEFULSET);
    const spec = { ...(template.spec as JsonObject), notes: "x".repeat(1_500_000) };
    expect(problemOf({ ...template, spec })).toMatch(/^StatefulSet shop\/db: the whole object has/);
  });
});
