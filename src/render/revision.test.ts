import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Json, JsonObject } from "../runtime/index.ts";
import {
  dependencyDigest,
  nameRevision,
  RevisionCollisionError,
  type RevisionContent,
  type RevisionSource,
  revisionMeaning,
  sameRevision,
  snapshotRevision,
} from "./revision.ts";
import { CONFIG_MAP, STATEFULSET, yaml } from "./testing/fixtures.ts";

function revision(change: Partial<RevisionSource> = {}): RevisionContent {
  return snapshotRevision({ template: yaml(STATEFULSET), dependencies: [yaml(CONFIG_MAP)], ...change });
}

const OTHER_LABEL = `
kind: OverridePolicy
metadata: {name: other-app, namespace: shop}
spec: {resourceSelectors: [{apiVersion: apps/v1, kind: StatefulSet, labelSelector: {matchLabels: {app: other}}}]}
`;

const changed = (from: string, to: string, text = STATEFULSET) => yaml(text.replace(from, to));

describe("a new revision is made by", () => {
  it.each<[string, Partial<RevisionSource>]>([
    ["another image", { template: changed("db:1.0", "db:1.1") }],
    ["another label on the template", { template: changed("{app: db}}", "{app: db, tier: gold}}") }],
    [
      "an annotation on the template",
      { template: changed("labels: {app: db}}", "annotations: {mode: fast}, labels: {app: db}}") },
    ],
    ["a dependency's content", { dependencies: [changed("info", "debug", CONFIG_MAP)] }],
    ["one dependency less", { dependencies: [] }],
    ["a restart", { restart: "2030-01-01T00:00:00Z" }],
    [
      "a policy that may touch it",
      { policies: [yaml("{kind: OverridePolicy, metadata: {name: p, namespace: shop}, spec: {overrideRules: []}}")] },
    ],
  ])("%s", (_what, change) => {
    expect(sameRevision(revision(), revision(change))).toBe(false);
    expect(nameRevision(revision()).id).not.toBe(nameRevision(revision(change)).id);
  });
});

describe("no new revision is made by", () => {
  const server = `metadata:
  name: db
  namespace: shop
  labels: {app: db, propagationpolicy.karmada.io/permanent-id: x}
  annotations: {kubectl.kubernetes.io/last-applied-configuration: '{}', propagationpolicy.karmada.io/name: p}
  uid: u
  resourceVersion: "5"
  generation: 9
  creationTimestamp: "2030-01-01T00:00:00Z"
  managedFields: [{manager: m}]
  ownerReferences: [{name: o}]
status: {readyReplicas: 3}
`;
  it.each<[string, Partial<RevisionSource>]>([
    ["another count", { template: changed("replicas: 5", "replicas: 9") }],
    ["no count", { template: changed("  replicas: 5\n", "") }],
    ["another partition", { template: changed("partition: 3", "partition: 0") }],
    [
      "no update strategy",
      { template: changed("  updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 3}}\n", "") },
    ],
    ["another first ordinal", { template: changed("serviceName: db", "serviceName: db\n  ordinals: {start: 3}") }],
    [
      "what the server fills in",
      { template: changed("metadata: {name: db, namespace: shop, labels: {app: db}}\n", server) },
    ],
    ["a field that is null", { template: changed("metadata: {labels", "metadata: {creationTimestamp: null, labels") }],
    [
      "a dependency's labels",
      { dependencies: [changed("namespace: shop", "namespace: shop, labels: {a: b}", CONFIG_MAP)] },
    ],
    [
      "the ConfigMap that Lockstep writes itself",
      {
        dependencies: [
          yaml(CONFIG_MAP),
          yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: db-topology, namespace: shop}, data: {v: '1'}}"),
        ],
      },
    ],
    [
      "a policy of another namespace, kind or label",
      {
        policies: [
          yaml("{kind: OverridePolicy, metadata: {name: p, namespace: other}, spec: {}}"),
          yaml(
            "{kind: ClusterOverridePolicy, metadata: {name: c}, spec: {resourceSelectors: [{apiVersion: v1, kind: Service}]}}",
          ),
          yaml(OTHER_LABEL),
        ],
      },
    ],
  ])("%s", (_what, change) => {
    expect(sameRevision(revision(), revision(change))).toBe(true);
    expect(nameRevision(revision()).id).toBe(nameRevision(revision(change)).id);
  });

  it("but a policy for a label counts if a cluster-wide one may set that label", () => {
    const relabels = yaml(`{kind: ClusterOverridePolicy, metadata: {name: c}, spec: {overrideRules: [
      {overriders: {labelsOverrider: [{operator: replace, value: {app: other}}]}}]}}`);
    expect(revision({ policies: [yaml(OTHER_LABEL), relabels] }).overrides).toHaveLength(2);
  });

  it("Lockstep's own hold", () => {
    const hold = yaml("{kind: OverridePolicy, metadata: {name: hold, namespace: shop}, spec: {}}");
    expect(revision({ policies: [hold], isHold: () => true }).overrides).toEqual([]);
  });

  it("a Secret written as text or as base64", () => {
    const secret = (data: string) =>
      revision({
        dependencies: [yaml(`{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: shop}, ${data}}`)],
      });
    expect(sameRevision(secret("stringData: {k: hello}"), secret("data: {k: aGVsbG8=}"))).toBe(true);
  });

  it("the order of keys, of dependencies and of policies", () => {
    const other = yaml("{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: shop}, data: {}}");
    const policies = ["a", "b"].map((name) =>
      yaml(`{kind: OverridePolicy, metadata: {name: ${name}, namespace: shop}, spec: {}}`),
    );
    const one = revision({ dependencies: [yaml(CONFIG_MAP), other], policies });
    fc.assert(
      fc.property(fc.shuffledSubarray(policies, { minLength: 2 }), fc.infiniteStream(fc.boolean()), (some, flips) => {
        const two = revision({
          template: shuffled(yaml(STATEFULSET), flips),
          dependencies: [other, yaml(CONFIG_MAP)],
          policies: some,
        });
        expect(sameRevision(one, two)).toBe(true);
        expect(nameRevision(two).id).toBe(nameRevision(one).id);
      }),
    );
  });
});

