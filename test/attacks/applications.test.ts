/** What a tenant may try with whole applications, on the embedded hub with the shipped roles and the real helm. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { SchemaCache } from "../../src/apiserver/index.ts";
import { defaultRoles } from "../../src/apiserver/testing/roles.ts";
import { chartArchive } from "../../src/charts/testing/sources.ts";
import { configMap, inline } from "../../src/embedded/testing/application.ts";
import { World } from "../../src/embedded/testing/world.ts";
import { OWNER_LABEL } from "../../src/engine/index.ts";
import { type KubeObject, resource } from "../../src/kube/index.ts";
import { isJsonObject, type JsonObject } from "../../src/runtime/index.ts";
import { type RealRenderer, realRenderer } from "../apps/harness.ts";
import {
  type Answer,
  type Ask,
  askThrough,
  installed,
  PEOPLE,
  type Person,
  SHOP,
  surroundings,
  VAULT,
} from "./ground.ts";

const APPS = `/apis/apps.karmada.io/v1alpha1/namespaces/${SHOP}/distributedapplications`;
const CONFIG_MAPS = resource({ apiVersion: "v1", kind: "ConfigMap", plural: "configmaps", namespaced: true });
const RBAC = "rbac.authorization.k8s.io";
const CHART = { archive: { configMap: "chart" } };

let renderer: RealRenderer;
let world: World;
let count = 0;

const as = (person: Person): Ask => {
  const ask = askThrough(world.fleet.hub.transport(PEOPLE[person]));
  return (...request) => world.clock.run(ask(...request));
};

beforeAll(async () => {
  renderer = await realRenderer({ allowLoopback: false });
  const ground = [...defaultRoles(), ...installed(), ...surroundings(), ...narrowRights()];
  world = new World(17, { authorizer: "RBAC", schemas: new SchemaCache(), installed: ground }, { renderer });
  await world.clock.run(world.fleet.start());
  world.startController(PEOPLE.controller);
  const store = async (name: string, content: JsonObject) => {
    const metadata = { name, namespace: SHOP };
    const object = { apiVersion: "v1", kind: "ConfigMap", metadata, ...content };
    const made = await as("editor")("POST", `/api/v1/namespaces/${SHOP}/configmaps`, object);
    expect(made.message).toBe("");
  };
  await store("chart", { binaryData: { "chart.tgz": chartArchive("odd").toString("base64") } });
  const path = (metadata: string) => ({
    data: { "a.yaml": `apiVersion: v1\nkind: ConfigMap\nmetadata: {${metadata}}` },
  });
  await store("path-in-name", path("name: ../../secrets/keys"));
  await store("path-in-namespace", path(`name: theirs, namespace: ../${VAULT}`));
});
afterAll(async () => {
  await world?.stop();
  renderer?.stop();
});
beforeEach(() => {
  count++;
});

/** ServiceAccount shop/deployer may distribute ConfigMaps and roles in shop; and nothing else, nowhere else. */
function narrowRights(): JsonObject[] {
  const metadata = { name: "deployer", namespace: SHOP };
  const rules = [
    { apiGroups: [""], resources: ["configmaps"], verbs: ["distribute"] },
    { apiGroups: [RBAC], resources: ["roles", "rolebindings"], verbs: ["distribute"] },
  ];
  const roleRef = { apiGroup: RBAC, kind: "Role", name: "deployer" };
  const subjects = [{ kind: "ServiceAccount", name: "deployer", namespace: SHOP }];
  return [
    { apiVersion: "v1", kind: "ServiceAccount", metadata },
    { apiVersion: `${RBAC}/v1`, kind: "Role", metadata, rules },
    { apiVersion: `${RBAC}/v1`, kind: "RoleBinding", metadata, roleRef, subjects },
    { apiVersion: "v1", kind: "Secret", metadata: { name: "keys", namespace: VAULT }, data: { a: btoa("b: secret") } },
  ];
}

const object = (apiVersion: string, kind: string, name: string, more: JsonObject = {}): JsonObject => {
  const { metadata, ...rest } = more;
  return { apiVersion, kind, metadata: { name, ...(isJsonObject(metadata) ? metadata : {}) }, ...rest };
};

/** As alice, who has Kubernetes' role `edit` in shop. */
function create(spec: JsonObject): Promise<Answer> {
  return as("editor")("POST", APPS, {
    apiVersion: "apps.karmada.io/v1alpha1",
    kind: "DistributedApplication",
    metadata: { name: `app-${count}`, namespace: SHOP },
    spec: { serviceAccountName: "deployer", clusters: { names: ["member1"] }, revisionSettleSeconds: 0, ...spec },
  });
}

function status(): JsonObject {
  const found = world.fleet.hubObject("apps.karmada.io/distributedapplications", SHOP, `app-${count}`)?.status;
  return isJsonObject(found) ? found : {};
}

