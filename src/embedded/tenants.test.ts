/** A hub shared with unknown tenants: what a tenant with `edit` in one namespace can do to the rest. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { SchemaCache } from "../apiserver/index.ts";
import { type KubeObject, type Resource, resource } from "../kube/index.ts";
import { isJsonObject, type JsonObject } from "../runtime/index.ts";
import { CROSS_CLUSTER_STATEFULSETS, World } from "./testing/world.ts";

const schemas = new SchemaCache();
const TENANT = "shop";
const MEMBERS = ["member1", "member2", "member3"];

const core = (kind: string, plural: string, namespaced = true) =>
  resource({ apiVersion: "v1", kind, plural, namespaced });
const NAMESPACES = core("Namespace", "namespaces", false);
const SECRETS = core("Secret", "secrets");
const REVISIONS = resource({
  apiVersion: "apps/v1",
  kind: "ControllerRevision",
  plural: "controllerrevisions",
  namespaced: true,
});
const LEDGERS = resource({
  apiVersion: "apps.karmada.io/v1alpha1",
  kind: "CrossClusterLedger",
  plural: "crossclusterledgers",
  namespaced: true,
});

let world: World;

beforeEach(async () => {
  world = new World(51, { schemas, members: MEMBERS });
  await world.start();
  await world.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: TENANT } });
});
afterEach(() => world.stop());

const TOPOLOGY = { clusters: MEMBERS.map((name) => ({ name, replicas: 1 })) };

function crossCluster(spec: JsonObject = {}): KubeObject {
  return {
    apiVersion: "apps.karmada.io/v1alpha1",
    kind: "CrossClusterStatefulset",
    metadata: { name: "web", namespace: TENANT },
    spec: {
      resourceSelector: { apiVersion: "apps/v1", kind: "StatefulSet", name: "web" },
      topology: TOPOLOGY,
      ...spec,
    },
  };
}

function template(image: string, volumes: readonly JsonObject[] = []): KubeObject {
  const labels = { app: "web" };
  return {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { name: "web", namespace: TENANT, labels: { "lockstep.karmada.io/managed": "true" } },
    spec: {
      replicas: 3,
      serviceName: "web",
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: "app", image }], volumes: [...volumes] } },
    },
  };
}

function found(): KubeObject | undefined {
  return world.fleet.hubObject("apps.karmada.io/crossclusterstatefulsets", TENANT, "web");
}

function status(): JsonObject {
  const object = found();
  return object && isJsonObject(object.status) ? object.status : {};
}

const isSettled = () => status().phase === "Settled" && status().readyReplicas === 3;

async function deploy(spec: JsonObject = {}): Promise<void> {
  await world.apply(crossCluster(spec));
  await world.apply(template("app:1"));
  await world.until("three instances are settled", isSettled);
}

async function list(of: Resource, namespace: string): Promise<KubeObject[]> {
  return (await world.ask(world.hub.listAll(of, { namespace }))).items;
}

function memberSets(): (KubeObject | undefined)[] {
  return MEMBERS.map((name) => world.fleet.member(name).api.get("apps/statefulsets", TENANT, "web"));
}

const nothingIsLeft = async () => {
  expect(await list(LEDGERS, "lockstep-system")).toEqual([]);
  expect((await list(SECRETS, "lockstep-system")).map(({ metadata }) => metadata.name)).toEqual([]);
};

describe("from a namespace's editor to the members", () => {
  it("a rewritten copy of a revision reaches no member: the controller never reads it", async () => {
    await deploy();
    const [copy] = await list(REVISIONS, TENANT);
    if (!copy || !isJsonObject(copy.data) || !isJsonObject(copy.data.content)) throw new Error("no readable copy");
    const binding = {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: { name: "mine" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
      subjects: [{ kind: "ServiceAccount", name: "default", namespace: TENANT }],
    };
    const data = { ...copy.data, content: { ...copy.data.content, dependencies: [binding] } };
    const { name, namespace, labels } = copy.metadata;
    await world.ask(world.hub.delete(REVISIONS, copy.metadata));
    const forged = {
      apiVersion: copy.apiVersion,
      kind: copy.kind,
      metadata: { name, namespace, labels },
      revision: 1,
      data,
    };
    await world.ask(world.hub.create(REVISIONS, forged as KubeObject));
    await world.stopController();
    world.startController();
    await world.apply(template("app:2"));
    await world.until(
      "the update is through",
      () => isSettled() && status().currentRevision === status().updateRevision,
    );
    await world.apply(crossCluster({ undo: { to: copy.metadata.name, at: "2030-01-01T00:00:00Z" } }));
    await world.until("the undo is through", () => isSettled() && status().currentRevision === copy.metadata.name);
    for (const name of MEMBERS) {
      const bindings = world.fleet.member(name).api.list("rbac.authorization.k8s.io/clusterrolebindings");
      expect(bindings.filter(({ metadata }) => metadata.name === "mine")).toEqual([]);
    }
  });

  it("clusters that the namespace may no longer use get nothing new, and updates and deletion still work", async () => {
    await deploy();
    const allowed = (clusters: string) =>
      world.apply({
        apiVersion: "v1",
        kind: "Namespace",
        metadata: { name: TENANT, annotations: { "lockstep.karmada.io/allowed-clusters": clusters } },
      });
    await allowed("member1,member2");
    const message = () => String(status().message ?? "");
    await world.until("the refusal is shown", () => message().includes("namespace shop may not use member3"));
    expect(status().reason).toBe("ScheduleUnknown");
    expect(status().readyReplicas).toBe(3);
    await world.apply(template("app:2"));
    const images = () => memberSets().map((set) => JSON.stringify(set).includes('"app:2"'));
    await world.until(
      "all three clusters are updated",
      () => images().every(Boolean) && status().updatedReplicas === 3,
    );
    await allowed("*");
    await world.until("it is settled again", isSettled);
  });

  it("the tenant's namespace contains only readable copies of what Lockstep stores", async () => {
    await deploy();
    expect(await list(LEDGERS, TENANT)).toEqual([]);
    expect(await list(SECRETS, TENANT)).toEqual([]);
    expect(await list(LEDGERS, "lockstep-system")).toHaveLength(1);
  });

  it("a deleted ledger is rebuilt from the dispatch objects, and nothing moves", async () => {
    await deploy();
    const before = memberSets().map((set) => set?.metadata.uid);
    await world.stopController();
    const [ledger] = await list(LEDGERS, "lockstep-system");
    if (!ledger) throw new Error("no ledger");
    await world.ask(world.hub.delete(LEDGERS, ledger.metadata));
    world.startController();
    const isBack = () =>
      world.fleet.hubObject("apps.karmada.io/crossclusterledgers", "lockstep-system", ledger.metadata.name);
    await world.until("there is a ledger again", () => isBack() !== undefined && isSettled());
    await world.apply(template("app:2"));
    await world.until("an update goes through", () => isSettled() && status().updatedReplicas === 3);
    expect(memberSets().map((set) => set?.metadata.uid)).toEqual(before);
  });
});

describe("kubectl delete namespace ends", () => {
  const gone = () => world.fleet.hubObject("/namespaces", "", TENANT) === undefined;
  const deleteNamespace = () => world.ask(world.hub.delete(NAMESPACES, { name: TENANT }));

  it("with the default policy, and every cluster keeps what it runs", async () => {
    await deploy();
    await deleteNamespace();
    await world.until("the namespace is gone", gone);
    for (const set of memberSets()) expect(set?.status).toMatchObject({ readyReplicas: 1 });
    await nothingIsLeft();
  });

  it("with Teardown, and no cluster keeps an instance", async () => {
    await deploy({ deletionPolicy: "Teardown" });
    await deleteNamespace();
    await world.until("the namespace is gone", gone);
    expect(memberSets()).toEqual([undefined, undefined, undefined]);
    await nothingIsLeft();
  });

  for (const deletionPolicy of ["Release", "Teardown"]) {
    it(`in the middle of an update, with ${deletionPolicy}`, async () => {
      await deploy({ deletionPolicy });
      await world.apply(template("app:broken"));
      await world.until("the update is under way", () => status().phase === "Updating");
      await deleteNamespace();
      await world.until("the namespace is gone", gone);
      expect(memberSets().filter(Boolean)).toHaveLength(deletionPolicy === "Release" ? 3 : 0);
      await nothingIsLeft();
    });

    it(`with a spec that is no longer valid, and ${deletionPolicy}`, async () => {
      await deploy({ deletionPolicy });
      const windows = { maintenanceWindows: [{ cron: "0 2 * * *", durationSeconds: 60, timeZone: "Mars/Olympus" }] };
      const object = found();
      if (!object || !isJsonObject(object.spec)) throw new Error("no object");
      const updateStrategy = { type: "RollingUpdate", rollingUpdate: windows };
      const spec = { ...object.spec, updateStrategy };
      await world.ask(world.hub.update(CROSS_CLUSTER_STATEFULSETS, { ...object, spec }));
      await world.until("the spec is refused", () => status().reason === "InvalidSpec");
      await world.stopController();
      world.startController();
      await deleteNamespace();
      await world.until("the namespace is gone", gone);
      expect(memberSets().filter(Boolean)).toHaveLength(deletionPolicy === "Release" ? 3 : 0);
      await nothingIsLeft();
    });
  }

  it("also after the ledger has been deleted by hand", async () => {
    await deploy({ deletionPolicy: "Teardown" });
    await world.stopController();
    const [ledger] = await list(LEDGERS, "lockstep-system");
    if (ledger) await world.ask(world.hub.delete(LEDGERS, ledger.metadata));
    world.startController();
    await deleteNamespace();
    await world.until("the namespace is gone", gone);
    expect(memberSets()).toEqual([undefined, undefined, undefined]);
  });

  it("of an object that never had a template", async () => {
    await world.apply(crossCluster());
    await world.until("it waits for its template", () => status().reason === "TemplateMissing");
    await deleteNamespace();
    await world.until("the namespace is gone", gone);
    await nothingIsLeft();
  });
});

describe("what is stored for an owner that is gone", () => {
  it("is deleted, even if its finalizer was removed by hand while no controller ran", async () => {
    await deploy();
    await world.stopController();
    const object = found();
    const [ledger] = await list(LEDGERS, "lockstep-system");
    if (!object || !ledger) throw new Error("no object");
    const metadata = { ...object.metadata, finalizers: [] };
    await world.ask(world.hub.update(CROSS_CLUSTER_STATEFULSETS, { ...object, metadata }));
    await world.ask(world.hub.delete(CROSS_CLUSTER_STATEFULSETS, object.metadata));
    world.startController();
    const of = "apps.karmada.io/crossclusterledgers";
    const kept = () => world.fleet.hubObject(of, "lockstep-system", ledger.metadata.name);
    await world.until("its ledger is gone", () => kept() === undefined);
    await nothingIsLeft();
    for (const set of memberSets()) expect(set?.status).toMatchObject({ readyReplicas: 1 });
  });
});

describe("failures are visible", () => {
  it("a reconcile that keeps failing reports the reason in status", async () => {
    const name = "no-secrets.example.io";
    await world.apply({
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingAdmissionPolicy",
      metadata: { name },
      spec: {
        matchConstraints: {
          resourceRules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["secrets"] }],
        },
        validations: [{ expression: "false", message: "no Secrets today" }],
      },
    });
    await world.apply({
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingAdmissionPolicyBinding",
      metadata: { name },
      spec: { policyName: name, validationActions: ["Deny"] },
    });
    await world.apply(crossCluster());
    await world.apply(template("app:1"));
    await world.until("it is reported", () => status().reason === "ReconcileFailed");
    expect(status().message).toContain("no Secrets today");
  });

  it("a revision with damaged content is named in status, and no member is written to", async () => {
    await deploy();
    await world.stopController();
    const [kept] = await list(SECRETS, "lockstep-system");
    if (!kept) throw new Error("no revision");
    await world.ask(world.hub.delete(SECRETS, kept.metadata));
    world.startController();
    await world.apply(
      crossCluster({ topology: { clusters: [{ name: "member1", replicas: 2 }, ...TOPOLOGY.clusters.slice(1)] } }),
    );
    await world.until("it is reported", () => JSON.stringify(status()).includes("cannot be used"));
    expect(JSON.stringify(status())).toContain(`Secret lockstep-system/${kept.metadata.name} is missing`);
  });

  it("a ConfigMap that is too large is refused by name, and running instances continue", async () => {
    await deploy();
    const data = { key: "x".repeat(1_000_000), more: "\u0001".repeat(100_000) };
    await world.apply({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "big", namespace: TENANT }, data });
    await world.apply(template("app:2", [{ name: "big", configMap: { name: "big" } }]));
    await world.until("it is refused", () => status().reason === "RevisionRefused");
    expect(status().message).toContain(`ConfigMap ${TENANT}/big has`);
    expect(status().readyReplicas).toBe(3);
  });

  it("[I18] a template whose annotations leave no room for Lockstep's is refused, and running instances continue", async () => {
    await deploy();
    const large = template("app:2");
    const annotations = { "example.com/notes": "x".repeat(230_000) };
    await world.apply({ ...large, metadata: { ...large.metadata, annotations } });
    await world.until("it is refused", () => status().reason === "RevisionRefused");
    expect(status().message).toContain("leave room for Lockstep's own annotations");
    expect(status().readyReplicas).toBe(3);
    await world.apply(template("app:2"));
    await world.until("it is updated", () => status().phase === "Settled" && status().reason === undefined);
  });
});
