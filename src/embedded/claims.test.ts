/** Several CrossClusterStatefulsets for one template: one owns it, the others wait and leave no trace. */
import { afterEach, expect, it } from "vitest";
import { SchemaCache } from "../apiserver/index.ts";
import { propagation, statefulSet, WORKS } from "../engine/testing/contract/index.ts";
import { type KubeObject, type Resource, resource } from "../kube/index.ts";
import type { JsonObject } from "../runtime/index.ts";
import { CROSS_CLUSTER_STATEFULSETS, PodRecorder, World } from "./testing/world.ts";

const MEMBERS = ["member1", "member2", "member3"];
const schemas = new SchemaCache();
const kind = (apiVersion: string, name: string, plural: string): Resource =>
  resource({ apiVersion, kind: name, plural, namespaced: true });
const POLICIES = kind("policy.karmada.io/v1alpha1", "OverridePolicy", "overridepolicies");
const LEDGERS = kind("apps.karmada.io/v1alpha1", "CrossClusterLedger", "crossclusterledgers");
const REVISIONS = kind("apps/v1", "ControllerRevision", "controllerrevisions");
const PODS = kind("v1", "Pod", "pods");
const BY_NAME = { name: "web" };
const BY_LABEL = { labelSelector: { matchLabels: { tier: "db" } } };

let world = new World(51, { schemas, members: MEMBERS });
afterEach(() => world.stop());

async function begin(): Promise<PodRecorder> {
  world = new World(51, { schemas, members: MEMBERS });
  await world.start();
  return new PodRecorder(world.fleet);
}

function crossCluster(
  name: string,
  sizes?: Readonly<Record<string, number>>,
  selector: JsonObject = BY_NAME,
  spec: JsonObject = {},
): KubeObject {
  const clusters = Object.entries(sizes ?? {}).map(([cluster, replicas]) => ({ name: cluster, replicas }));
  return {
    apiVersion: "apps.karmada.io/v1alpha1",
    kind: "CrossClusterStatefulset",
    metadata: { name, namespace: "default" },
    spec: {
      resourceSelector: { apiVersion: "apps/v1", kind: "StatefulSet", namespace: "default", ...selector },
      ...(sizes && { topology: { clusters } }),
      ...spec,
    },
  };
}

function template(image: string, labels: Record<string, string> = {}): KubeObject {
  const made = statefulSet("web", 3, image);
  return { ...made, metadata: { ...made.metadata, labels } };
}

const reasonOf = (name: string) => world.status(name).reason;
const messageOf = (name: string) => String(world.status(name).message);
const hasBegun = (name: string) => world.statefulset(name)?.metadata.finalizers !== undefined;

/** Creation times have whole seconds: one object is older than another only if a second has passed. */
async function applyLater(object: KubeObject): Promise<void> {
  await world.clock.advance(2_000);
  await world.apply(object);
}

/**
 * Everything that Lockstep stores on the hub, with its content; mere observations (status, the ledger's marks) do not
 * count.
 */
async function kept(): Promise<string[]> {
  const lists = [WORKS, POLICIES, LEDGERS, REVISIONS].map((of) => world.hub.listAll(of));
  const found = (await world.ask(Promise.all(lists))).flatMap(({ items }) => items);
  return found.map(({ kind: of, metadata, spec }) => {
    return JSON.stringify([of, metadata.namespace, metadata.name, of === LEDGERS.kind ? {} : spec]);
  });
}

/** Whether the application notices a fault in a member, sooner than any periodic check. */
async function hearsOfMembers(name: string): Promise<void> {
  const ready = Number(world.status(name).readyReplicas);
  await world.ask(world.fleet.client("member1").delete(PODS, { namespace: "default", name: "web-0" }));
  await world.until(`${name} has noticed it`, () => Number(world.status(name).readyReplicas) < ready);
  await world.until(`${name} is settled again`, () => world.isSettled(name, ready));
}

