/** Whole applications on the embedded fleet: deployed in order, updated, undone, deleted. */
import { afterEach, expect, it } from "vitest";
import { SchemaCache } from "../apiserver/index.ts";
import { statefulSet } from "../engine/testing/contract/index.ts";
import { type KubeObject, type Resource, resource } from "../kube/index.ts";
import { isJsonObject, type JsonObject } from "../runtime/index.ts";
import {
  application,
  configMap,
  DISTRIBUTED_APPLICATIONS,
  inline,
  rows,
  settle,
  statusOf,
} from "./testing/application.ts";
import { PodRecorder, World } from "./testing/world.ts";

const MEMBERS = ["member1", "member2", "member3"];
const schemas = new SchemaCache();
const kind = (apiVersion: string, name: string, plural: string): Resource =>
  resource({ apiVersion, kind: name, plural, namespaced: true });
const CONFIG_MAPS = kind("v1", "ConfigMap", "configmaps");
const STATEFULSETS = kind("apps/v1", "StatefulSet", "statefulsets");
const AT = { namespace: "default", name: "shop" };

let world = new World(71, { schemas, members: MEMBERS });
afterEach(() => world.stop());

async function begin(): Promise<PodRecorder> {
  world = new World(71, { schemas, members: MEMBERS });
  await world.start();
  return new PodRecorder(world.fleet);
}

function web(image: string, replicas = 1): JsonObject {
  const { apiVersion, kind: of, spec } = statefulSet("web", replicas, image);
  return { apiVersion, kind: of, metadata: { name: "web" }, spec: isJsonObject(spec) ? spec : {} };
}

function shop(image: string, more: JsonObject = {}, ...others: JsonObject[]): KubeObject {
  const source = inline(configMap("settings", { image }), web(image), ...others);
  return application("shop", { source, clusters: { names: MEMBERS }, revisionSettleSeconds: 0, ...more });
}

const settled = () => settle(world, "shop");
const inMember = (member: string, of: Resource, name: string) =>
  world.ask(world.fleet.client(member).find(of, { namespace: "default", name }));
const holders = async (of: Resource, name: string) => {
  const found: string[] = [];
  for (const member of MEMBERS) if (await inMember(member, of, name)) found.push(member);
  return found;
};

it("an application is deployed cluster by cluster, each healthy before the next", async () => {
  const pods = await begin();
  await world.apply(shop("web:1"));
  await settled();
  expect(pods.order).toEqual(["member1/web-0", "member2/web-0", "member3/web-0"]);
  const { clusters, objects, display, history, workloads } = statusOf(world, "shop");
  expect(display).toEqual({ clusters: "3/3", ready: "6/6" });
  expect(rows(clusters).map(({ name, phase }) => `${name} ${phase}`)).toEqual(MEMBERS.map((name) => `${name} Settled`));
  expect(rows(objects).map(({ kind: of, name, health }) => `${of} ${name} ${health}`)).toEqual([
    "ConfigMap settings Healthy",
    "StatefulSet web Healthy",
  ]);
  expect(history).toHaveLength(1);
  const shares = MEMBERS.map((name) => ({ name, replicas: 1, ready: 1 }));
  expect(workloads).toEqual([{ kind: "StatefulSet", name: "web", total: 3, ready: 3, clusters: shares }]);
});

it("with the shipped policies, objects of any kind and another namespace are distributed, each Work marked", async () => {
  await begin();
  const rules = [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }];
  const role = {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: { name: "shop-reader" },
    rules,
  };
  await world.apply(shop("web:1", { targetNamespace: "shop" }, role));
  await settled();
  const roles = resource({ apiVersion: role.apiVersion, kind: role.kind, plural: "clusterroles", namespaced: false });
  for (const member of MEMBERS) {
    const client = world.fleet.client(member);
    expect(await world.ask(client.find(roles, { name: "shop-reader" }))).toMatchObject({ rules });
    expect(await world.ask(client.find(CONFIG_MAPS, { namespace: "shop", name: "settings" }))).toBeDefined();
  }
  const { items } = await world.ask(world.hub.listAll(kind("work.karmada.io/v1alpha1", "Work", "works")));
  const kinds = new Set(items.map(({ metadata }) => metadata.annotations?.["lockstep.karmada.io/app-kind"]));
  expect([...kinds]).toEqual(["DistributedApplication"]);
});

