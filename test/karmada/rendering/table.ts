/**
 * A table of objects and override policies, the same in every run: each overrider with each operator and its edges alone,
 * then random policies of several rules. What Karmada makes of each is compared with what Lockstep makes of it.
 */
import type { KubeObject } from "../../../src/kube/index.ts";
import { type JsonObject, type Random, seededRandom } from "../../../src/runtime/index.ts";
import { isLongForm } from "../../form.ts";

export interface Case {
  readonly name: string;
  /** Of its own, because some policies select everything in their namespace. */
  readonly namespace: string;
  readonly object: KubeObject;
  readonly policies: readonly KubeObject[];
}

/** What the table's policies select clusters by; the hub's Cluster objects are given these. */
export const CLUSTERS: Readonly<Record<string, { labels: Record<string, string>; spec: JsonObject }>> = {
  member1: { labels: { tier: "gold", site: "north" }, spec: { provider: "acme", region: "eu", zones: ["a", "b"] } },
  member2: { labels: { tier: "silver", site: "south" }, spec: { provider: "acme", region: "us", zones: ["c"] } },
  member3: { labels: { tier: "gold" }, spec: { provider: "other", region: "us" } },
};

const expression = (key: string, operator: string, values?: string[]): JsonObject => ({
  matchExpressions: [{ key, operator, ...(values && { values }) }],
});

const TARGETS: readonly (JsonObject | undefined)[] = [
  undefined,
  {},
  { clusterNames: ["member1"] },
  { clusterNames: ["member1", "member3"], exclude: ["member3"] },
  { exclude: ["member2"] },
  { labelSelector: { matchLabels: { tier: "gold" } } },
  { labelSelector: expression("site", "Exists") },
  { labelSelector: expression("site", "NotIn", ["north"]) },
  { labelSelector: { matchLabels: { tier: "gold" }, ...expression("site", "DoesNotExist") } },
  { fieldSelector: expression("provider", "In", ["acme"]) },
  { fieldSelector: expression("region", "NotIn", ["us"]) },
  { fieldSelector: expression("zone", "In", ["b", "c"]) },
  { fieldSelector: expression("zone", "NotIn", ["b"]) },
  { fieldSelector: expression("region", "In", ["us"]), labelSelector: { matchLabels: { tier: "gold" } } },
];

const CONTAINERS: JsonObject[] = [
  { name: "web", image: "registry.example:5000/team/web:1.0", command: ["web"], args: ["--a", "--b", "--a"] },
  { name: "side", image: "side@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef" },
  { name: "plain", image: "library/plain" },
];
const LABELS = { app: "x", tier: "web", "example.com/old": "1" };
const POD_LABELS = { app: "x" };

function podTemplate(restartPolicy?: string): JsonObject {
  const spec = { containers: CONTAINERS, ...(restartPolicy && { restartPolicy }) };
  return { metadata: { labels: POD_LABELS }, spec };
}

const KINDS: Readonly<Record<string, () => JsonObject & { apiVersion: string }>> = {
  ConfigMap: () => ({
    apiVersion: "v1",
    data: {
      mode: "fast",
      "app.json": '{"b": {"z": 1, "a": [1, 2, {"deep": "<&>"}]}, "a": "x", "n": 1.50, "big": 1e3}',
      "app.yaml": "b:\n  z: 1\n  a: [1, 2]\na: yes\nport: 08\nwhen: 2024-01-02\ntext: |\n  two\n  lines\n",
    },
  }),
  Secret: () => ({ apiVersion: "v1", type: "Opaque", data: { password: "c2VjcmV0" } }),
  Service: () => ({ apiVersion: "v1", spec: { selector: POD_LABELS, ports: [{ port: 80, protocol: "TCP" }] } }),
  ServiceAccount: () => ({ apiVersion: "v1", automountServiceAccountToken: false }),
  Deployment: () => ({ apiVersion: "apps/v1", spec: workload(podTemplate()) }),
  StatefulSet: () => ({ apiVersion: "apps/v1", spec: { ...workload(podTemplate()), serviceName: "x" } }),
  DaemonSet: () => ({
    apiVersion: "apps/v1",
    spec: { selector: { matchLabels: POD_LABELS }, template: podTemplate() },
  }),
  Job: () => ({ apiVersion: "batch/v1", spec: { ttlSecondsAfterFinished: 60, template: podTemplate("Never") } }),
  CronJob: () => ({
    apiVersion: "batch/v1",
    spec: { schedule: "0 0 1 1 *", jobTemplate: { spec: { template: podTemplate("Never") } } },
  }),
  Pod: () => ({ apiVersion: "v1", spec: { containers: CONTAINERS } }),
};

