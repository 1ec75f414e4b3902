import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type KubeObject, SchemaCache } from "../../apiserver/index.ts";
import { KarmadaEngine } from "../../engine/index.ts";
import { propagation, STATEFULSETS, statefulSet, WORKS } from "../../engine/testing/contract/index.ts";
import { type KubeClient, resource } from "../../kube/index.ts";
import { type JsonObject, seededRandom } from "../../runtime/index.ts";
import { VirtualClock } from "../../runtime/testing/virtual-clock.ts";
import { ADMIN_PREFIX, EmbeddedFleet } from "../index.ts";
import { conditionOf, objectAt, objectsAt, textAt } from "../values.ts";

const schemas = new SchemaCache();
const POLICIES = resource({
  apiVersion: "policy.karmada.io/v1alpha1",
  kind: "PropagationPolicy",
  plural: "propagationpolicies",
  namespaced: true,
});
const CONFIG_MAPS = resource({ apiVersion: "v1", kind: "ConfigMap", plural: "configmaps", namespaced: true });
const PODS = resource({ apiVersion: "v1", kind: "Pod", plural: "pods", namespaced: true });
const WRITE = { fieldManager: "test", force: true };
const WEB = { namespace: "default", name: "web" };
const OWN = { namespace: "karmada-es-member1", name: "own" };

let clock: VirtualClock;
let fleet: EmbeddedFleet;
let hub: KubeClient;
let member1: KubeClient;

beforeEach(async () => {
  clock = new VirtualClock();
  fleet = new EmbeddedFleet({ clock, random: seededRandom(1), schemas, pull: ["member3"] });
  await clock.run(fleet.start());
  hub = fleet.client();
  member1 = fleet.client("member1");
});
afterEach(async () => {
  await clock.run(fleet.stop());
  expect(clock.sleeping).toBe(0);
});

const ask = <Value>(request: Promise<Value>) => clock.run(request);
const later = (seconds: number) => clock.advance(seconds * 1_000);
const live = (name = "web", member = "member1") => fleet.member(member).api.get("apps/statefulsets", "default", name);
const work = () => fleet.hubObject("work.karmada.io/works", OWN.namespace, OWN.name);

/** A Work as Lockstep writes it. */
function ownWork(manifest: KubeObject | ReturnType<typeof statefulSet>, spec: JsonObject = {}, annotations = {}) {
  const { metadata } = manifest;
  const marked = {
    ...manifest,
    metadata: { ...metadata, labels: { ...metadata.labels, "karmada.io/managed": "true" }, annotations },
  };
  return {
    apiVersion: WORKS.apiVersion,
    kind: WORKS.kind,
    metadata: { ...OWN, finalizers: ["karmada.io/execution-controller"] },
    spec: { ...spec, workload: { manifests: [marked] } },
  };
}

