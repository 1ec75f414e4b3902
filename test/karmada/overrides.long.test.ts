/** What Lockstep makes of override policies is what Karmada itself renders without a hold, over a generated table. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { statefulSet, WORKS } from "../../src/engine/testing/contract/index.ts";
import { isKubeObject, type KubeObject } from "../../src/kube/index.ts";
import { applyOverrides, type ClusterFacts, OverrideError } from "../../src/render/index.ts";
import { isJsonObject, type JsonObject } from "../../src/runtime/index.ts";
import { type KarmadaFleet, startKarmadaFleet } from "./fleet.ts";

const CONTAINER = "/spec/template/spec/containers/0";
const STATEFULSETS = "/apis/apps/v1/namespaces/default/statefulsets";

/** Every overrider of Karmada, and patches that fail. */
const OVERRIDERS: readonly JsonObject[] = [
  { imageOverrider: [{ component: "Registry", operator: "replace", value: "mirror.local" }] },
  { imageOverrider: [{ component: "Registry", operator: "add", value: ":5000" }] },
  { imageOverrider: [{ component: "Registry", operator: "remove" }] },
  { imageOverrider: [{ component: "Repository", operator: "replace", value: "other/db" }] },
  { imageOverrider: [{ component: "Tag", operator: "add", value: "-arm64" }] },
  { imageOverrider: [{ component: "Tag", operator: "remove" }] },
  {
    imageOverrider: [{ predicate: { path: `${CONTAINER}/image` }, component: "Tag", operator: "replace", value: "9" }],
  },
  { commandOverrider: [{ containerName: "app", operator: "add", value: ["--fast"] }] },
  { commandOverrider: [{ containerName: "app", operator: "remove", value: ["run"] }] },
  { argsOverrider: [{ containerName: "app", operator: "add", value: ["-v", "2"] }] },
  { argsOverrider: [{ containerName: "other", operator: "add", value: ["-v"] }] },
  { labelsOverrider: [{ operator: "add", value: { tier: "db" } }] },
  { labelsOverrider: [{ operator: "replace", value: { team: "a" } }] },
  { labelsOverrider: [{ operator: "remove", value: { team: "" } }] },
  { annotationsOverrider: [{ operator: "add", value: { note: "x" } }] },
  { annotationsOverrider: [{ operator: "replace", value: { absent: "y" } }] },
  { annotationsOverrider: [{ operator: "remove", value: { kept: "" } }] },
  {
    fieldOverrider: [
      {
        fieldPath: "/metadata/annotations/config",
        json: [{ subPath: "/a/b", operator: "replace", value: 2 }],
      },
    ],
  },
  {
    fieldOverrider: [
      { fieldPath: "/metadata/annotations/yaml", yaml: [{ subPath: "/size", operator: "replace", value: 3 }] },
    ],
  },
  { plaintext: [{ path: "/spec/minReadySeconds", operator: "add", value: 7 }] },
  { plaintext: [{ path: "/spec/template/spec/containers/-", operator: "add", value: { name: "side", image: "s:1" } }] },
  { plaintext: [{ path: `${CONTAINER}/image`, operator: "replace", value: "whole:3" }] },
  { plaintext: [{ path: "/spec/no/such/field", operator: "replace", value: 1 }] },
  { plaintext: [{ path: "/spec/absent", operator: "remove" }] },
  {
    imageOverrider: [{ component: "Tag", operator: "replace", value: "5" }],
    commandOverrider: [{ containerName: "app", operator: "add", value: ["--all"] }],
    labelsOverrider: [{ operator: "add", value: { order: "label" } }],
    plaintext: [{ path: `${CONTAINER}/image`, operator: "replace", value: "last:1" }],
  },
];

const TARGETS: ReadonlyArray<JsonObject | undefined> = [
  undefined,
  { clusterNames: ["member1", "member3"] },
  { exclude: ["member2"] },
  { labelSelector: { matchLabels: { tier: "edge" } } },
  { labelSelector: { matchExpressions: [{ key: "tier", operator: "NotIn", values: ["edge"] }] } },
  { fieldSelector: { matchExpressions: [{ key: "region", operator: "In", values: ["north"] }] } },
  { clusterNames: ["member1", "member2"], exclude: ["member1"] },
];