function workload(template: JsonObject): JsonObject {
  return { replicas: 2, selector: { matchLabels: POD_LABELS }, template };
}

type Overriders = Record<string, JsonObject[]>;

const image = (component: string, operator: string, value?: string, predicate?: string): Overriders => ({
  imageOverrider: [
    {
      component,
      operator,
      ...(value !== undefined && { value }),
      ...(predicate && { predicate: { path: predicate } }),
    },
  ],
});
const words = (field: "command" | "args", operator: string, value: string[], containerName = "web"): Overriders => ({
  [`${field}Overrider`]: [{ containerName, operator, value }],
});
const marks = (map: "labels" | "annotations", operator: string, value: JsonObject): Overriders => ({
  [`${map}Overrider`]: [{ operator, value }],
});
const plain = (operator: string, path: string, value?: unknown): Overriders => ({
  plaintext: [{ operator, path, ...(value !== undefined && { value: value as JsonObject }) }],
});
const inText = (
  fieldPath: string,
  format: "json" | "yaml",
  ...operations: [string, string, unknown?][]
): Overriders => ({
  fieldOverrider: [
    {
      fieldPath,
      [format]: operations.map(([operator, subPath, value]) => ({
        operator,
        subPath,
        ...(value !== undefined && { value: value as JsonObject }),
      })),
    },
  ],
});

const DIGEST = `sha256:${"f".repeat(64)}`;
const FIRST_IMAGE = "/spec/template/spec/containers/0/image";
const WITH_PODS = ["Deployment", "StatefulSet", "DaemonSet", "Job", "Pod", "CronJob"];
const ANY = ["ConfigMap", "Secret", "Service", "ServiceAccount", "Deployment", "StatefulSet"];
const TEXT_JSON = "/data/app.json";
const TEXT_YAML = "/data/app.yaml";

