/** What an application must never do to what others own, or what still serves, on the embedded fleet. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { SchemaCache } from "../apiserver/index.ts";
import type { HookEvent, RenderedObject, Renderer } from "../charts/index.ts";
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
import { World } from "./testing/world.ts";

const MEMBERS = ["member1", "member2"];
const schemas = new SchemaCache();
const kind = (apiVersion: string, name: string, plural: string, namespaced = true): Resource =>
  resource({ apiVersion, kind: name, plural, namespaced });
const CONFIG_MAPS = kind("v1", "ConfigMap", "configmaps");
const NAMESPACES = kind("v1", "Namespace", "namespaces", false);
const JOBS = kind("batch/v1", "Job", "jobs");
const STATEFULSETS = kind("apps/v1", "StatefulSet", "statefulsets");
const WORKS = kind("work.karmada.io/v1alpha1", "Work", "works");

let world: World;
beforeEach(async () => {
  world = new World(74, { schemas, members: MEMBERS });
  await world.start();
});
afterEach(() => world.stop());

const declare = (name: string, objects: JsonObject[], more: JsonObject = {}) =>
  world.apply(
    application(name, {
      source: inline(...objects),
      clusters: { names: MEMBERS },
      revisionSettleSeconds: 0,
      ...more,
    }) satisfies KubeObject,
  );
const inMember = (of: Resource, name: string, namespace = "default") =>
  world.ask(world.fleet.client("member1").find(of, of.namespaced ? { namespace, name } : { name }));
const isGone = (name: string) =>
  world.fleet.hubObject("apps.karmada.io/distributedapplications", "default", name) === undefined;
const remove = async (name: string) => {
  await world.ask(world.hub.delete(DISTRIBUTED_APPLICATIONS, { namespace: "default", name }));
  await world.until(`${name} is gone`, () => isGone(name));
};

function web(image: string): JsonObject {
  const { apiVersion, kind: of, spec } = statefulSet("web", 1, image);
  return { apiVersion, kind: of, metadata: { name: "web" }, spec: isJsonObject(spec) ? spec : {} };
}

describe("an application", () => {
  it("[A8] keeps an object whose apiVersion a new revision changes", async () => {
    const names = { kind: "Ticket", listKind: "TicketList", plural: "tickets", singular: "ticket" };
    const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
    const crd = {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: "tickets.orders.example" },
      spec: {
        group: "orders.example",
        names,
        scope: "Namespaced",
        versions: ["v1", "v2"].map((name) => ({ name, served: true, storage: name === "v1", schema })),
      },
    };
    await world.apply(crd);
    const ticket = (version: string) => ({
      apiVersion: `orders.example/${version}`,
      kind: "Ticket",
      metadata: { name: "one" },
    });
    await declare("shop", [crd, ticket("v1")]);
    await settle(world, "shop");
    const { api } = world.fleet.member("member1");
    const uid = () => api.get("orders.example/tickets", "default", "one")?.metadata.uid;
    const before = uid();
    expect(before).toBeDefined();
    await declare("shop", [crd, ticket("v2")]);
    await settle(world, "shop");
    await world.clock.advance(30_000);
    expect(uid()).toBe(before);
    const { items } = await world.ask(world.hub.listAll(WORKS));
    expect(items.filter(({ metadata }) => metadata.name.includes("one-ticket"))).toHaveLength(MEMBERS.length);
  });

  it("[A31] leaves what a CrossClusterStatefulset manages by now, also when it is updated or deleted", async () => {
    await declare("shop", [web("web:1"), configMap("settings", { a: "1" })]);
    await settle(world, "shop");
    const uid = (await inMember(STATEFULSETS, "web"))?.metadata.uid;
    await world.apply({
      apiVersion: "apps.karmada.io/v1alpha1",
      kind: "CrossClusterStatefulset",
      metadata: { name: "web", namespace: "default" },
      spec: { resourceSelector: { apiVersion: "apps/v1", kind: "StatefulSet", name: "web" } },
    });
    await declare("shop", [web("web:1"), configMap("settings", { a: "2" })]);
    await settle(world, "shop");
    await world.clock.advance(30_000);
    expect((await inMember(STATEFULSETS, "web"))?.metadata.uid).toBe(uid);
    await remove("shop");
    expect((await inMember(STATEFULSETS, "web"))?.metadata.uid).toBe(uid);
  });

  it("[A30] shares a target namespace with another one, and both settle", async () => {
    await declare("one", [configMap("a", { x: "1" })], { targetNamespace: "monitoring" });
    await settle(world, "one");
    await declare("two", [configMap("b", { x: "1" })], { targetNamespace: "monitoring" });
    await settle(world, "two");
    const { resourceVersion } = (await inMember(NAMESPACES, "monitoring"))?.metadata ?? {};
    expect(resourceVersion).toBeDefined();
    await world.clock.advance(120_000);
    await settle(world, "one");
    await settle(world, "two");
    // Neither writes over the other's marks.
    expect((await inMember(NAMESPACES, "monitoring"))?.metadata.resourceVersion).toBe(resourceVersion);
    await remove("one");
    expect((await inMember(CONFIG_MAPS, "b", "monitoring"))?.data).toEqual({ x: "1" });
  });

  it("[A8] does not delete a Namespace of its own in which another application still has objects", async () => {
    const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: "shared" } };
    await declare("one", [namespace, configMap("a", { x: "1" })]);
    await settle(world, "one");
    await declare("two", [configMap("b", { x: "1" })], { targetNamespace: "shared" });
    await settle(world, "two");
    await remove("one");
    expect(await inMember(NAMESPACES, "shared")).toBeDefined();
    expect((await inMember(CONFIG_MAPS, "b", "shared"))?.data).toEqual({ x: "1" });
    await declare("three", [{ ...namespace, metadata: { name: "alone" } }]);
    await settle(world, "three");
    await remove("three");
    expect(await inMember(NAMESPACES, "alone")).toBeUndefined();
  });

  it("[A8] nor one in which another has an object that names the namespace itself, nor one in which a job runs", async () => {
    const namespace = (name: string) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
    const settings = { ...configMap("b", { x: "1" }), metadata: { name: "b", namespace: "shared" } };
    await declare("one", [namespace("shared"), namespace("work"), configMap("a", { x: "1" })]);
    await settle(world, "one");
    await declare("two", [settings]);
    await settle(world, "two");
    await world.apply(namespace("work"));
    const metadata = { annotations: { "lockstep.test/run-ms": "3600000" } };
    const spec = { restartPolicy: "Never", containers: [{ name: "main", image: "worker:1" }] };
    await world.apply({
      apiVersion: "apps.karmada.io/v1alpha1",
      kind: "CrossClusterJob",
      metadata: { name: "train", namespace: "work" },
      spec: {
        template: { apiVersion: "batch/v1", kind: "Job", spec: { template: { metadata, spec } } },
        clusters: { names: ["member1"] },
      },
    });
    const uids = async () => {
      const { api } = world.fleet.member("member1");
      const found = [await inMember(NAMESPACES, "shared"), await inMember(NAMESPACES, "work")];
      found.push(await inMember(CONFIG_MAPS, "b", "shared"), api.list("batch/jobs", "work")[0]);
      return found.map((each) => each?.metadata.uid);
    };
    await world.until("the job runs", () => world.fleet.member("member1").api.list("batch/jobs", "work").length === 1);
    const before = await uids();
    expect(before).not.toContain(undefined);
    // Neither a revision without them nor the deletion takes them away.
    await declare("one", [configMap("a", { x: "2" })]);
    await settle(world, "one");
    expect(await uids()).toEqual(before);
    await remove("one");
    expect(await uids()).toEqual(before);
  });

  it("[A29] takes no object over that others keep in shape, with adopt either", async () => {
    const client = world.fleet.client("member1");
    const metadata = { name: "a", namespace: "default", labels: { "karmada.io/managed": "true" } };
    await world.ask(
      client.create(CONFIG_MAPS, { apiVersion: "v1", kind: "ConfigMap", metadata, data: { of: "theirs" } }),
    );
    await declare("shop", [configMap("a", { of: "ours" })], { adopt: true });
    await world.until("it has stopped", () => statusOf(world, "shop").phase === "Halted");
    expect(String(statusOf(world, "shop").message)).toContain("kept as it is by Karmada");
    expect((await inMember(CONFIG_MAPS, "a"))?.data).toEqual({ of: "theirs" });
  });

  it("[A29] takes over with adopt what an application that is gone left behind, and nothing that one delivers", async () => {
    const metadata = { name: "kept", annotations: { "helm.sh/resource-policy": "keep" } };
    const kept = (of: string) => ({ ...configMap("kept", { of }), metadata });
    await declare("one", [kept("one"), configMap("a", { x: "1" })]);
    await settle(world, "one");
    await declare("two", [kept("two")], { adopt: true });
    await world.until("it has stopped", () => statusOf(world, "two").phase === "Halted");
    expect(String(statusOf(world, "two").message)).toContain("it belongs to another application of Lockstep");
    expect((await inMember(CONFIG_MAPS, "kept"))?.data).toEqual({ of: "one" });
    await remove("two");
    // It no longer has it in its source, and another one may take it.
    await declare("one", [configMap("a", { x: "1" })]);
    await settle(world, "one");
    await declare("three", [kept("three")]);
    await world.until("it has stopped", () => statusOf(world, "three").phase === "Halted");
    expect(String(statusOf(world, "three").message)).toContain("set adopt: true to take it over");
    await declare("three", [kept("three")], { adopt: true, resumedAt: "2030-01-01T00:00:00Z" });
    await settle(world, "three");
    expect((await inMember(CONFIG_MAPS, "kept"))?.data).toEqual({ of: "three" });
    await settle(world, "one");
  });

  it("[A2] goes to no revision that does not exist", async () => {
    await declare("shop", [configMap("a", { x: "1" })]);
    await settle(world, "shop");
    const { revision } = statusOf(world, "shop");
    await declare("shop", [configMap("a", { x: "1" })], {
      undo: { to: "nothing-like-it", at: "2030-01-01T00:00:00Z" },
    });
    await world.clock.advance(30_000);
    expect(rows(statusOf(world, "shop").clusters).map((each) => each.revision)).toEqual([revision, revision]);
  });
});

/** Reads hooks from inline objects, as a chart's are read from what helm prints. */
const withHooks: Pick<Renderer, "render"> = {
  async render(request) {
    if (request.source.kind !== "manifests") throw new Error("not needed here");
    const objects = request.source.objects.map((object): RenderedObject => {
      const { metadata } = object as KubeObject;
      const events = metadata.annotations?.["helm.sh/hook"]?.split(",") as HookEvent[] | undefined;
      const deletePolicies = metadata.annotations?.["helm.sh/hook-delete-policy"]?.split(",") ?? [];
      return {
        object: object as KubeObject,
        keep: false,
        isCrd: false,
        ...(events && { hook: { events, weight: 0, deletePolicies } }),
      };
    });
    return { kind: "rendered", objects, digest: "any", warnings: [] };
  },
};