it("an update goes in order, prunes last, and an undo goes back", async () => {
  const pods = await begin();
  await world.apply(shop("web:1", {}, configMap("old", { a: "1" })));
  await settled();
  const first = String(statusOf(world, "shop").revision);
  pods.expect(3);
  await world.apply(shop("web:2", {}, configMap("new", { a: "1" })));
  await settled();
  expect(pods.worst).toBe(1);
  expect(pods.order).toEqual(["member1/web-0", "member2/web-0", "member3/web-0"]);
  expect(await holders(CONFIG_MAPS, "old")).toEqual([]);
  expect(await holders(CONFIG_MAPS, "new")).toEqual(MEMBERS);
  await world.apply(shop("web:2", { undo: { to: first, at: "2030-01-01T00:00:00Z" } }, configMap("new", { a: "1" })));
  await settled();
  expect(Object.values(pods.images())).toEqual(["web:1", "web:1", "web:1"]);
  expect(await holders(CONFIG_MAPS, "new")).toEqual([]);
  expect(statusOf(world, "shop")).toMatchObject({ revision: first });
});

it("deleting an application deletes its objects, and nothing else", async () => {
  await begin();
  await world.apply(shop("web:1"));
  await settled();
  await world.ask(world.hub.delete(DISTRIBUTED_APPLICATIONS, AT));
  const isGone = () =>
    world.fleet.hubObject("apps.karmada.io/distributedapplications", "default", "shop") === undefined;
  await world.until("shop is gone", isGone);
  expect(await holders(STATEFULSETS, "web")).toEqual([]);
  expect(await holders(CONFIG_MAPS, "settings")).toEqual([]);
});

it("deletionPolicy Release leaves everything running", async () => {
  const pods = await begin();
  await world.apply(shop("web:1", { deletionPolicy: "Release" }));
  await settled();
  pods.expect(3);
  await world.ask(world.hub.delete(DISTRIBUTED_APPLICATIONS, AT));
  const isGone = () =>
    world.fleet.hubObject("apps.karmada.io/distributedapplications", "default", "shop") === undefined;
  await world.until("shop is gone", isGone);
  expect(await holders(STATEFULSETS, "web")).toEqual(MEMBERS);
  expect(pods.worst).toBe(0);
});

const isReason = (reason: string) => () => statusOf(world, "shop").reason === reason;
const message = () => String(statusOf(world, "shop").message);

it("nothing moves until the ServiceAccount may distribute everything, and all that is missing is listed", async () => {
  world = new World(72, { schemas, members: MEMBERS, authorizer: "RBAC" });
  await world.start();
  await world.apply(shop("web:1"));
  await world.until("it is forbidden", isReason("Forbidden"));
  expect(message()).toContain(
    "ServiceAccount default/default may not distribute configmaps in namespace default, distribute statefulsets.apps in namespace default",
  );
  expect(await holders(CONFIG_MAPS, "settings")).toEqual([]);
  const rbac = { apiVersion: "rbac.authorization.k8s.io/v1", metadata: { name: "deployer", namespace: "default" } };
  const resources = ["configmaps", "statefulsets"];
  await world.apply({ ...rbac, kind: "Role", rules: [{ apiGroups: ["", "apps"], resources, verbs: ["distribute"] }] });
  await world.apply({
    ...rbac,
    kind: "RoleBinding",
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "deployer" },
    subjects: [{ kind: "ServiceAccount", name: "default", namespace: "default" }],
  });
  await settled();
});

