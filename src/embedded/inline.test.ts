/** The workload inline in spec.template: one object on the hub is the whole application. */
import { afterEach, expect, it } from "vitest";
import { SchemaCache } from "../apiserver/index.ts";
import { propagation, statefulSet, WORKS } from "../engine/testing/contract/index.ts";
import { type KubeObject, type Resource, resource } from "../kube/index.ts";
import { isJsonObject, type JsonObject } from "../runtime/index.ts";
import { CROSS_CLUSTER_STATEFULSETS, PodRecorder, World } from "./testing/world.ts";

const MEMBERS = ["member1", "member2", "member3"];
const SIZES = { member1: 2, member2: 2, member3: 1 };
const schemas = new SchemaCache();
const kind = (apiVersion: string, name: string, plural: string): Resource =>
  resource({ apiVersion, kind: name, plural, namespaced: true });
const STATEFULSETS = kind("apps/v1", "StatefulSet", "statefulsets");
const HOLDS = kind("policy.karmada.io/v1alpha1", "OverridePolicy", "overridepolicies");
const CONFIG_MAPS = kind("v1", "ConfigMap", "configmaps");
const PODS = kind("v1", "Pod", "pods");
const AT = { namespace: "default", name: "web" };

let world = new World(61, { schemas, members: MEMBERS });
afterEach(() => world.stop());

async function begin(): Promise<PodRecorder> {
  world = new World(61, { schemas, members: MEMBERS });
  await world.start();
  return new PodRecorder(world.fleet);
}

function crossCluster(spec: JsonObject, name = "web"): KubeObject {
  const clusters = Object.entries(SIZES).map(([cluster, replicas]) => ({ name: cluster, replicas }));
  return {
    apiVersion: "apps.karmada.io/v1alpha1",
    kind: "CrossClusterStatefulset",
    metadata: { name, namespace: "default" },
    spec: { topology: { clusters }, ...spec },
  };
}

/** As in a person's file: without namespace and defaults. */
function inline(image: string, metadata: JsonObject = {}): JsonObject {
  const { apiVersion, kind: of, spec } = statefulSet("web", 5, image);
  return { template: { apiVersion, kind: of, metadata, spec: isJsonObject(spec) ? spec : {} } };
}

const BY_NAME = { resourceSelector: { apiVersion: "apps/v1", kind: "StatefulSet", name: "web" } };
const settled = (name = "web") => world.until(`${name} is settled`, () => world.isSettled(name, 5));

async function podUids(): Promise<string[]> {
  const lists = MEMBERS.map((member) => world.fleet.client(member).listAll(PODS, { namespace: "default" }));
  const found = (await world.ask(Promise.all(lists))).flatMap(({ items }) => items);
  return found.map(({ metadata }) => String(metadata.uid)).sort();
}

async function inMembers(of: Resource, name: string): Promise<string[]> {
  const found: string[] = [];
  for (const member of MEMBERS) {
    if (await world.ask(world.fleet.client(member).find(of, { namespace: "default", name }))) found.push(member);
  }
  return found;
}

it("one object deploys an application, in order, without a template, a policy or a hold on the hub", async () => {
  const pods = await begin();
  await world.apply(crossCluster(inline("web:1")));
  await settled();
  expect(pods.order.map((each) => each.split("/")[0])).toEqual(["member1", "member1", "member2", "member2", "member3"]);
  expect(await world.ask(world.hub.find(STATEFULSETS, AT))).toBeUndefined();
  expect((await world.ask(world.hub.listAll(HOLDS))).items).toEqual([]);
  expect(world.status("web").observedTemplate).toMatchObject({
    uid: world.statefulset("web")?.metadata.uid,
    generation: world.statefulset("web")?.metadata.generation,
  });
});

it("[R10] another controller keeps the account of a rollout that is over", async () => {
  await begin();
  await world.apply(crossCluster(inline("web:1")));
  await settled();
  await world.clock.advance(10_000);
  const { history } = world.status("web");
  expect(history).toMatchObject([{ record: expect.any(String) }]);
  await world.stopController();
  world.startController();
  await world.clock.advance(60_000);
  expect(world.status("web").history).toEqual(history);
});

it("an edit of spec.template rolls out one instance at a time, and an undo goes back", async () => {
  const pods = await begin();
  await world.apply(crossCluster(inline("web:1")));
  await settled();
  const first = String(world.status("web").updateRevision);
  pods.expect(5);
  await world.apply(crossCluster(inline("web:2")));
  await settled();
  expect(new Set(Object.values(pods.images()))).toEqual(new Set(["web:2"]));
  expect(pods.worst).toBe(1);
  await world.apply(crossCluster({ ...inline("web:2"), undo: { to: first, at: "2026-01-01T00:00:00Z" } }));
  await settled();
  expect(new Set(Object.values(pods.images()))).toEqual(new Set(["web:1"]));
  expect(world.status("web").updateRevision).toBe(first);
  await world.apply(crossCluster({ ...inline("web:3"), undo: { to: first, at: "2026-01-01T00:00:00Z" } }));
  await world.until("the new content is out", () => Object.values(pods.images()).every((image) => image === "web:3"));
  await settled();
});

