import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ANNOTATIONS } from "../contract/index.ts";
import { isJsonObject, type Json, type JsonObject, valueAt } from "../runtime/index.ts";
import { stringMapAt } from "./json.ts";
import { type RenderResult, renderMember } from "./render.ts";
import { sameWorkload } from "./revision.ts";
import { type Case, CONFIG_MAP, renderInput, STATEFULSET, topology, yaml } from "./testing/fixtures.ts";

const counts = fc.array(fc.nat({ max: 5 }), { minLength: 2, maxLength: 4 });

/** Harmless, harmful and broken operations alike. */
const operation = fc.constantFrom(
  "{path: /spec/replicas, operator: replace, value: 9}",
  "{path: /spec/replicas, operator: remove}",
  "{path: /spec/ordinals, operator: add, value: {start: 1}}",
  "{path: /spec/updateStrategy, operator: remove}",
  "{path: /spec/minReadySeconds, operator: add, value: 5}",
  "{path: /metadata/labels/x, operator: add, value: y}",
  "{path: /metadata/annotations, operator: add, value: {}}",
  "{path: /metadata/labels, operator: replace, value: {}}",
  "{path: /spec/template/spec/containers/0/image, operator: replace, value: other}",
  "{path: /missing, operator: remove}",
  "{path: /status, operator: add, value: {readyReplicas: 9}}",
);

const policy = fc
  .record({
    name: fc.constantFrom("a", "b", "c"),
    wide: fc.boolean(),
    operations: fc.array(operation, { maxLength: 3 }),
  })
  .map(({ name, wide, operations }) =>
    yaml(`{kind: ${wide ? "Cluster" : ""}OverridePolicy, metadata: {name: ${name}${wide ? "" : ", namespace: shop"}},
           spec: {overrideRules: [{overriders: {plaintext: [${operations.join(", ")}]}}]}}`),
  );

const anyCase = fc
  .record({
    replicas: counts,
    partition: fc.nat({ max: 5 }),
    start: fc.constantFrom(0, 100, 700),
    epoch: fc.integer({ min: 1, max: 1e9 }),
    processor: fc.boolean(),
    onDelete: fc.boolean(),
    policies: fc.array(policy, { maxLength: 3 }),
    withConfig: fc.boolean(),
  })
  .map(({ replicas, policies, withConfig, ...grant }): Case & { grant: { replicas: number } } => ({
    topology: topology(replicas),
    policies,
    dependencies: withConfig ? [yaml(CONFIG_MAP)] : [],
    grant: { ...grant, replicas: replicas[0] ?? 0 },
  }));

const text = (result: RenderResult) => JSON.stringify(result.ok ? result : result.error.message);

describe("a rendered workload", () => {
  it("either runs exactly its grant or is refused", () => {
    const seen = { rendered: 0, refused: 0 };
    fc.assert(
      fc.property(anyCase, (each) => {
        const result = renderMember(renderInput(each));
        seen[result.ok ? "rendered" : "refused"]++;
        if (!result.ok) return;
        const { workload } = result;
        expect(valueAt(workload, "spec", "replicas")).toBe(each.grant.replicas);
        expect(workload).not.toHaveProperty("status");
        const { epoch, onDelete, partition, start } = renderInput(each).grant;
        expect(valueAt(workload, "spec", "updateStrategy", "rollingUpdate", "partition")).toBe(
          onDelete ? undefined : partition,
        );
        expect(valueAt(workload, "spec", "ordinals", "start") ?? 0).toBe(start);
        expect(stringMapAt(workload, "metadata", "annotations")[ANNOTATIONS.epoch]).toBe(String(epoch));
        expect(stringMapAt(workload, "metadata", "labels")[ANNOTATIONS.epoch]).toBe(String(epoch));
      }),
    );
    expect(Math.min(seen.rendered, seen.refused)).toBeGreaterThan(0);
  });

  it("is the same text every time, and rendering changes no input", () => {
    fc.assert(
      fc.property(anyCase, (each) => {
        const input = deepFreeze(renderInput(each));
        expect(text(renderMember(input))).toBe(text(renderMember(input)));
      }),
    );
  });

  it("does not depend on the order of the template's keys", () => {
    fc.assert(
      fc.property(anyCase, fc.infiniteStream(fc.boolean()), (each, flips) => {
        const template = shuffled(yaml(STATEFULSET), flips);
        expect(text(renderMember(renderInput({ ...each, template })))).toBe(text(renderMember(renderInput(each))));
      }),
    );
  });

  it("contains no field that a server filled in", () => {
    const fields = ["uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "managedFields"];
    const more = ["deletionGracePeriodSeconds", "ownerReferences", "finalizers", "selfLink", "generateName"];
    const junk = fc.dictionary(fc.constantFrom(...fields, ...more), fc.jsonValue({ maxDepth: 1 }));
    const hubKeys = fc.dictionary(
      fc.constantFrom(
        "propagationpolicy.karmada.io/name",
        "resourcetemplate.karmada.io/retain-replicas",
        "karmada.io/managed",
        ANNOTATIONS.transferLeaderTo,
        "kubectl.kubernetes.io/last-applied-configuration",
      ),
      fc.constant("hub"),
    );
    fc.assert(
      fc.property(anyCase, junk, hubKeys, (each, metadata, keys) => {
        const dirty = (object: JsonObject): JsonObject => ({
          ...object,
          metadata: { ...withJunk(object, metadata), labels: { app: "db", ...keys }, annotations: keys },
          status: { replicas: 9 },
        });
        const template = dirty(yaml(STATEFULSET));
        const result = renderMember(
          renderInput({ ...each, policies: [], template, dependencies: [dirty(yaml(CONFIG_MAP))] }),
        );
        if (!result.ok) throw result.error;
        for (const { object } of result.manifests) {
          expect(object).not.toHaveProperty("status");
          const kept = Object.keys(isJsonObject(object.metadata) ? object.metadata : {});
          expect(kept.filter((key) => !["name", "namespace", "labels", "annotations"].includes(key))).toEqual([]);
          expect(JSON.stringify(object)).not.toContain('"hub"');
        }
      }),
    );
  });

  it("has the same content as the template, for any grant", () => {
    fc.assert(
      fc.property(anyCase, (each) => {
        const result = renderMember(renderInput({ ...each, policies: [], dependencies: [] }));
        if (!result.ok) throw result.error;
        expect(sameWorkload(result.workload, yaml(STATEFULSET))).toBe(true);
        expect(sameWorkload(result.workload, yaml(STATEFULSET.replace("db:1.0", "db:1.1")))).toBe(false);
      }),
    );
  });
});

function withJunk(object: JsonObject, junk: Record<string, unknown>): JsonObject {
  const metadata: unknown = JSON.parse(
    JSON.stringify({ ...junk, ...(isJsonObject(object.metadata) ? object.metadata : {}) }),
  );
  return isJsonObject(metadata) ? metadata : {};
}

function shuffled(object: JsonObject, flips: Iterator<boolean>): JsonObject {
  const entries = Object.entries(object).map(([key, value]): [string, Json | undefined] => [
    key,
    isJsonObject(value) ? shuffled(value, flips) : value,
  ]);
  return Object.fromEntries(flips.next().value ? entries.reverse() : entries);
}

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null) for (const each of Object.values(value)) deepFreeze(each);
  return Object.freeze(value);
}