it("an object that exists is not written over, until adopt says so; then it is never deleted", async () => {
  await begin();
  const theirs = {
    ...configMap("settings", { image: "theirs" }),
    metadata: { name: "settings", namespace: "default" },
  };
  const member = world.fleet.client("member2");
  await world.ask(member.create(CONFIG_MAPS, theirs));
  await world.apply(shop("web:1"));
  await world.until("it has stopped", () => statusOf(world, "shop").phase === "Halted");
  expect(message()).toContain("it exists and was not made by this application; delete it, or set adopt: true");
  expect((await inMember("member2", CONFIG_MAPS, "settings"))?.data).toEqual({ image: "theirs" });
  expect(await inMember("member1", CONFIG_MAPS, "settings")).toBeDefined();
  await world.apply(shop("web:1", { adopt: true, resumedAt: "2030-01-01T00:00:00Z" }));
  await settled();
  expect((await inMember("member2", CONFIG_MAPS, "settings"))?.data).toEqual({ image: "web:1" });
  await world.ask(world.hub.delete(DISTRIBUTED_APPLICATIONS, AT));
  const isGone = () =>
    world.fleet.hubObject("apps.karmada.io/distributedapplications", "default", "shop") === undefined;
  await world.until("shop is gone", isGone);
  expect(await holders(CONFIG_MAPS, "settings")).toEqual(["member2"]);
});

it("a source that cannot be used leaves the running revision untouched", async () => {
  const pods = await begin();
  await world.apply(shop("web:1"));
  await settled();
  pods.expect(3);
  const twice = shop("web:2", {}, configMap("settings", { image: "again" }));
  await world.apply(twice);
  await world.until("it is refused", isReason("RevisionRefused"));
  expect(message()).toContain("v1 ConfigMap default/settings is in the source twice");
  await world.apply(shop("web:2", {}, { apiVersion: "example.io/v1", kind: "Unknown", metadata: { name: "x" } }));
  await world.until("it is refused again", () => message().includes("know this kind"));
  expect(pods.worst).toBe(0);
});

it("[A24] what a member's API server would refuse is known before anything moves, with its own message", async () => {
  const pods = await begin();
  await world.apply(shop("web:1"));
  await settled();
  for (const member of MEMBERS) await world.giveAccess(member);
  const { revision } = statusOf(world, "shop");
  pods.expect(3);
  const longLabel = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "bad", labels: { "not a key": "x" } } };
  await world.apply(shop("web:2", {}, longLabel));
  await world.until("it is refused", isReason("RevisionRefused"));
  expect(message()).toContain("a dry run was refused, v1 ConfigMap default/bad: member");
  expect(statusOf(world, "shop").revision).toBe(revision);
  expect(pods.worst).toBe(0);
  expect(await holders(CONFIG_MAPS, "bad")).toEqual([]);
  await world.apply(shop("web:2"));
  await settled();
  expect(rows(statusOf(world, "shop").conditions)).toContainEqual(
    expect.objectContaining({ type: "DryRun", status: "True", reason: "Accepted" }),
  );
});

it("a number of replicas that no API server takes reaches the status with the member's message", async () => {
  await begin();
  await world.apply(shop("web:1", {}, { ...web("web:1", -1), metadata: { name: "less" } }));
  await world.until("the member's refusal is in the status", () => message().includes("default/less"));
  expect(message()).toContain("spec.replicas: Invalid value: -1");
  expect(rows(statusOf(world, "shop").workloads).map(({ name }) => name)).toEqual(["web"]);
});

it("[A24] without direct access the status says that nothing was tried", async () => {
  await begin();
  await world.apply(shop("web:1"));
  await settled();
  const tried = rows(statusOf(world, "shop").conditions).find(({ type }) => type === "DryRun");
  expect(tried).toMatchObject({ status: "False", reason: "NotTried" });
  expect(String(tried?.message)).toContain("not tried in member1, member2, member3");
});

it("[A25] an object that a user deletes in a member is sent again", async () => {
  await begin();
  await world.apply(shop("web:1"));
  await settled();
  await world.ask(world.fleet.client("member2").delete(CONFIG_MAPS, { namespace: "default", name: "settings" }));
  await world.clock.advance(10_000);
  expect(await holders(CONFIG_MAPS, "settings")).toEqual(MEMBERS);
});

