/** What administrators of the hub do with clusters: weigh them, limit their agents, fill them, and detach them. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CLUSTERS_IN_USE, DETACH_WITHOUT_DRAIN } from "../../src/api/index.ts";
import { executorWork } from "../../src/cli/commands/install/ocm.ts";
import { MANAGED_CLUSTERS, MANIFEST_WORKS } from "../../src/engine/ocm/resources.ts";
import { OCM_HUB, statefulSet } from "../../src/engine/testing/contract/index.ts";
import type { Observer } from "../../src/engine/testing/observer.ts";
import { isKubeObject, type KubeObject, resource } from "../../src/kube/index.ts";
import { isJsonObject } from "../../src/runtime/index.ts";
import { CCS, podImages, podUids, STATEFULSETS, SYSTEM_NAMESPACE, type World } from "../stories/world.ts";
import { startWorld } from "./world.ts";

const CONFIG_MAPS = resource({ apiVersion: "v1", kind: "ConfigMap", plural: "configmaps", namespaced: true });
const NAMESPACES = resource({ apiVersion: "v1", kind: "Namespace", plural: "namespaces", namespaced: false });
const BINDINGS = resource({
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRoleBinding",
  plural: "clusterrolebindings",
  namespaced: false,
});
const SCORES = "apis/cluster.open-cluster-management.io/v1alpha1";

let world: World;
let observer: Observer;
beforeAll(async () => {
  world = await startWorld();
  observer = await world.watch(STATEFULSETS);
});
afterAll(() => world?.stop());

const clusters = (one: number, two: number, three: number) =>
  [one, two, three].map((replicas, at) => ({ name: `member${at + 1}`, replicas }));
const declare = (name: string, spec: object, image = `${name}:1`, requests: Record<string, string> = {}) => {
  const object = statefulSet(name, 3, image);
  // An API server drops empty fields, and the observer would miss them.
  const resources = Object.keys(requests).length > 0 ? { resources: { requests } } : {};
  const containers = [{ name: "app", image, ...resources }];
  const template = { metadata: { labels: { app: name } }, spec: { containers } };
  const workload = { ...object, spec: { ...(isJsonObject(object.spec) ? object.spec : {}), template } };
  return world.stage.declare(world, name, workload, spec);
};
const counts = async (name: string) =>
  Object.fromEntries(Object.entries(await podImages(world, name)).map(([cluster, pods]) => [cluster, pods.length]));
const waits = (name: string, ...words: string[]) =>
  world.until(`${name} waits, and the status says ${words.join(", ")}`, async () => {
    const said = JSON.stringify({ ...(await world.status(name)), ledger: undefined });
    return words.every((each) => said.includes(each)) || said;
  });
const remove = async (name: string) => {
  await world.hub.delete(CCS, { namespace: "default", name });
  await world.until(
    `${name} is gone`,
    async () => (await world.hub.find(CCS, { namespace: "default", name })) === undefined,
  );
};

describe("the scores that an add-on gives clusters", () => {
  const name = "scored";
  const score = async (cluster: string, value: number) => {
    const path = `/${SCORES}/namespaces/${cluster}/addonplacementscores`;
    const metadata = { name: "usage", namespace: cluster };
    const object = { apiVersion: SCORES.slice("apis/".length), kind: "AddOnPlacementScore", metadata };
    await world.stack.hub.apply(object);
    const status = { scores: [{ name: "free", value }] };
    const answer = await world.stack.hub.request(
      "PATCH",
      `${path}/usage/status`,
      { status },
      "application/merge-patch+json",
    );
    if (answer.status !== 200) throw new Error(answer.text);
  };

  const scored = (replicas: number) => {
    const placementRef = { name, score: { resourceName: "usage", scoreName: "free" } };
    return declare(name, { replicas, topology: { placementRef } });
  };

  it("are waited for, with the reason, while no selected cluster has one", async () => {
    const template = { apiVersion: "apps/v1", kind: "StatefulSet", namespace: "default", name };
    await OCM_HUB.schedule(world.hub, { namespace: "default", name, template, placement: name }, 5);
    await scored(1);
    await waits(name, "ScheduleUnknown", "no cluster that the Placement selects has a valid score");
    expect(await counts(name)).toEqual({ member1: 0, member2: 0, member3: 0 });
    await score("member1", 90);
    await world.until("one instance is ready", () => world.settled(name, 1));
  });

  it("decide which cluster gets an instance, and a cluster without a score gets none", async () => {
    await score("member2", -60);
    await scored(5);
    await world.until("five instances are ready", () => world.settled(name, 5));
    expect(await counts(name)).toEqual({ member1: 4, member2: 1, member3: 0 });
  });

  it("move nothing when they change", async () => {
    const before = await podUids(world, name);
    await score("member1", -100);
    await score("member2", 100);
    await scored(6);
    await world.until("six instances are ready", () => world.settled(name, 6));
    expect(await counts(name)).toEqual({ member1: 4, member2: 2, member3: 0 });
    expect(await podUids(world, name)).toMatchObject(before);
    await remove(name);
  });
});

describe("room in a cluster", () => {
  const quota = async (memory: string) => {
    const hard = { "requests.memory": memory };
    const metadata = { name: "memory", namespace: "default" };
    const api = world.stack.members.get("member2");
    await api?.apply({ apiVersion: "v1", kind: "ResourceQuota", metadata, spec: { hard } });
    await world.until(`the quota of ${memory} is counted`, async () => {
      const found = await api?.get("/api/v1/namespaces/default/resourcequotas/memory");
      return JSON.stringify(found?.status ?? {}).includes(`"hard":${JSON.stringify(hard)}`);
    });
  };

  it("that nodes do not offer, or a quota does not leave, is waited for with the reason, before any grant", async () => {
    // As the cluster's agent reports them: the simulated nodes of a member have 64 cores.
    const found = await world.hub.get(MANAGED_CLUSTERS, { name: "member1" });
    expect(found.status).toMatchObject({ allocatable: { cpu: "64" } });
    await quota("512Mi");
    await declare("large", { topology: { clusters: clusters(1, 0, 0) } }, "large:1", { cpu: "65" });
    await declare("limited", { topology: { clusters: clusters(0, 1, 0) } }, "limited:1", { memory: "1Gi" });
    await waits("large", "NoRoom", "its nodes offer 64 cpu");
    await waits("limited", "NoRoom", "ResourceQuota memory leaves 512Mi of 512Mi requests.memory");
    expect((await counts("large")).member1).toBe(0);
    expect((await counts("limited")).member2).toBe(0);
  });

  it("that is there at last is used: the instances are granted", async () => {
    const resources = { cpu: "128" };
    const status = { capacity: resources, allocatable: resources };
    const node = "/api/v1/nodes/member1-node/status";
    const member = world.stack.members.get("member1");
    await member?.request("PATCH", node, { status }, "application/merge-patch+json");
    await quota("1Gi");
    await world.until("the node is large enough", () => world.settled("large", 1));
    await world.until("the quota is", () => world.settled("limited", 1));
    await world.stack.members.get("member2")?.request("DELETE", "/api/v1/namespaces/default/resourcequotas/memory");
    await remove("large");
    await remove("limited");
  });
});

describe("agents that act as an account of their own", () => {
  const account = { namespace: SYSTEM_NAMESPACE, name: "lockstep" };

  beforeAll(async () => {
    for (const cluster of world.stack.members.keys()) {
      const work = executorWork(cluster, account, []);
      if (isKubeObject(work)) await world.stack.hub.apply(work);
    }
    for (const cluster of world.stack.members.keys()) {
      await world.until(`${cluster} has the account`, async () => {
        const work = await world.hub.find(MANIFEST_WORKS, { namespace: cluster, name: "lockstep-executor" });
        return JSON.stringify(work?.status ?? {}).includes("AppliedManifestWorkComplete");
      });
    }
  });

  it("apply what the account may, and every dispatch names it", async () => {
    await declare("acting", { topology: { clusters: clusters(1, 1, 1) } });
    await world.until("three instances are ready", () => world.settled("acting", 3));
    const works = await world.hub.listAll(MANIFEST_WORKS, { labelSelector: "lockstep.karmada.io/app" });
    const own = works.items.filter(
      ({ metadata }) => metadata.annotations?.["lockstep.karmada.io/app-name"] === "acting",
    );
    expect(own.length).toBeGreaterThanOrEqual(3);
    for (const { spec } of own) {
      expect(spec).toMatchObject({ executor: { subject: { type: "ServiceAccount", serviceAccount: account } } });
    }
  });

  it("apply nothing that the account may not, and the status names the account and the remedy", async () => {
    await world.member("member1").delete(BINDINGS, { name: "lockstep-executor" });
    // The agent remembers its answer for a while; another change is another question.
    await declare("acting", { topology: { clusters: clusters(1, 1, 1) } }, "acting:2");
    await waits("acting", `${account.namespace}/${account.name}`, "--executor");
    const running = await world.member("member1").get(STATEFULSETS, { namespace: "default", name: "acting" });
    expect(JSON.stringify(running.spec)).toContain("acting:1");
    for (const cluster of world.stack.members.keys()) {
      await world.hub.delete(MANIFEST_WORKS, { namespace: cluster, name: "lockstep-executor" });
    }
    await remove("acting");
  });
});

describe("a cluster that is to be detached", () => {
  const name = "kept";
  const detach = (cluster: string) => world.hub.delete(MANAGED_CLUSTERS, { name: cluster });
  const listed = async () => {
    const found = await world.hub.get(CONFIG_MAPS, { namespace: SYSTEM_NAMESPACE, name: CLUSTERS_IN_USE });
    return Object.keys(isJsonObject(found.data) ? found.data : {}).sort();
  };
  const uidIn = async (cluster: string) =>
    (await world.member(cluster).find(STATEFULSETS, { namespace: "default", name }))?.metadata.uid;

  it("is refused while instances run there, for an administrator too, and the message says what to do", async () => {
    await declare(name, { topology: { clusters: clusters(1, 1, 1) } });
    await world.until("three instances are ready", () => world.settled(name, 3));
    expect(await listed()).toEqual(["member1", "member2", "member3"]);
    await expect(detach("member3")).rejects.toThrow("lockstep drain member3 --move-instances");
    await expect(detach("member3")).rejects.toThrow(
      `kubectl annotate managedcluster member3 ${DETACH_WITHOUT_DRAIN}=true`,
    );
    await expect(world.hub.delete(NAMESPACES, { name: "member3" })).rejects.toThrow("lockstep drain member3");
    expect((await world.hub.get(MANAGED_CLUSTERS, { name: "member3" })).metadata.deletionTimestamp).toBeUndefined();
  });

  it("is detached after its instances have moved", async () => {
    await declare(name, { topology: { clusters: clusters(2, 1, 0) } });
    await world.until("they have moved", () => world.settled(name, 3));
    await world.until(
      "it is in use no more",
      async () => !(await listed()).includes("member3") || (await listed()).join(),
    );
    await detach("member3");
    await world.until(
      "it has left",
      async () => (await world.hub.find(MANAGED_CLUSTERS, { name: "member3" })) === undefined,
    );
    expect(await world.settled(name, 3)).toBe(true);
  });

  it("is detached at once if an administrator says so; what runs there stays, and the status says that it is lost", async () => {
    const uid = await uidIn("member2");
    expect(uid).toBeDefined();
    const body = { metadata: { annotations: { [DETACH_WITHOUT_DRAIN]: "true" } } };
    await world.hub.patch(MANAGED_CLUSTERS, { name: "member2" }, { type: "merge", body });
    await detach("member2");
    await world.until(
      "it has left",
      async () => (await world.hub.find(MANAGED_CLUSTERS, { name: "member2" })) === undefined,
    );
    await world.until("the status says so", async () => {
      const { clusters: rows } = await world.status(name);
      const row = (Array.isArray(rows) ? rows : []).find((each: KubeObject) => String(each.name) === "member2");
      return JSON.stringify(row ?? {}).includes("ClusterLost") || JSON.stringify(row ?? rows);
    });
    expect(await uidIn("member2")).toBe(uid);
    expect(Object.keys(await podUids(world, name)).some((pod) => pod.startsWith("member2/"))).toBe(true);
  });
});

it("no member ever showed a spec that was not granted, in any of these", () => {
  expect(observer.violations()).toEqual([]);
  expect(observer.states).toBeGreaterThan(10);
});