const says = (reason: string) =>
  world
    .until(`the status says ${reason}`, () => status().reason === reason)
    .catch((error: unknown) => {
      throw new Error(`${String(error)}: ${JSON.stringify(status(), null, 1)}`);
    });

const inMember = (name: string, namespace: string = SHOP): Promise<KubeObject | undefined> =>
  world.ask(world.fleet.client("member1").find(CONFIG_MAPS, { namespace, name }));

const patched = (...patch: JsonObject[]) => ({
  source: inline(configMap("mine", { a: "b" })),
  overrides: [{ clusters: { names: ["member1"] }, patches: [{ target: { kind: "ConfigMap", name: "mine" }, patch }] }],
});

describe("a tenant with few rights gives itself no others", () => {
  const rules = [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }];
  const subjects = [{ apiGroup: RBAC, kind: "User", name: "alice" }];
  const admin = { apiGroup: RBAC, kind: "ClusterRole", name: "cluster-admin" };
  const chartHook = { "helm.sh/hook": "pre-install" };

  it.each<[string, JsonObject, string]>([
    [
      "by a role with more rights",
      { source: inline(object(`${RBAC}/v1`, "Role", "all", { rules })) },
      `may not escalate roles.${RBAC} all in namespace ${SHOP}`,
    ],
    [
      "by a binding to cluster-admin",
      { source: inline(object(`${RBAC}/v1`, "RoleBinding", "all", { roleRef: admin, subjects })) },
      `may not bind clusterroles.${RBAC} cluster-admin in namespace ${SHOP}`,
    ],
    [
      "by a role that calls itself a hook",
      { source: inline(object(`${RBAC}/v1`, "Role", "all", { rules, metadata: { annotations: chartHook } })) },
      `may not escalate roles.${RBAC} all in namespace ${SHOP}`,
    ],
    [
      "by a kind without a namespace",
      { source: inline(object(`${RBAC}/v1`, "ClusterRole", "all", { rules })) },
      `may not distribute clusterroles.${RBAC}`,
    ],
    [
      "by an object in another namespace",
      { source: inline(object("v1", "ConfigMap", "theirs", { metadata: { namespace: VAULT } })) },
      `may not distribute configmaps in namespace ${VAULT}`,
    ],
    [
      "by another target namespace",
      { source: inline(configMap("mine", {})), targetNamespace: VAULT },
      `may not distribute namespaces, distribute configmaps in namespace ${VAULT}`,
    ],
    [
      "by the account of another namespace",
      { source: inline(configMap("mine", {})), serviceAccountName: "default" },
      `ServiceAccount ${SHOP}/default may not distribute configmaps in namespace ${SHOP}`,
    ],
    [
      "by a workload that would run as another account",
      { source: inline(object("v1", "Pod", "run", { spec: { serviceAccountName: "admin", containers: [] } })) },
      `may not distribute pods in namespace ${SHOP}`,
    ],
    [
      "by a copy on the hub whose replicas Karmada divides",
      {
        source: inline(configMap("mine", { a: "b" })),
        replicas: [{ kind: "ConfigMap", name: "mine", by: "Scheduler", total: 1 }],
      },
      `may not create configmaps in namespace ${SHOP}`,
    ],
  ])("%s", async (_, spec, missing) => {
    expect((await create(spec)).message).toBe("");
    await says("Forbidden");
    expect(status().message).toContain(missing);
    expect(status().clusters).toBeUndefined();
    expect(await inMember("theirs", VAULT)).toBeUndefined();
  });
});

describe("a request that names what is not the tenant's own is refused by the hub", () => {
  it.each<[string, JsonObject, string]>([
    [
      "an account of another namespace",
      { source: inline(configMap("mine", {})), serviceAccountName: `${VAULT}:deployer` },
      "spec.serviceAccountName",
    ],
    [
      "values from another namespace",
      { source: { helm: { ...CHART, valuesFrom: [{ secret: `${VAULT}/keys`, key: "a" }] } } },
      "spec.source.helm.valuesFrom",
    ],
    [
      "credentials from another namespace",
      { source: { helm: { ...CHART, credentials: { secret: `${VAULT}/keys` } } } },
      "secret",
    ],
  ])("%s", async (_, spec, field) => {
    const { status: code, message } = await create(spec);
    expect([400, 403, 422]).toContain(code);
    expect(message).toContain(field);
  });
});