it("a ConfigMap that the template names is snapshotted with it, and an edit of it is an update", async () => {
  await begin();
  const config = (value: string): KubeObject => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "settings", namespace: "default" },
    data: { value },
  });
  await world.apply(config("a"));
  const { template } = inline("web:1");
  const volumes = [{ name: "settings", configMap: { name: "settings" } }];
  const spec = { containers: [{ name: "app", image: "web:1" }], volumes };
  const named = { ...statefulSet("web", 5, "web:1") };
  const withVolume = {
    ...(isJsonObject(template) ? template : {}),
    spec: {
      ...(isJsonObject(named.spec) ? named.spec : {}),
      template: { metadata: { labels: { app: "web" } }, spec },
    },
  };
  await world.apply(crossCluster({ template: withVolume }));
  await settled();
  expect(await inMembers(CONFIG_MAPS, "settings")).toEqual(MEMBERS);
  const first = world.status("web").updateRevision;
  await world.apply(config("b"));
  await world.until("there is another revision", () => world.status("web").updateRevision !== first);
  await settled();
});

it("moving the same content from an object on the hub into spec.template and back restarts no pod", async () => {
  await begin();
  await world.apply(crossCluster(BY_NAME));
  await world.until("the hold is in place", () => world.status("web").reason === "TemplateMissing");
  await world.apply(propagation("web"));
  await world.apply(statefulSet("web", 5, "web:1"));
  await settled();
  const before = await podUids();
  expect(before).toHaveLength(5);

  await world.apply(crossCluster(inline("web:1")));
  await settled();
  await world.ask(world.hub.delete(STATEFULSETS, AT));
  await world.clock.advance(120_000);
  await settled();
  expect(await podUids()).toEqual(before);

  await world.apply(crossCluster(BY_NAME));
  await world.until("the template is missed", () => world.status("web").reason === "TemplateMissing");
  await world.apply(statefulSet("web", 5, "web:1"));
  await settled();
  await world.clock.advance(120_000);
  expect(world.isSettled("web", 5)).toBe(true);
  expect(await podUids()).toEqual(before);
  const works = (await world.ask(world.hub.listAll(WORKS))).items;
  const rendered = works.filter(({ metadata }) => metadata.labels?.["lockstep.karmada.io/app"] === undefined);
  expect(rendered).toEqual([]);
});

it("an object of the same name on the hub is held as soon as Karmada would render it", async () => {
  await begin();
  await world.apply(crossCluster(inline("web:1")));
  await settled();
  const before = await podUids();
  await world.apply(statefulSet("web", 1, "web:other"));
  await world.apply(propagation("web"));
  await world.clock.advance(120_000);
  expect((await world.ask(world.hub.listAll(HOLDS))).items).toHaveLength(1);
  expect(await podUids()).toEqual(before);
});

it.each([
  ["Release", MEMBERS],
  ["Teardown", []],
])("deletion with %s leaves the workload in %j, and nothing on the hub", async (deletionPolicy, left) => {
  await begin();
  await world.apply(crossCluster({ ...inline("web:1"), deletionPolicy }));
  await settled();
  await world.ask(world.hub.delete(CROSS_CLUSTER_STATEFULSETS, AT));
  await world.until("it is gone", () => world.statefulset("web") === undefined);
  await world.clock.advance(60_000);
  expect(await inMembers(STATEFULSETS, "web")).toEqual(left);
  expect((await world.ask(world.hub.listAll(WORKS))).items).toEqual([]);
});

it("what was released is taken up again by the same file; once a person has looked, no pod restarts", async () => {
  await begin();
  await world.apply(crossCluster(inline("web:1")));
  await settled();
  const before = await podUids();
  await world.ask(world.hub.delete(CROSS_CLUSTER_STATEFULSETS, AT));
  await world.until("it is gone", () => world.statefulset("web") === undefined);
  await world.apply(crossCluster(inline("web:1")));
  // The members' defaults are not in the file.
  await world.until("differences are said", () => world.status("web").reason === "AdoptedWithDifferences");
  await world.apply(crossCluster({ ...inline("web:1"), resumedAt: "2026-01-01T00:00:00Z" }));
  await settled();
  expect(await podUids()).toEqual(before);
});

it.each([
  ["inline", inline("web:2", { name: "web" })],
  ["by selector", BY_NAME],
])("a second one on the same object, %s, waits with TemplateClaimed", async (_how, spec) => {
  await begin();
  await world.apply(crossCluster(inline("web:1")));
  await settled();
  const before = await podUids();
  await world.clock.advance(2_000);
  await world.apply(crossCluster(spec, "another"));
  await world.until("it waits", () => world.status("another").reason === "TemplateClaimed");
  expect(String(world.status("another").message)).toContain("managed by CrossClusterStatefulset default/web");
  await world.clock.advance(60_000);
  expect(await podUids()).toEqual(before);
});

it("a spec.template that cannot be read is refused with the field named", async () => {
  await begin();
  const refused = async (spec: JsonObject) => {
    const error = await world.apply(crossCluster(spec)).then(
      () => undefined,
      (problem: unknown) => problem,
    );
    return error instanceof Error ? error.message : "it was accepted";
  };
  expect(await refused({ ...inline("web:1"), ...BY_NAME })).toContain("exactly one of resourceSelector");
  expect(await refused({})).toContain("exactly one of resourceSelector");
  expect(await refused({ ...inline("web:1", { namespace: "kube-system" }) })).toContain("template.metadata.namespace");
  const secret = { template: { apiVersion: "v1", kind: "Secret", stringData: {} } };
  expect(await refused(secret)).toContain("Secret of v1 may not be a template here");
  await world.apply(crossCluster(inline("web:1")));
  expect(await refused(inline("web:1", { name: "other" }))).toContain("kind and name are immutable");
});