describe("Karmada's own part of the hub", () => {
  it("renders a template without a hold to every scheduled cluster, and follows edits", async () => {
    await ask(hub.apply(POLICIES, propagation("web"), WRITE));
    await ask(hub.apply(STATEFULSETS, statefulSet("web", 5, "web:1"), WRITE));
    await later(1);
    expect(["member1", "member2", "member3"].map((name) => objectAt(live("web", name), "spec").replicas)).toEqual([
      2, 2, 1,
    ]);
    await ask(hub.apply(STATEFULSETS, statefulSet("web", 6, "web:2"), WRITE));
    await later(1);
    expect(objectAt(live(), "spec").replicas).toBe(3);
    expect(JSON.stringify(live("web", "member3"))).toContain("web:2");
    const binding = fleet.hubObject("work.karmada.io/resourcebindings", "default", "web-statefulset");
    expect(objectAt(binding, "status").schedulerObservedGeneration).toBe(binding?.metadata.generation);
  });

  it("propagates a CRD to the members by a cluster-wide policy, and then objects of its kind", async () => {
    const crd = {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: "shops.example.com" },
      spec: {
        group: "example.com",
        scope: "Namespaced",
        names: { kind: "Shop", plural: "shops", singular: "shop" },
        versions: [
          {
            name: "v1",
            served: true,
            storage: true,
            schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
          },
        ],
      },
    };
    const shop = { apiVersion: "example.com/v1", kind: "Shop", metadata: WEB, spec: { size: 3 } };
    const policy = (kind: string, selector: object, metadata: { name: string; namespace?: string }) => ({
      apiVersion: "policy.karmada.io/v1alpha1",
      kind,
      metadata,
      spec: { resourceSelectors: [selector], placement: {} },
    });
    const send = async (object: { apiVersion: string; kind: string; metadata: { name: string } }) => {
      const found = await ask(hub.discovery.resource(object.apiVersion, object.kind));
      await ask(hub.create(resource(found), object as KubeObject));
    };
    await send(policy("PropagationPolicy", { apiVersion: "example.com/v1", kind: "Shop", name: "web" }, WEB));
    await send(crd);
    await later(1);
    await send(shop);
    await later(5);
    await send(policy("ClusterPropagationPolicy", { apiVersion: crd.apiVersion, kind: crd.kind }, { name: "crds" }));
    await later(10);
    for (const name of fleet.memberNames) {
      expect(fleet.member(name).api.get("example.com/shops", "default", "web")).toMatchObject({ spec: { size: 3 } });
    }
  });

  it("removes everything when a template without a hold is deleted", async () => {
    await ask(hub.apply(POLICIES, propagation("web"), WRITE));
    await ask(hub.apply(STATEFULSETS, statefulSet("web", 5, "web:1"), WRITE));
    await later(5);
    await ask(hub.delete(STATEFULSETS, WEB));
    await later(5);
    expect(live()).toBeUndefined();
    expect((await ask(hub.listAll(WORKS))).items).toEqual([]);
  });

  it("refuses to delete a protected object, with the message of Karmada's webhook", async () => {
    const labels = { "resourcetemplate.karmada.io/deletion-protected": "Always" };
    const map = { apiVersion: "v1", kind: "ConfigMap", metadata: { ...WEB, labels }, data: {} };
    await ask(hub.create(CONFIG_MAPS, map));
    const refused =
      'admission webhook "resourcedeletionprotection.karmada.io" denied the request: This resource is protected, please make sure to remove the label';
    await expect(ask(hub.delete(CONFIG_MAPS, WEB))).rejects.toThrow(refused);
    const body = { metadata: { labels: { "resourcetemplate.karmada.io/deletion-protected": null } } };
    await ask(hub.patch(CONFIG_MAPS, WEB, { type: "merge", body }));
    await ask(hub.delete(CONFIG_MAPS, WEB));
    expect(await ask(hub.find(CONFIG_MAPS, WEB))).toBeUndefined();
  });

  it("proxies to push clusters, refuses dryRun there, and cannot reach pull clusters", async () => {
    const proxied = (name: string) => hub.below("apis", "cluster.karmada.io", "v1alpha1", "clusters", name, "proxy");
    const map = { apiVersion: "v1", kind: "ConfigMap", metadata: WEB, data: {} };
    await ask(proxied("member1").create(CONFIG_MAPS, map));
    expect(await ask(member1.find(CONFIG_MAPS, WEB))).toBeDefined();
    await expect(ask(proxied("member1").create(CONFIG_MAPS, map, { dryRun: true }))).rejects.toThrow(
      "dryRun is not supported",
    );
    await expect(ask(proxied("member3").get(CONFIG_MAPS, WEB, { timeoutMs: 1_000 }))).rejects.toThrow();
  });

  it("returns a pull cluster's status, without what Karmada's reflection drops", async () => {
    const engine = new KarmadaEngine({ hub, clock, random: seededRandom(2) });
    const stop = new AbortController();
    const running = engine.run(stop.signal);
    const template = { apiVersion: "apps/v1", kind: "StatefulSet", ...WEB };
    const app = { ...WEB, template };
    await later(1);
    engine.track(app, () => {});
    const order = { cluster: "member3", manifest: statefulSet("web", 1, "web:1"), term: 1, notes: {}, expected: null };
    await ask(engine.dispatch(app, order));
    await later(10);
    const snapshot = engine.snapshot(app, "member3");
    expect(snapshot).toMatchObject({ kind: "present", source: "reflected", object: { status: { readyReplicas: 1 } } });
    expect(JSON.stringify(snapshot)).not.toContain("observedGeneration");
    stop.abort(new Error("the test is over"));
    await ask(running);
  });
});