interface Case {
  readonly name: string;
  readonly policies: readonly KubeObject[];
}

const byName = (name: string) => ({ apiVersion: "apps/v1", kind: "StatefulSet", name });
const byLabel = (name: string) => ({
  apiVersion: "apps/v1",
  kind: "StatefulSet",
  labelSelector: { matchLabels: { case: name } },
});

function policy(kind: string, name: string, selector: object, overrideRules: readonly object[]): KubeObject {
  const metadata = { name, ...(kind === "OverridePolicy" && { namespace: "default" }) };
  const spec = { resourceSelectors: [selector], overrideRules };
  const made: unknown = JSON.parse(JSON.stringify({ apiVersion: "policy.karmada.io/v1alpha1", kind, metadata, spec }));
  if (!isKubeObject(made)) throw new Error(`${name} is no object`);
  return made;
}

/** Each overrider with each sort of target; then policies that meet on one object, in every order of rank and name. */
function cases(): Case[] {
  const single = OVERRIDERS.flatMap((overriders, o) =>
    [0, 1, 2].map((shift): Case => {
      const t = (o + shift * 2) % TARGETS.length;
      const name = `single-${o}-${t}`;
      const rule = { ...(TARGETS[t] && { targetCluster: TARGETS[t] }), overriders };
      const kind = (o + shift) % 2 === 0 ? "OverridePolicy" : "ClusterOverridePolicy";
      return { name, policies: [policy(kind, `p-${name}`, byName(name), [rule])] };
    }),
  );
  const mark = (value: string) => ({
    overriders: { annotationsOverrider: [{ operator: "add", value: { last: value } }] },
  });
  const orders = ["ab", "ba"].flatMap((letters) =>
    [byName, byLabel].flatMap((first) =>
      [byName, byLabel].flatMap((second) =>
        [
          ["OverridePolicy", "OverridePolicy"],
          ["ClusterOverridePolicy", "ClusterOverridePolicy"],
          ["OverridePolicy", "ClusterOverridePolicy"],
        ].map(([one = "", other = ""], at): Case => {
          const name = `order-${letters}-${first === byName ? "n" : "l"}${second === byName ? "n" : "l"}-${at}`;
          const [x = "", y = ""] = letters;
          return {
            name,
            policies: [
              policy(one, `${x}-${name}`, first(name), [mark("first")]),
              policy(other, `${y}-${name}`, second(name), [mark("second"), mark("second-again")]),
            ],
          };
        }),
      ),
    ),
  );
  return [...single, ...orders];
}

function template(name: string): KubeObject {
  const { spec, ...rest } = statefulSet(name, 0, "registry.example/team/db:1.0");
  const annotations = { kept: "yes", config: JSON.stringify({ a: { b: 1 } }), yaml: "size: 1\n" };
  const labels = { case: name, team: "b", overridden: "yes" };
  const text = JSON.stringify(spec).replace('"name":"app"', '"name":"app","command":["run"],"args":["-x"]');
  return { ...rest, metadata: { ...rest.metadata, labels, annotations }, spec: JSON.parse(text) };
}

const ALL = cases();