it("[A26] a kind that only the source's own CRD knows is refused where the engine delivers kinds of the hub alone", async () => {
  await begin();
  const names = { kind: "Ticket", listKind: "TicketList", plural: "tickets", singular: "ticket" };
  const versions = [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }];
  const crd = {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "tickets.orders.example" },
    spec: { group: "orders.example", names, scope: "Namespaced", versions },
  };
  const ticket = { apiVersion: "orders.example/v1", kind: "Ticket", metadata: { name: "one" } };
  await world.apply(shop("web:1", {}, crd, ticket));
  await world.until("it is refused", isReason("RevisionRefused"));
  expect(message()).toContain("create CustomResourceDefinition tickets.orders.example on the hub");
});

it("a CustomResourceDefinition that a user deletes in a member comes back with its objects", async () => {
  await begin();
  const names = { kind: "Ticket", listKind: "TicketList", plural: "tickets", singular: "ticket" };
  const versions = [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }];
  const definition = {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "tickets.orders.example" },
    spec: { group: "orders.example", names, scope: "Namespaced", versions },
  };
  await world.apply(definition);
  const ticket = { apiVersion: "orders.example/v1", kind: "Ticket", metadata: { name: "one" } };
  await world.apply(shop("web:1", {}, definition, ticket));
  await settled();
  const crds = resource({
    apiVersion: definition.apiVersion,
    kind: definition.kind,
    plural: "customresourcedefinitions",
    namespaced: false,
  });
  const { api } = world.fleet.member("member1");
  const uid = () =>
    api.get("apiextensions.k8s.io/customresourcedefinitions", "", definition.metadata.name)?.metadata.uid;
  const first = uid();
  await world.ask(world.fleet.client("member1").delete(crds, definition.metadata));
  await world.until("it is there again", () => uid() !== undefined && uid() !== first);
  await world.until("so is its object", () => api.get("orders.example/tickets", "default", "one") !== undefined);
  await settled();
});

it("[A26] a source that gives a kind of the hub another plural is refused: rights are asked by plural", async () => {
  await begin();
  const names = { kind: "ConfigMap", plural: "harmless", singular: "harmless" };
  const swap = {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "harmless.rbac.authorization.k8s.io" },
    spec: {
      group: "rbac.authorization.k8s.io",
      names: { ...names, kind: "ClusterRole" },
      scope: "Cluster",
      versions: [{ name: "v1", served: true, storage: true }],
    },
  };
  const role = {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: { name: "all" },
    rules: [],
  };
  await world.apply(shop("web:1", {}, swap, role));
  await world.until("it is refused", isReason("RevisionRefused"));
  expect(message()).toContain("CustomResourceDefinition has harmless, cluster-scoped; the hub clusterroles");
});

it("overrides change what one cluster gets, and other clusters are not touched by them", async () => {
  const pods = await begin();
  const target = { kind: "StatefulSet", name: "web" };
  const patch = [{ op: "replace", path: "/spec/template/spec/containers/0/image", value: "web:special" }];
  const overrides = [{ clusters: { names: ["member2"] }, patches: [{ target, patch }] }];
  await world.apply(shop("web:1", { overrides }));
  await settled();
  expect(pods.images()).toEqual({ "member1/web-0": "web:1", "member2/web-0": "web:special", "member3/web-0": "web:1" });
});

it("replicas are divided by weight, and a new total moves without an outage", async () => {
  const pods = await begin();
  const replicas = (total: number) => [
    { kind: "StatefulSet", name: "web", total, weights: { member1: 2, member2: 1 } },
  ];
  await world.apply(shop("web:1", { replicas: replicas(3) }));
  await settled();
  expect(Object.keys(pods.images())).toEqual(["member1/web-0", "member1/web-1", "member2/web-0"]);
  await world.apply(shop("web:1", { replicas: replicas(6) }));
  await world.until("all six run", () => Object.keys(pods.images()).length === 6);
  await settled();
  expect(rows(statusOf(world, "shop").workloads)).toMatchObject([
    { kind: "StatefulSet", name: "web", total: 6, ready: 6 },
  ]);
});

