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
  const { clusters, objects, display, history } = statusOf(world, "shop");
  expect(display).toEqual({ clusters: "3/3", ready: "6/6" });
  expect(rows(clusters).map(({ name, phase }) => `${name} ${phase}`)).toEqual(MEMBERS.map((name) => `${name} Settled`));
  expect(rows(objects).map(({ kind: of, name, health }) => `${of} ${name} ${health}`)).toEqual([
    "ConfigMap settings Healthy",
    "StatefulSet web Healthy",
  ]);
  expect(history).toHaveLength(1);
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