describe(`${ALL.length} override policies and combinations, in three clusters`, () => {
  let fleet: KarmadaFleet;
  let facts: ClusterFacts[];
  const rendered = new Map<string, JsonObject>();
  const stored = new Map<string, KubeObject>();

  beforeAll(async () => {
    fleet = await startKarmadaFleet();
    const { stack } = fleet;
    facts = [
      { name: "member1", labels: { tier: "edge" }, region: "north" },
      { name: "member2", labels: { tier: "core" }, region: "south" },
      { name: "member3", labels: {}, region: "north" },
    ];
    for (const { name, labels, region } of facts) {
      const path = `/apis/cluster.karmada.io/v1alpha1/clusters/${name}`;
      const body = { metadata: { labels }, spec: { region } };
      const { status, text } = await stack.hub.request("PATCH", path, body, "application/merge-patch+json");
      if (status !== 200) throw new Error(text);
    }
    for (const { policies } of ALL)
      for (const each of policies) await stack.hub.apply({ ...each, metadata: { ...each.metadata } });
    await stack.hub.apply({
      apiVersion: "policy.karmada.io/v1alpha1",
      kind: "PropagationPolicy",
      metadata: { name: "all", namespace: "default" },
      spec: {
        resourceSelectors: [
          { apiVersion: "apps/v1", kind: "StatefulSet", labelSelector: { matchLabels: { overridden: "yes" } } },
        ],
        placement: { clusterAffinity: { clusterNames: facts.map(({ name }) => name) } },
      },
    });
    for (const { name } of ALL) await stack.hub.apply({ ...template(name), metadata: { ...template(name).metadata } });
    await readTemplates();
    // A case without any Work must not be taken for one that is late: the last one to be rendered says when all are.
    const wanted = ALL.length * facts.length - failing().length;
    await fleet.until(
      "Karmada has rendered everything",
      async () => {
        await read();
        return rendered.size >= wanted || `${rendered.size} of ${wanted}`;
      },
      180_000,
    );
  });
  afterAll(() => fleet?.stop());

  /** As the hub has them, with defaults. */
  async function readTemplates(): Promise<void> {
    const list = await fleet.stack.hub.get<{ items: KubeObject[] }>(STATEFULSETS);
    for (const item of list?.items ?? []) {
      stored.set(item.metadata.name, { ...item, apiVersion: "apps/v1", kind: "StatefulSet" });
    }
  }

  async function read(): Promise<void> {
    const { items } = await fleet.hub.listAll(WORKS);
    for (const { metadata, spec } of items) {
      const workload = isJsonObject(spec) && isJsonObject(spec.workload) ? spec.workload : {};
      for (const manifest of Array.isArray(workload.manifests) ? workload.manifests : []) {
        if (!isJsonObject(manifest) || manifest.kind !== "StatefulSet" || !isJsonObject(manifest.metadata)) continue;
        rendered.set(`${metadata.namespace?.replace("karmada-es-", "")}/${manifest.metadata.name}`, manifest);
      }
    }
  }

  const ours = (of: Case, cluster: ClusterFacts): JsonObject | "fails" => {
    const object = stored.get(of.name);
    if (!object) throw new Error(`no template ${of.name}`);
    try {
      return applyOverrides(JSON.parse(JSON.stringify(object)), cluster, of.policies).object;
    } catch (error) {
      if (error instanceof OverrideError) return "fails";
      throw error;
    }
  };
  const failing = (): string[] =>
    ALL.flatMap((each) =>
      facts.filter((cluster) => ours(each, cluster) === "fails").map(({ name }) => `${name}/${each.name}`),
    );

  it("are rendered the same in every cluster, and fail in the same clusters", async () => {
    await read();
    const differences: Record<string, unknown> = {};
    for (const each of ALL) {
      for (const cluster of facts) {
        const key = `${cluster.name}/${each.name}`;
        const theirs = rendered.get(key);
        const mine = ours(each, cluster);
        const [a, b] = [comparable(theirs ?? "fails"), comparable(mine)];
        if (JSON.stringify(a) !== JSON.stringify(b)) differences[key] = { karmada: a, lockstep: b };
      }
    }
    expect(differences).toEqual({});
  });
});

/** What a user sees of it: without Karmada's marks, and with fields in one order. */
function comparable(object: JsonObject | "fails"): unknown {
  if (object === "fails") return object;
  const { labels = {}, annotations = {} } = isJsonObject(object.metadata) ? object.metadata : {};
  const own = (marks: unknown) =>
    Object.fromEntries(
      Object.entries(isJsonObject(marks) ? marks : {}).filter(([key]) => !key.includes("karmada.io/")),
    );
  return sorted({ labels: own(labels), annotations: own(annotations), spec: object.spec });
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isJsonObject(value)) return value;
  const fields = Object.entries(value).filter(([key, field]) => !(key === "creationTimestamp" && field === null));
  return Object.fromEntries(fields.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, field]) => [key, sorted(field)]));
}