function hookJob(name: string, event: string): JsonObject {
  const annotations = { "helm.sh/hook": event, "helm.sh/hook-delete-policy": "before-hook-creation" };
  const containers = [{ name: "main", image: "hook:1" }];
  const spec = { template: { spec: { restartPolicy: "Never", containers } } };
  return { apiVersion: "batch/v1", kind: "Job", metadata: { name, annotations }, spec };
}

describe("a hook", () => {
  const begin = async (authorizer: "RBAC" | "None") => {
    await world.stop();
    const options = { schemas, members: MEMBERS, ...(authorizer === "RBAC" && { authorizer }) };
    world = new World(75, options, { renderer: withHooks });
    await world.start();
  };

  it("[A29] whose object is taken over is never deleted", async () => {
    await begin("None");
    const theirs = { ...configMap("seed", { of: "theirs" }), metadata: { name: "seed", namespace: "default" } };
    await world.ask(world.fleet.client("member1").create(CONFIG_MAPS, theirs));
    const annotations = { "helm.sh/hook": "pre-install,pre-upgrade", "helm.sh/hook-delete-policy": "hook-succeeded" };
    const hook = { ...configMap("seed", { of: "ours" }), metadata: { name: "seed", annotations } };
    await declare("shop", [hook, configMap("a", { x: "1" })], { adopt: true });
    await settle(world, "shop");
    await world.clock.advance(30_000);
    expect(await inMember(CONFIG_MAPS, "seed")).toBeDefined();
  });

  it("[A29] whose Job exists already is not taken for one that has run, and the Job stays as it is", async () => {
    await begin("None");
    const job = { ...hookJob("migrate", "x"), metadata: { name: "migrate", namespace: "default" } };
    const { uid } = (await world.ask(world.fleet.client("member1").create(JOBS, job as KubeObject))).metadata;
    await declare("shop", [hookJob("migrate", "pre-install"), configMap("a", { x: "1" })], { adopt: true });
    await world.until("it has stopped", () => statusOf(world, "shop").phase === "Halted");
    expect(String(statusOf(world, "shop").message)).toContain("this one exists already; delete it");
    expect((await inMember(JOBS, "migrate"))?.metadata).toMatchObject({ uid });
    expect(await inMember(CONFIG_MAPS, "a")).toBeUndefined();
  });

  it("runs again where an earlier life of the application left its Job behind", async () => {
    await begin("None");
    const objects = [hookJob("migrate", "pre-install"), configMap("a", { x: "1" })];
    await declare("shop", objects, { deletionPolicy: "Release" });
    await settle(world, "shop");
    const { uid } = (await inMember(JOBS, "migrate"))?.metadata ?? {};
    expect(uid).toBeDefined();
    await remove("shop");
    expect((await inMember(JOBS, "migrate"))?.metadata.uid).toBe(uid);
    await declare("shop", objects);
    await settle(world, "shop");
    const after = await inMember(JOBS, "migrate");
    expect(after?.metadata.uid).toBeDefined();
    expect(after?.metadata.uid).not.toBe(uid);
  });

  it("[A7] of an undo or a deletion runs in its turn, before or after what happens to the objects", async () => {
    await begin("None");
    const events: string[] = [];
    world.fleet.onChange(({ server, resource: of, isDeleted, object: { metadata, data, status } }) => {
      if (server !== "member1" || metadata.namespace !== "default") return;
      if (of === "batch/jobs" && !isDeleted && status === undefined) events.push(metadata.name);
      if (of === "/configmaps" && metadata.name === "a") events.push(isDeleted ? "deleted" : JSON.stringify(data));
    });
    const happened = () => events.splice(0).filter((each, at, all) => each !== all[at - 1]);
    const hooks = ["pre-rollback", "post-rollback", "pre-delete", "post-delete"].map((each) => hookJob(each, each));
    await declare("shop", [...hooks, configMap("a", { x: "1" })]);
    await settle(world, "shop");
    const to = statusOf(world, "shop").revision;
    const second = [...hooks, configMap("a", { x: "2" })];
    await declare("shop", second);
    await settle(world, "shop");
    expect(happened()).toEqual(['{"x":"1"}', '{"x":"2"}']);
    await declare("shop", second, { undo: { to: String(to), at: "2030-01-01T00:00:00Z" } });
    await world.until("it is back", () =>
      rows(statusOf(world, "shop").clusters).every(({ phase, revision }) => phase === "Settled" && revision === to),
    );
    expect(happened()).toEqual(["pre-rollback", '{"x":"1"}', "post-rollback"]);
    await remove("shop");
    expect(happened()).toEqual(["pre-delete", "deleted", "post-delete"]);
  });

  it("[A27] of a deletion does not run once its right is taken away, and the deletion continues", async () => {
    await begin("RBAC");
    const RBAC = "rbac.authorization.k8s.io";
    const allow = async (name: string, rule: JsonObject) => {
      const metadata = { name, namespace: "default" };
      await world.apply({
        apiVersion: `${RBAC}/v1`,
        kind: "Role",
        metadata,
        rules: [{ ...rule, verbs: ["distribute"] }],
      });
      const subjects = [{ kind: "ServiceAccount", name: "default", namespace: "default" }];
      const roleRef = { apiGroup: RBAC, kind: "Role", name };
      await world.apply({ apiVersion: `${RBAC}/v1`, kind: "RoleBinding", metadata, roleRef, subjects });
    };
    await allow("settings", { apiGroups: [""], resources: ["configmaps"] });
    await allow("jobs", { apiGroups: ["batch"], resources: ["jobs"] });
    await declare("shop", [hookJob("farewell", "pre-delete"), configMap("a", { x: "1" })]);
    await settle(world, "shop");
    const bindings = kind(`${RBAC}/v1`, "RoleBinding", "rolebindings");
    await world.ask(world.hub.delete(bindings, { namespace: "default", name: "jobs" }));
    await world.clock.advance(60_000);
    let ran = false;
    await world.ask(world.hub.delete(DISTRIBUTED_APPLICATIONS, { namespace: "default", name: "shop" }));
    await world.until("shop is gone", () => {
      ran ||= world.fleet.member("member1").api.get("batch/jobs", "default", "farewell") !== undefined;
      return isGone("shop");
    });
    expect(ran).toBe(false);
    expect(await inMember(CONFIG_MAPS, "a")).toBeUndefined();
    expect(await world.events("shop")).toContainEqual(expect.stringContaining("HooksSkipped"));
  });
});