/** Each overrider alone, with the kinds that it is tried on. */
const ALONE: readonly [readonly string[], Overriders][] = [
  ...["Registry", "Repository", "Tag"].flatMap((component): [string[], Overriders][] => [
    [WITH_PODS, image(component, "replace", component === "Registry" ? "mirror.example" : "other")],
    [["Deployment"], image(component, "add", component === "Registry" ? ".cn" : "-x")],
    [["Deployment"], image(component, "remove")],
  ]),
  [["Deployment"], image("Tag", "replace", DIGEST)],
  [["Deployment"], image("Tag", "replace", "not a tag!")],
  [["Deployment"], image("Tag", "add", "rc1", FIRST_IMAGE)],
  [["CronJob"], image("Tag", "replace", "2", "/spec/jobTemplate/spec/template/spec/containers/0/image")],
  [["Deployment"], image("Tag", "replace", "2", "/spec/template/spec/containers/9/image")],
  ...(["command", "args"] as const).flatMap((field): [string[], Overriders][] => [
    [WITH_PODS, words(field, "add", ["--more", "--a"])],
    [["StatefulSet"], words(field, "remove", ["--a", "web", "--none"])],
    [["Deployment"], words(field, "add", ["--x"], "side")],
    [["Deployment"], words(field, "remove", ["--x"], "side")],
    [["Deployment"], words(field, "add", ["--x"], "nowhere")],
  ]),
  ...(["labels", "annotations"] as const).flatMap((map): [string[], Overriders][] => [
    [ANY, marks(map, "add", { "example.com/new": "1", tier: "changed" })],
    [["ConfigMap", "Deployment"], marks(map, "replace", { tier: "replaced", missing: "never" })],
    [["ConfigMap", "Deployment"], marks(map, "remove", { tier: "web", missing: "never" })],
    [["Secret"], marks(map, "remove", { "example.com/old": "1" })],
  ]),
  [["ConfigMap"], plain("replace", "/data/mode", "slow")],
  [["ConfigMap"], plain("add", "/data/extra~1name", "with a slash")],
  [["ConfigMap"], plain("remove", "/data/mode")],
  [["ConfigMap"], plain("remove", "/data/missing")],
  [["ConfigMap"], plain("replace", "/data/missing", "x")],
  [["ConfigMap"], plain("add", "/immutable", true)],
  [["ConfigMap"], plain("add", "/metadata/annotations/note", "added")],
  [["ConfigMap"], plain("add", "/binaryData/x", "eA==")],
  [["Deployment", "StatefulSet"], plain("replace", "/spec/replicas", 7)],
  [["Deployment"], plain("add", "/spec/template/spec/containers/-", { name: "last", image: "last:1" })],
  [["Deployment"], plain("add", "/spec/template/spec/containers/0", { name: "first", image: "first:1" })],
  [["Deployment"], plain("remove", "/spec/template/spec/containers/1")],
  [["Deployment"], plain("replace", "/spec/template/spec/containers/7/image", "x")],
  [["Deployment"], plain("add", "/spec/template/metadata/annotations", { a: "1" })],
  [["Deployment"], plain("add", "/spec/template/spec/nodeSelector", { zone: "a" })],
  [["Deployment"], plain("replace", "/spec/template/spec/terminationGracePeriodSeconds", 0)],
  [["Deployment"], plain("add", "/spec/paused", false)],
  [["StatefulSet"], plain("add", "/spec/template/spec/hostNetwork", true)],
  [["Service"], plain("replace", "/spec/ports/0/port", 8080)],
  [["Service"], plain("add", "/spec/type", "NodePort")],
  [["ServiceAccount"], plain("add", "/imagePullSecrets", [{ name: "pull" }])],
  [["Secret"], plain("replace", "/data/password", "b3RoZXI=")],
  [["Job"], plain("add", "/spec/backoffLimit", 3)],
  [["ConfigMap"], inText(TEXT_JSON, "json", ["replace", "/b/z", 2])],
  [["ConfigMap"], inText(TEXT_JSON, "json", ["add", "/b/a/-", "new"], ["remove", "/a"])],
  [["ConfigMap"], inText(TEXT_JSON, "json", ["add", "/c", { y: 1, x: "<tag> & more" }])],
  [["ConfigMap"], inText(TEXT_JSON, "json", ["remove", "/missing"])],
  [["ConfigMap"], inText(TEXT_YAML, "yaml", ["replace", "/b/z", 2])],
  [["ConfigMap"], inText(TEXT_YAML, "yaml", ["add", "/c", { y: [1, { z: "8080" }], x: "on" }], ["remove", "/b/a/0"])],
  [["ConfigMap"], inText(TEXT_YAML, "yaml", ["replace", "/text", "one\ntwo\n"])],
  [["ConfigMap"], inText(TEXT_YAML, "yaml", ["replace", "/missing", 1])],
  [["ConfigMap"], inText("/data/mode", "json", ["add", "/x", 1])],
  [["ConfigMap"], inText("/data/none", "yaml", ["add", "/x", 1])],
];

/** Random ones that apply to whatever is there, so that most of their combinations succeed. */
const MIXED: readonly Overriders[] = [
  image("Registry", "replace", "mirror.example"),
  image("Repository", "add", "-fork"),
  image("Tag", "replace", "2.0"),
  words("args", "add", ["--mixed"]),
  words("command", "remove", ["web"]),
  marks("labels", "add", { tier: "mixed", "example.com/new": "2" }),
  marks("labels", "add", { tier: "other" }),
  marks("labels", "remove", { "example.com/old": "1" }),
  marks("annotations", "add", { "example.com/note": "mixed" }),
  marks("annotations", "replace", { "example.com/note": "replaced" }),
  plain("replace", "/metadata/labels/tier", "plain"),
  plain("add", "/metadata/annotations/example.com~1note", "plain"),
];