describe("a source that reaches for something else is refused, and nothing moves", () => {
  it.each<[string, JsonObject, string]>([
    [
      "clusters that the namespace may not use",
      { source: inline(configMap("mine", {})), clusters: { names: ["member3"] } },
      `namespace ${SHOP} may not use member3`,
    ],
  ])("%s", async (_, spec, said) => {
    await create(spec);
    await says("InvalidSpec");
    expect(status().message).toContain(said);
  });

  it.each<[string, JsonObject, string]>([
    [
      "a Secret of another namespace by lookup",
      { source: { helm: { ...CHART, values: { fault: "foreign" } } } },
      "Secret kube-system/admin is none of this application's own objects",
    ],
    [
      "values of a Secret that only another namespace has",
      { source: { helm: { ...CHART, valuesFrom: [{ secret: "keys", key: "a" }] } } },
      `Secret ${SHOP}/keys does not exist`,
    ],
    [
      "a name that leads elsewhere in a path",
      { source: { manifests: { configMap: "path-in-name" } } },
      'metadata.name "../../secrets/keys" of a ConfigMap is not allowed',
    ],
    [
      "a namespace that leads elsewhere in a path",
      { source: { manifests: { configMap: "path-in-namespace" } } },
      `metadata.namespace "../${VAULT}" of a ConfigMap is not allowed`,
    ],
    ["a patch that renames", patched({ op: "replace", path: "/metadata/name", value: "theirs" }), "may not rename"],
    ["a patch that moves", patched({ op: "add", path: "/metadata/namespace", value: VAULT }), "may not rename"],
    ["a patch that changes the kind", patched({ op: "replace", path: "/kind", value: "Secret" }), "may not rename"],
    ...[
      "https://127.0.0.1:1/",
      "https://localhost:1/",
      "https://[::1]:1/",
      "https://2130706433:1/",
      "https://[::ffff:127.0.0.1]:1/",
      "https://169.254.169.254/latest/",
      "https://[fe80::1]/",
      "https://0.0.0.0/",
    ].map((repository): [string, JsonObject, string] => [
      `an address of the controller's own machine: ${repository}`,
      { source: { helm: { repository, chart: "odd" } } },
      "not allowed",
    ]),
  ])("%s", async (_, spec, said) => {
    expect((await create(spec)).message).toBe("");
    await says("RevisionRefused");
    expect(status().message).toContain(said);
    expect(await inMember("mine")).toBeUndefined();
  });
});

describe("marks that a tenant sets count for nothing", () => {
  const marks = {
    "work.karmada.io/conflict-resolution": "overwrite",
    "lockstep.karmada.io/epoch": "77",
    "lockstep.karmada.io/app-name": "theirs",
  };

  beforeAll(async () => {
    const namespaces = resource({ apiVersion: "v1", kind: "Namespace", plural: "namespaces", namespaced: false });
    const member = world.fleet.client("member1");
    const known = await world.ask(member.find(namespaces, { name: SHOP }));
    if (!known) await world.ask(member.create(namespaces, object("v1", "Namespace", SHOP) as never));
    const metadata = { name: "theirs", namespace: SHOP };
    const theirs = { apiVersion: "v1", kind: "ConfigMap", metadata, data: { a: "theirs" } };
    await world.ask(member.create(CONFIG_MAPS, theirs));
  });

  it.each<[string, JsonObject]>([
    [
      "in an object",
      { source: inline({ ...configMap("theirs", { a: "mine" }), metadata: { name: "theirs", annotations: marks } }) },
    ],
    [
      "in a patch",
      {
        source: inline(configMap("theirs", { a: "mine" })),
        overrides: [
          {
            clusters: { names: ["member1"] },
            patches: [
              {
                target: { kind: "ConfigMap", name: "theirs" },
                patch: [{ op: "add", path: "/metadata/annotations", value: marks }],
              },
            ],
          },
        ],
      },
    ],
  ])("%s: an object of another owner is not written over", async (_, spec) => {
    expect((await create(spec)).message).toBe("");
    await world.until("it stops", () => status().phase === "Halted");
    // Lockstep's own look at the cluster, or Karmada's refusal while Lockstep may not look there yet.
    expect(status().message).toMatch(/it exists and was not made by this application|already exists in the cluster/);
    expect((await inMember("theirs"))?.data).toEqual({ a: "theirs" });
  });

  it.each(["the object", "a patch"])("%s: what is written has the marks of its own application only", async (where) => {
    const name = `own-${count}`;
    const metadata = { labels: { [OWNER_LABEL]: "another" }, annotations: marks };
    const target = { kind: "ConfigMap", name };
    const patch = Object.entries(metadata).map(([field, value]) => ({ op: "add", path: `/metadata/${field}`, value }));
    await create(
      where === "the object"
        ? { source: inline({ ...configMap(name, { a: "b" }), metadata: { name, ...metadata } }) }
        : {
            source: inline(configMap(name, { a: "b" })),
            overrides: [{ clusters: { names: ["member1"] }, patches: [{ target, patch }] }],
          },
    );
    await world.until("it is settled", () => status().phase === "Settled");
    const found = (await inMember(name))?.metadata;
    expect(found?.labels?.[OWNER_LABEL]).not.toBe("another");
    expect(found?.annotations?.["work.karmada.io/conflict-resolution"]).toBeUndefined();
    expect(found?.annotations?.["lockstep.karmada.io/app-name"]).toBeUndefined();
    expect(found?.annotations?.["lockstep.karmada.io/epoch"]).not.toBe("77");
  });
});