it("[I16] a second object on the same template waits with TemplateClaimed, and the first notices nothing", async () => {
  const pods = await begin();
  await world.apply(crossCluster("first", { member1: 1, member2: 2 }));
  await applyLater(template("web:1"));
  await world.until("the first is settled", () => world.isSettled("first", 3));
  const [before, started] = [await kept(), [...pods.order]];

  await applyLater(crossCluster("second", { member3: 3 }));
  await world.until("the second waits", () => reasonOf("second") === "TemplateClaimed");
  expect(messageOf("second")).toMatch(/^StatefulSet default\/web .*CrossClusterStatefulset default\/first/);
  await world.clock.advance(120_000);
  expect(await kept()).toEqual(before);
  expect(pods.order).toEqual(started);
  expect(hasBegun("second")).toBe(false);
  await hearsOfMembers("first");

  await world.ask(world.hub.delete(CROSS_CLUSTER_STATEFULSETS, { namespace: "default", name: "second" }));
  expect(world.statefulset("second")).toBeUndefined();
  await hearsOfMembers("first");
  expect(await kept()).toEqual(before);
});

it.each([
  ["by name, both", BY_NAME, BY_NAME],
  ["the older by label", BY_LABEL, BY_NAME],
  ["the younger by label", BY_NAME, BY_LABEL],
  ["by label, both", BY_LABEL, BY_LABEL],
])(
  "the older one owns the template, regardless of which one a starting controller sees first: %s",
  async (_how, old, young) => {
    await begin();
    await world.stopController();
    // By name the younger one comes first in every list.
    await world.apply(crossCluster("zzz-older", { member1: 1, member2: 2 }, old));
    await applyLater(crossCluster("aaa-younger", { member3: 3 }, young));
    await applyLater(template("web:1", { tier: "db" }));
    world.startController();
    await world.until("the older one is settled", () => world.isSettled("zzz-older", 3));
    expect(reasonOf("aaa-younger")).toBe("TemplateClaimed");
    expect(hasBegun("aaa-younger")).toBe(false);

    const before = await kept();
    await world.stopController();
    world.startController();
    await world.clock.advance(60_000);
    expect(world.isSettled("zzz-older", 3)).toBe(true);
    expect(reasonOf("aaa-younger")).toBe("TemplateClaimed");
    expect((await kept()).length).toBe(before.length);
    expect(world.fleet.member("member3").api.list("apps/statefulsets")).toEqual([]);
  },
);

it("an application that runs keeps its template, also if an older object comes to select it later", async () => {
  const pods = await begin();
  await world.apply(crossCluster("older", { member3: 3 }, BY_LABEL));
  await applyLater(crossCluster("runs", { member1: 1, member2: 2 }));
  await world.apply(template("web:1"));
  await world.until("it runs", () => world.isSettled("runs", 3));
  expect(reasonOf("older")).toBe("TemplateMissing");
  const started = [...pods.order];

  await applyLater(template("web:1", { tier: "db" }));
  await world.until("the older one waits", () => reasonOf("older") === "TemplateClaimed");
  expect(messageOf("older")).toContain("CrossClusterStatefulset default/runs");
  await hearsOfMembers("runs");
  expect(pods.order.filter((pod) => !started.includes(pod))).toEqual([]);
});

it("when the owner has been torn down, the one that waited deploys the template", async () => {
  await begin();
  await world.apply(crossCluster("first", { member1: 1, member2: 2 }, BY_NAME, { deletionPolicy: "Teardown" }));
  await applyLater(template("web:1"));
  await world.until("the first is settled", () => world.isSettled("first", 3));
  await applyLater(crossCluster("second", { member3: 3 }));
  await world.until("the second waits", () => reasonOf("second") === "TemplateClaimed");

  await world.ask(world.hub.delete(CROSS_CLUSTER_STATEFULSETS, { namespace: "default", name: "first" }));
  expect(reasonOf("second")).toBe("TemplateClaimed");
  await world.until("the first is gone", () => {
    if (world.statefulset("first")) expect(reasonOf("second")).toBe("TemplateClaimed");
    return world.statefulset("first") === undefined;
  });
  await world.until("the second is settled", () => world.isSettled("second", 3));
  expect(world.fleet.member("member1").api.list("apps/statefulsets")).toEqual([]);
});