function shuffled(object: JsonObject, flips: Iterator<boolean>): JsonObject {
  const entries = Object.entries(object).map(([key, value]): [string, Json | undefined] => [
    key,
    typeof value === "object" && value !== null && !Array.isArray(value) ? shuffled(value, flips) : value,
  ]);
  return Object.fromEntries(flips.next().value ? entries.reverse() : entries);
}

describe("a custom kind's count", () => {
  const xline = (size: number) =>
    yaml(
      `{apiVersion: apps.my.io/v1alpha1, kind: XlineCluster, metadata: {name: xline, namespace: default}, spec: {size: ${size}}}`,
    );
  const revise = (object: JsonObject, replicas: number): JsonObject => ({ ...object, spec: { size: replicas } });

  it("does not make a new revision if ReviseReplica can write it", () => {
    const at = (size: number) => revision({ template: xline(size), replicas: { kind: "revise", revise } });
    expect(sameRevision(at(3), at(5))).toBe(true);
  });

  it("makes a new revision if its field is unknown", () => {
    expect(sameRevision(revision({ template: xline(3) }), revision({ template: xline(5) }))).toBe(false);
  });
});

describe("a revision's name", () => {
  it("is the workload's name and a short hash, and is always the same for the same content", () => {
    // Pinned: a version of Lockstep with another name for the same content would roll out every application on upgrade.
    expect(nameRevision(revision())).toEqual({ id: "db-q4skb27fwx", collisionCount: 0, isNew: true });
  });

  it("fits into a label, however long the workload's name is", () => {
    const { id } = nameRevision(revision({ template: changed("name: db,", `name: ${"long-".repeat(20)}name,`) }));
    expect(id).toMatch(/^long-(long-)*[a-z]+-[a-z2-9]{10}$|^(long-)+[a-z2-9]{10}$/);
    expect(id.length).toBeLessThanOrEqual(63);
  });

  it("is found again when the content comes back", () => {
    const { id } = nameRevision(revision());
    expect(nameRevision(revision(), (each) => (each === id ? revisionMeaning(revision()) : undefined))).toMatchObject({
      id,
      isNew: false,
    });
  });

  it("changes if another content has it, and fails after a limited number of attempts", () => {
    const first = nameRevision(revision()).id;
    const foreign = revisionMeaning(revision({ restart: "other" }));
    const second = nameRevision(revision(), (id) => (id === first ? foreign : undefined));
    expect(second).toMatchObject({ collisionCount: 1, isNew: true });
    expect(second.id).not.toBe(first);
    expect(() => nameRevision(revision(), () => foreign)).toThrow(RevisionCollisionError);
  });
});

describe("changed dependencies restart the pods", () => {
  it("of a StatefulSet, but not adopted pods that already ran with them", () => {
    const digest = dependencyDigest(revision());
    expect(revision().dependencyDigest).toBe(digest);
    expect(revision({ adoptedDependencyDigest: digest }).dependencyDigest).toBeUndefined();
    expect(revision({ dependencies: [] }).dependencyDigest).toBeUndefined();
  });
});