it("a workload in spec.replicas that the source does not have, or has twice, is refused before anything moves", async () => {
  await begin();
  await world.apply(shop("web:1", { replicas: [{ kind: "StatefulSet", name: "wep", total: 4 }] }));
  await world.until("it is refused", isReason("RevisionRefused"));
  expect(message()).toContain(
    "spec.replicas[0]: the source has no StatefulSet wep. Correct spec.replicas; the source has StatefulSet web.",
  );
  const second = { ...web("web:1"), metadata: { name: "web", namespace: "other" } };
  await world.apply(shop("web:1", { replicas: [{ kind: "StatefulSet", name: "web", total: 4 }] }, second));
  await world.until("it is refused", () => message().includes("the source has 2 objects StatefulSet web"));
  expect(await holders(CONFIG_MAPS, "settings")).toEqual([]);
  await world.apply(shop("web:1", { replicas: [{ kind: "StatefulSet", name: "web", total: 4 }] }));
  await settled();
});

it("[A16] [A17] a lost cluster's replicas run in the others, status says how many they lend, and they come back", async () => {
  const pods = await begin();
  const failover = { afterSeconds: 60 };
  await world.apply(shop("web:1", { replicas: [{ kind: "StatefulSet", name: "web", total: 6, failover }] }));
  await settled();
  const shares = () =>
    rows(rows(statusOf(world, "shop").workloads)[0]?.clusters).map(
      ({ name, ready, lent = 0 }) => `${name} ${ready}, ${lent} lent`,
    );
  const before = MEMBERS.map((name) => `${name} 2, 0 lent`);
  expect(shares()).toEqual(before);
  world.fleet.cut("member3");
  await world.until("the others have them", () => shares()[0] === "member1 3, 1 lent");
  expect(shares().slice(0, 2)).toEqual(["member1 3, 1 lent", "member2 3, 1 lent"]);
  expect(await world.events("shop")).toContainEqual(expect.stringContaining("FailedOver"));
  world.fleet.mend("member3");
  await world.until("they are back", () => JSON.stringify(shares()) === JSON.stringify(before));
  await settled();
  expect(Object.keys(pods.images())).toHaveLength(6);
});

it("[A16] [A17] what a cluster that is lost from the start would run runs in the others, and waits for no turn there", async () => {
  await begin();
  const ready = () => {
    const shares = rows(rows(statusOf(world, "shop").workloads)[0]?.clusters);
    const names = shares.map(({ name }) => String(name));
    expect(names).toEqual(MEMBERS.filter((member) => names.includes(member)));
    return MEMBERS.map((member) => shares.find(({ name }) => name === member)?.ready ?? 0).join(" ");
  };
  world.fleet.cut("member3");
  await world.until("its loss is known", () => {
    const cluster = world.fleet.hubObject("cluster.karmada.io/clusters", "", "member3");
    return JSON.stringify(cluster?.status).includes('"status":"False"');
  });
  const failover = { afterSeconds: 60 };
  const rollout = { soakSeconds: 300 };
  const divided = { replicas: [{ kind: "StatefulSet", name: "web", total: 6, failover }], rollout };
  await world.apply(shop("web:1", divided));
  await world.until("it begins", () => ready() === "2 0 0");
  await world.clock.advance(200_000);
  // The second one waits for its turn while the first one soaks: only the lost one's share is lent.
  expect(ready()).toBe("3 0 0");
  await world.until("both have their part", () => ready() === "3 3 0");
  world.fleet.mend("member3");
  await world.until("all have their own", () => ready() === "2 2 2");
  await settled();
});

it("[A23] an application whose lifetime has ended is torn down and deleted", async () => {
  await begin();
  await world.apply(shop("web:1", { lifetime: { ttlSeconds: 600 } }));
  await settled();
  expect(statusOf(world, "shop").expiresAt).toBeDefined();
  const isGone = () =>
    world.fleet.hubObject("apps.karmada.io/distributedapplications", "default", "shop") === undefined;
  await world.until("shop is gone", isGone);
  expect(await holders(STATEFULSETS, "web")).toEqual([]);
});