it("when the owner has been released, the one that waited takes over with its own hold, and nothing moves", async () => {
  const pods = await begin();
  await world.apply(propagation("web"));
  await world.apply(crossCluster("first"));
  await applyLater(template("web:1"));
  await world.until("the first is settled", () => world.isSettled("first", 3));
  await applyLater(crossCluster("second"));
  await world.until("the second waits", () => reasonOf("second") === "TemplateClaimed");
  const [started, objects] = [[...pods.order], memberObjects()];

  await world.ask(world.hub.delete(CROSS_CLUSTER_STATEFULSETS, { namespace: "default", name: "first" }));
  await world.until("the second has taken over", () => hasBegun("second"));
  await world.until("it reports what it sees", () => reasonOf("second") !== "TemplateClaimed");
  await world.clock.advance(120_000);
  expect(pods.order).toEqual(started);
  expect(memberObjects()).toEqual(objects);
  const holds = (await world.ask(world.hub.listAll(POLICIES))).items;
  expect(holds.map(({ metadata }) => metadata.annotations?.["lockstep.karmada.io/app-name"])).toEqual(["second"]);
});

it("one that waits and has our finalizer, as after a restore, can be deleted without effect on the owner", async () => {
  const pods = await begin();
  await world.apply(propagation("web"));
  await world.apply(crossCluster("first"));
  await applyLater(template("web:1"));
  await world.until("the first is settled", () => world.isSettled("first", 3));
  const restored = crossCluster("second", { member1: 1, member2: 2 }, BY_NAME, { deletionPolicy: "Teardown" });
  const finalizers = ["lockstep.karmada.io/release"];
  await applyLater({ ...restored, metadata: { ...restored.metadata, finalizers } });
  await world.until("the second waits", () => reasonOf("second") === "TemplateClaimed");
  const [before, started, objects] = [await kept(), [...pods.order], memberObjects()];

  await world.ask(world.hub.delete(CROSS_CLUSTER_STATEFULSETS, { namespace: "default", name: "second" }));
  await world.until("the second is gone", () => world.statefulset("second") === undefined);
  await world.clock.advance(60_000);
  expect(await kept()).toEqual(before);
  expect(pods.order).toEqual(started);
  expect(memberObjects()).toEqual(objects);
  await hearsOfMembers("first");
});

function memberObjects(): unknown[] {
  return MEMBERS.flatMap((member) => {
    const found = world.fleet.member(member).api.list("apps/statefulsets");
    return found.map(({ metadata, spec }) => [member, metadata.uid, metadata.generation, spec]);
  });
}

it("a selector by label that comes to match another object leaves the application with its own", async () => {
  const pods = await begin();
  await world.apply(crossCluster("web", { member1: 1, member2: 2 }, BY_LABEL));
  await applyLater(template("web:1", { tier: "db" }));
  await world.until("it is settled", () => world.isSettled("web", 3));
  const [started, objects] = [[...pods.order], memberObjects()];
  const holdOf = async () => JSON.stringify((await world.ask(world.hub.listAll(POLICIES))).items[0]?.spec);
  const held = await holdOf();

  await world.apply(template("web:1"));
  const other = statefulSet("other", 3, "other:1");
  await world.apply({ ...other, metadata: { ...other.metadata, labels: { tier: "db" } } });
  await world.until("it says so", () => reasonOf("web") === "TemplateMissing");
  expect(messageOf("web")).toContain("the selector matches other; this application is web");
  await world.clock.advance(60_000);
  expect(await holdOf()).toBe(held);
  expect(pods.order).toEqual(started);
  expect(memberObjects()).toEqual(objects);
});
