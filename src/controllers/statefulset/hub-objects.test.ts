import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type KubeObject, resource } from "../../kube/index.ts";
import { seededRandom, silentLog } from "../../runtime/index.ts";
import { HubObjects } from "./hub-objects.ts";
import { TestHub } from "./testing/objects.ts";

const MAPS = resource({ apiVersion: "v1", kind: "ConfigMap", plural: "configmaps", namespaced: true });
const KIND = { apiVersion: "v1", kind: "ConfigMap", namespace: "default" };

let hub: TestHub;
let objects: HubObjects;
let stop: AbortController;
let told: string[];

beforeEach(() => {
  hub = new TestHub();
  hub.api.fault = ({ path }) => (path === "/api/v1" ? { kind: "answer", status: 200, body: DISCOVERY } : undefined);
  stop = new AbortController();
  told = [];
  const { client, clock } = hub;
  const options = { client, clock, random: seededRandom(1), log: silentLog, changed: (key: string) => told.push(key) };
  objects = new HubObjects(options, stop.signal);
});

afterEach(async () => {
  stop.abort(new Error("the test is over"));
  await hub.stop();
  await objects.stopped();
});

const DISCOVERY = {
  kind: "APIResourceList",
  apiVersion: "v1",
  groupVersion: "v1",
  resources: [
    { name: "configmaps", singularName: "configmap", kind: "ConfigMap", namespaced: true, verbs: ["list", "watch"] },
  ],
};

function put(name: string, value: string): void {
  const metadata = { name, namespace: "default" };
  hub.api.put(MAPS, { apiVersion: "v1", kind: "ConfigMap", metadata, data: { value } } satisfies KubeObject);
}

const get = (app: string, name: string) => objects.get(app, { ...KIND, name });
const soon = () => hub.clock.run(hub.clock.sleep(1_000));

describe("objects of the hub", () => {
  it("are unknown until they have been listed, and then there or not", async () => {
    put("a", "1");
    expect(get("app", "a").kind).toBe("unknown");
    await soon();
    expect(told).toContain("app");
    expect(get("app", "a")).toMatchObject({ kind: "present", object: { data: { value: "1" } } });
    expect(get("app", "b")).toEqual({ kind: "absent" });
  });

  it("share one watch, however many applications read them", async () => {
    for (const app of ["one", "two", "three"]) get(app, app);
    await soon();
    expect(hub.api.watches.size).toBe(1);
  });

  it("that change concern those who read that very object, and those who read all of its kind", async () => {
    get("one", "a");
    get("two", "b");
    objects.list("all", KIND);
    await soon();
    told.length = 0;
    put("a", "2");
    await soon();
    expect(told.sort()).toEqual(["all", "one"]);
  });

  it("concern nobody who was forgotten", async () => {
    get("one", "a");
    get("two", "a");
    await soon();
    objects.forget("one");
    told.length = 0;
    put("a", "2");
    await soon();
    expect(told).toEqual(["two"]);
  });

  it("of a kind that the hub does not serve are unknown, and found once it does", async () => {
    hub.api.fault = ({ path }) => (path === "/api/v1" ? { kind: "answer", status: 404 } : undefined);
    get("one", "a");
    await soon();
    expect(get("one", "a")).toMatchObject({ kind: "unknown" });
    hub.api.fault = ({ path }) => (path === "/api/v1" ? { kind: "answer", status: 200, body: DISCOVERY } : undefined);
    await hub.clock.run(hub.clock.sleep(120_000));
    expect(get("one", "a")).toEqual({ kind: "absent" });
  });
});