describe("a snapshot", () => {
  it("restores everything: objects, pods, and newer CRDs instead of older ones", async () => {
    await ask(hub.create(WORKS, ownWork(statefulSet("web", 2, "web:1"))));
    await later(10);
    const storage = structuredClone(fleet.snapshot());
    for (const { object } of storage.hub.objects) {
      if (object.metadata.name !== "works.work.karmada.io") continue;
      objectAt(object, "spec", "names").shortNames = [];
    }
    const again = new EmbeddedFleet({ clock, random: seededRandom(5), schemas, storage });
    await clock.run(again.start());
    await later(10);
    expect(
      again
        .member("member1")
        .api.list("/pods")
        .map(({ metadata }) => metadata.uid),
    ).toEqual(
      fleet
        .member("member1")
        .api.list("/pods")
        .map(({ metadata }) => metadata.uid),
    );
    const works = again.hubObject("apiextensions.k8s.io/customresourcedefinitions", "", "works.work.karmada.io");
    expect(objectAt(works, "spec", "names").shortNames).toEqual(["wk"]);
    await clock.run(again.stop());
  });
});

describe("delivery", () => {
  it("repairs spec and labels in the member, but not annotations", async () => {
    await ask(hub.create(WORKS, ownWork(statefulSet("web", 1, "web:1"), {}, { "example.com/note": "ours" })));
    await later(5);
    const body = {
      metadata: { labels: { "karmada.io/managed": "false" }, annotations: { "example.com/note": "theirs" } },
    };
    const patch = (what: JsonObject) => ask(member1.patch(STATEFULSETS, WEB, { type: "merge", body: what }));
    await patch({ metadata: { annotations: body.metadata.annotations } });
    await later(5);
    expect(live()?.metadata.annotations?.["example.com/note"]).toBe("theirs");
    await patch({ spec: { replicas: 3 } });
    await later(5);
    expect(objectAt(live(), "spec").replicas).toBe(1);
    expect(live()?.metadata.annotations?.["example.com/note"]).toBe("ours");
    await patch({ metadata: { labels: { "example.com/extra": "kept" } } });
    await later(5);
    expect(live()?.metadata.labels).toMatchObject({ "example.com/extra": "kept", "karmada.io/managed": "true" });
  });

  it("does not take over another writer's object, unless the manifest requests it", async () => {
    await ask(member1.create(STATEFULSETS, statefulSet("web", 1, "theirs:1")));
    await ask(hub.create(WORKS, ownWork(statefulSet("web", 1, "web:1"))));
    await later(5);
    expect(conditionOf(work() ?? missing(), "Applied")).toMatchObject({ status: "False", reason: "AppliedFailed" });
    expect(JSON.stringify(live())).toContain("theirs:1");
    const written = ownWork(statefulSet("web", 1, "web:1"), {}, { "work.karmada.io/conflict-resolution": "overwrite" });
    await ask(hub.patch(WORKS, OWN, { type: "merge", body: { spec: written.spec } }));
    await later(10);
    expect(conditionOf(work() ?? missing(), "Applied")).toMatchObject({ status: "True" });
    expect(JSON.stringify(live())).toContain("web:1");
  });

  it("reports why a member refused, and moves nothing", async () => {
    await ask(hub.create(WORKS, ownWork(statefulSet("web", 1, "web:1"))));
    await later(5);
    const before = live()?.metadata.resourceVersion;
    const changed = statefulSet("web", 1, "web:2");
    const immutable = { ...changed, spec: { ...objectAt(changed.spec), serviceName: "another" } };
    await ask(hub.patch(WORKS, OWN, { type: "merge", body: { spec: ownWork(immutable).spec } }));
    await later(5);
    expect(textAt(conditionOf(work() ?? missing(), "Applied"), "message")).toContain("are forbidden");
    expect(live()?.metadata.resourceVersion).toBe(before);
  });

  it("deletes the member's object with its Work, or keeps it and removes only its marks", async () => {
    await ask(hub.create(WORKS, ownWork(statefulSet("web", 1, "web:1"), { preserveResourcesOnDeletion: true })));
    await later(5);
    const before = live();
    await ask(hub.delete(WORKS, OWN));
    await later(5);
    expect(work()).toBeUndefined();
    expect(live()?.metadata.uid).toBe(before?.metadata.uid);
    expect(live()?.metadata.generation).toBe(before?.metadata.generation);
    expect(live()?.metadata.labels?.["karmada.io/managed"]).toBeUndefined();
    await ask(member1.delete(STATEFULSETS, WEB));
    await ask(hub.create(WORKS, ownWork(statefulSet("web", 1, "web:1"))));
    await later(5);
    await ask(hub.delete(WORKS, OWN));
    await later(5);
    expect(live()).toBeUndefined();
  });

  it("creates the namespace if the member lacks it", async () => {
    const map = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "web", namespace: "shop" }, data: { a: "1" } };
    await ask(hub.create(WORKS, ownWork(map)));
    await later(5);
    expect(await ask(member1.find(CONFIG_MAPS, { namespace: "shop", name: "web" }))).toMatchObject({
      data: { a: "1" },
    });
    expect(objectsAt(work(), "status", "manifestStatuses")[0]).toMatchObject({ health: "Healthy" });
  });
});