/** Kinds of selectors, by how specific they are; of equals the name decides. */
const SELECTORS: readonly ((object: KubeObject) => JsonObject | undefined)[] = [
  () => undefined,
  () => ({}),
  () => ({ labelSelector: { matchLabels: { tier: "web" } } }),
  () => ({ labelSelector: { matchLabels: { tier: "mixed" } } }),
  () => ({ labelSelector: expression("app", "In", ["x", "y"]) }),
  ({ metadata }) => ({ name: metadata.name }),
  () => ({ name: "another" }),
];

const RANDOM_CASES = isLongForm ? 60 : 20;

export function table(): Case[] {
  const cases: Case[] = [];
  const add = (kind: string, policiesFor: (object: KubeObject) => KubeObject[]) => {
    const namespace = `render-${String(cases.length).padStart(3, "0")}`;
    const { apiVersion, ...rest } = KINDS[kind]?.() ?? { apiVersion: "" };
    const annotations = { "example.com/note": "first", tier: "web" };
    const object = { apiVersion, kind, metadata: { name: "x", namespace, labels: LABELS, annotations }, ...rest };
    const policies = policiesFor(object);
    const rules = policies.map(({ kind: of, metadata, spec }) => `${of} ${metadata.name}: ${JSON.stringify(spec)}`);
    cases.push({ name: `${kind} with ${rules.join("; ")}`, namespace, object, policies });
  };
  for (const [kinds, overriders] of ALONE) {
    for (const kind of kinds) {
      add(kind, (object) => [policy("OverridePolicy", "only", object, {}, [{ overriders }])]);
    }
  }
  for (const targetCluster of TARGETS) {
    const rule = { ...(targetCluster && { targetCluster }), overriders: marks("labels", "add", { seen: "yes" }) };
    add("ConfigMap", (object) => [policy("ClusterOverridePolicy", "targets", object, {}, [rule])]);
  }
  // The deprecated pair in the spec itself.
  add("ConfigMap", (object) => [deprecated(object, marks("labels", "add", { seen: "yes" }))]);
  const random = seededRandom(22);
  for (let made = 0; made < RANDOM_CASES; made++) {
    add(made % 2 === 0 ? "Deployment" : "StatefulSet", (object) => randomPolicies(random, object));
  }
  return cases;
}

function randomPolicies(random: Random, object: KubeObject): KubeObject[] {
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random.next() * from.length)] as T;
  const count = 1 + Math.floor(random.next() * 4);
  return Array.from({ length: count }, (_, at) => {
    const kind = pick(["OverridePolicy", "ClusterOverridePolicy"]);
    const rules = Array.from({ length: 1 + Math.floor(random.next() * 2) }, () => {
      const targetCluster = pick(TARGETS);
      const overriders = Object.assign({}, pick(MIXED), pick(MIXED));
      return { ...(targetCluster && { targetCluster }), overriders };
    });
    return policy(kind, `${pick(["a", "b", "c"])}${at}`, object, pick(SELECTORS)(object), rules);
  });
}

/** `selector` undefined: one without selectors, which only makes sense in the case's own namespace. */
function policy(
  kind: string,
  name: string,
  object: KubeObject,
  selector: JsonObject | undefined,
  overrideRules: JsonObject[],
): KubeObject {
  const { namespace = "" } = object.metadata;
  const isWide = kind === "ClusterOverridePolicy";
  const own = { apiVersion: object.apiVersion, kind: object.kind, namespace, ...selector };
  return {
    apiVersion: "policy.karmada.io/v1alpha1",
    kind,
    metadata: isWide ? { name: `${namespace}-${name}` } : { name, namespace },
    spec: { ...((selector || isWide) && { resourceSelectors: [own] }), overrideRules },
  };
}

function deprecated(object: KubeObject, overriders: Overriders): KubeObject {
  const made = policy("OverridePolicy", "deprecated", object, {}, []);
  const { resourceSelectors } = made.spec as JsonObject;
  return { ...made, spec: { resourceSelectors, targetCluster: { clusterNames: ["member2"] }, overriders } };
}