it("a new controller takes over where the old one stopped", async () => {
  const pods = await begin();
  await world.apply(shop("web:1"));
  await world.until("the first cluster runs", () => pods.order.length === 1);
  await world.stopController();
  world.startController();
  await settled();
  expect(pods.order).toEqual(["member1/web-0", "member2/web-0", "member3/web-0"]);
});

it("a cluster that the fleet does not have is named with the nearest one, and the others are served", async () => {
  await begin();
  await world.apply(shop("web:1", { clusters: { names: ["member1", "membr2"] } }));
  await world.until("member1 is served", () => rows(statusOf(world, "shop").clusters)[0]?.phase === "Settled");
  const { phase, reason, message, clusters } = statusOf(world, "shop");
  expect(`${phase} ${reason}`).toBe("Waiting ClusterNotInFleet");
  const said = "the fleet has no cluster of that name (it has member1, member2, member3). If you mean member2, correct";
  expect(message).toContain(`membr2: ${said} spec.clusters`);
  expect(rows(clusters)[1]).toMatchObject({ name: "membr2", phase: "Pending", reason: "ClusterNotInFleet" });
});

it("a selector that matches no cluster says so", async () => {
  await begin();
  await world.apply(shop("web:1", { clusters: { selector: { matchLabels: { tier: "gold" } } } }));
  await world.until("it says so", () => statusOf(world, "shop").reason === "NoClusters");
  expect(statusOf(world, "shop").message).toContain(
    "spec.clusters matches no cluster. Choose a cluster that the fleet",
  );
});

it("a field that the kind does not have is refused by name before anything moves", async () => {
  const pods = await begin();
  for (const member of MEMBERS) await world.giveAccess(member);
  const metadata = { name: "typo" };
  const template = { metadata: { labels: { app: "typo" } }, spec: { containers: [{ name: "main", image: "web:1" }] } };
  const spec = { replica: 2, selector: { matchLabels: { app: "typo" } }, template };
  await world.apply(shop("web:1", {}, { apiVersion: "apps/v1", kind: "Deployment", metadata, spec }));
  await world.until("it is refused", () => statusOf(world, "shop").reason === "RevisionRefused");
  expect(statusOf(world, "shop").message).toContain('unknown field "spec.replica"');
  expect(pods.order).toEqual([]);
});

it("Events tell a rollout: started, each wave, finished, and a failed step with the way back", async () => {
  await begin();
  const rollout = { waves: [{ clusters: ["member1"] }], onFailure: "Rollback", progressDeadlineSeconds: 5 };
  await world.apply(shop("web:1", { rollout }));
  await settled();
  const first = String(statusOf(world, "shop").revision);
  const told = async () => (await world.events("shop")).map((event) => event.replaceAll(first, "FIRST")).sort();
  const before = [
    "RolloutFinished revision FIRST runs in 3 clusters, healthy",
    "RolloutStarted revision FIRST is rolled out",
    "WaveFinished wave 1 of 1 has revision FIRST",
  ];
  expect(await told()).toEqual(before);
  await world.apply(shop("broken:1", { rollout }));
  await world.until("it is back", () => statusOf(world, "shop").reason === "RevisionRejected");
  const { rejectedRevision } = statusOf(world, "shop");
  const later = (await told()).filter((event) => !before.includes(event));
  expect(later.map((event) => event.replaceAll(String(rejectedRevision), "SECOND"))).toEqual([
    expect.stringMatching(/^RevisionRejected revision SECOND failed \(member1: .*\); the clusters stay on FIRST/),
    expect.stringMatching(/^RolledBack revision SECOND failed; the clusters return to FIRST. member1: no progress/),
    "RolloutStarted revision SECOND is rolled out instead of FIRST",
  ]);
});

it("[R10] another controller keeps the account of a rollout that is over", async () => {
  await begin();
  await world.apply(shop("web:1"));
  await settled();
  await world.clock.advance(10_000);
  const { history } = statusOf(world, "shop");
  expect(rows(history)[0]).toMatchObject({ record: expect.any(String) });
  await world.stopController();
  world.startController();
  await world.clock.advance(60_000);
  expect(statusOf(world, "shop").history).toEqual(history);
});