describe("faults", () => {
  const cluster = (name: string) => fleet.hubObject("cluster.karmada.io/clusters", "", name) ?? missing();
  const admin = (method: "GET" | "POST", path: string, body?: string, groups = ["system:masters"]) =>
    fleet.hub.handle({
      method,
      path: ADMIN_PREFIX + path,
      headers: {},
      user: { name: "alice", groups },
      ...(body !== undefined && { body }),
    });

  it("turn a cluster NotReady and tainted, Unknown for a pull cluster, and Ready again", async () => {
    fleet.cut("member1");
    fleet.kill("member3");
    await later(1);
    expect(conditionOf(cluster("member1"), "Ready")?.status).toBe("True");
    await later(10);
    expect(conditionOf(cluster("member1"), "Ready")).toMatchObject({ status: "False", reason: "ClusterNotReachable" });
    expect(conditionOf(cluster("member3"), "Ready")).toMatchObject({ status: "Unknown" });
    expect(objectsAt(cluster("member1"), "spec", "taints").map(({ key }) => key)).toEqual([
      "cluster.karmada.io/not-ready",
    ]);
    fleet.mend("member1");
    fleet.restart("member3");
    await later(10);
    for (const name of ["member1", "member3"]) {
      expect(conditionOf(cluster(name), "Ready")?.status).toBe("True");
      expect(objectsAt(cluster(name), "spec", "taints")).toEqual([]);
    }
  });

  it("keep a Work from a disconnected member, and deliver it when it is back", async () => {
    fleet.cut("member1");
    await ask(hub.create(WORKS, ownWork(statefulSet("web", 1, "web:1"))));
    await later(60);
    expect(live()).toBeUndefined();
    fleet.mend("member1");
    await later(10);
    expect(live()).toBeDefined();
  });

  it("slow and failing requests are retried", async () => {
    fleet.disturb("member1", { slowMs: 200, failNext: 2 });
    await ask(hub.create(WORKS, ownWork(statefulSet("web", 1, "web:1"))));
    await later(30);
    expect(live()).toBeDefined();
    expect(conditionOf(work() ?? missing(), "Applied")?.status).toBe("True");
  });

  it("leave a killed member's pods unchanged, and its controllers continue after the restart", async () => {
    await ask(hub.create(WORKS, ownWork(statefulSet("web", 3, "web:1"))));
    await later(1.5);
    fleet.kill("member1");
    await later(60);
    await expect(ask(member1.listAll(PODS, { timeoutMs: 1_000 }))).rejects.toThrow();
    fleet.restart("member1");
    await later(30);
    expect((await ask(member1.listAll(PODS))).items).toHaveLength(3);
  });

  it("are available over HTTP, only for the fleet's owner", async () => {
    expect((await admin("POST", "member1/cut", undefined, [])).status).toBe(403);
    expect(JSON.parse((await admin("POST", "member1/cut")).body)).toMatchObject({ name: "member1", reachable: false });
    expect(JSON.parse((await admin("GET", "")).body).members).toHaveLength(3);
    expect(JSON.parse((await admin("POST", "member1/mend")).body)).toMatchObject({ reachable: true });
    const disturbed = await admin("POST", "member2/disturb", '{"slowMs": 5}');
    expect(JSON.parse(disturbed.body)).toMatchObject({ slowMs: 5, failRate: 0 });
    expect((await admin("POST", "member2/disturb", '{"failRate": 2}')).body).toContain("a number from 0 to 1");
    expect((await admin("POST", "member2/explode")).body).toContain("not one of cut, mend");
    expect((await admin("POST", "member9/cut")).status).toBe(404);
  });
});

function missing(): never {
  throw new Error("the object is not there");
}
