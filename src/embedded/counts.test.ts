/** Kinds that keep their count in another field than spec.replicas, with an operator that does not know Lockstep. */
import { afterEach, describe, expect, it } from "vitest";
import { SchemaCache } from "../apiserver/index.ts";
import { type KubeObject, resource } from "../kube/index.ts";
import { isJsonObject, type JsonObject } from "../runtime/index.ts";
import { CROSS_CLUSTER_STATEFULSETS, World } from "./testing/world.ts";

const schemas = new SchemaCache();
const AT = { name: "shop", namespace: "default" };
const KIND = { apiVersion: "example.io/v1", kind: "Store" };
const STORES = "example.io/stores";
const DEFINITIONS = resource({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  plural: "customresourcedefinitions",
  namespaced: false,
});

const DEFINITION: KubeObject = {
  apiVersion: DEFINITIONS.apiVersion,
  kind: DEFINITIONS.kind,
  metadata: { name: "stores.example.io" },
  spec: {
    group: "example.io",
    names: { kind: "Store", listKind: "StoreList", plural: "stores", singular: "store" },
    scope: "Namespaced",
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
        subresources: { status: {} },
      },
    ],
  },
};

const COUNT = {
  replicaResource: { luaScript: "function GetReplicas(obj)\n  return obj.spec.size, nil\nend\n" },
  replicaRevision: {
    luaScript: "function ReviseReplica(obj, desiredReplica)\n  obj.spec.size = desiredReplica\n  return obj\nend\n",
  },
};
const HEALTH = {
  healthInterpretation: {
    luaScript: 'function InterpretHealth(obj)\n  return obj.status ~= nil and obj.status.phase == "Running"\nend\n',
  },
};

function customization(customizations: JsonObject): KubeObject {
  return {
    apiVersion: "config.karmada.io/v1alpha1",
    kind: "ResourceInterpreterCustomization",
    metadata: { name: "stores" },
    spec: { target: KIND, customizations },
  };
}

function crossCluster(
  spec: JsonObject = {},
  sizes: Readonly<Record<string, number>> = { member1: 2, member2: 2, member3: 1 },
): KubeObject {
  return {
    apiVersion: "apps.karmada.io/v1alpha1",
    kind: "CrossClusterStatefulset",
    metadata: AT,
    spec: {
      resourceSelector: { ...KIND, ...AT },
      topology: { clusters: Object.entries(sizes).map(([name, replicas]) => ({ name, replicas })) },
      ...spec,
    },
  };
}

function store(image: string): KubeObject {
  return { ...KIND, metadata: AT, spec: { size: 5, image } };
}

type Status = (size: number, generation: number) => JsonObject;

let world: World;
afterEach(() => world.stop());

/** A hub and members that serve the kind, each with an operator that takes half a second for every change. */
async function start(customizations: JsonObject, status: Status): Promise<void> {
  world = new World(51, { schemas });
  await world.start();
  const options = { fieldManager: "test", force: true };
  await world.ask(world.hub.apply(DEFINITIONS, DEFINITION, options));
  for (const name of world.fleet.memberNames) {
    await world.ask(world.fleet.client(name).apply(DEFINITIONS, DEFINITION, options));
    const { api } = world.fleet.member(name);
    api.on(STORES, ({ type, object: { metadata } }) => {
      if (type === "DELETED") return;
      world.clock.after(500, () => {
        const now = api.get(STORES, AT.namespace, AT.name);
        const size = isJsonObject(now?.spec) ? Number(now.spec.size) : 0;
        const wanted = status(size, now?.metadata.generation ?? 0);
        if (!now || metadata.generation !== now.metadata.generation) return;
        if (JSON.stringify(now.status) !== JSON.stringify(wanted)) void api.updateStatus({ ...now, status: wanted });
      });
    });
  }
  await world.apply(customization(customizations));
}

async function deploy(spec: JsonObject = {}): Promise<void> {
  await world.apply(crossCluster(spec));
  await world.until("the hold is in place", () => world.status("shop").reason === "TemplateMissing");
  await world.apply(store("store:1"));
  await world.until("five are settled", () => world.isSettled("shop", 5));
}

const running = () =>
  world.fleet.memberNames.map((name) => {
    const spec = world.fleet.member(name).api.get(STORES, AT.namespace, AT.name)?.spec;
    return isJsonObject(spec) ? `${spec.image} x${spec.size}` : "nothing";
  });

async function update(): Promise<void> {
  await world.apply(store("store:2"));
  await world.until("all run the new image", () => running().every((each) => each.startsWith("store:2")));
  await world.until("it is settled", () => world.isSettled("shop", 5));
  expect(running()).toEqual(["store:2 x2", "store:2 x2", "store:2 x1"]);
}

describe("a kind whose count is in spec.size", () => {
  it("is deployed and updated when its status has the counts of Kubernetes' own kinds", async () => {
    await start(COUNT, (size, observedGeneration) => ({
      observedGeneration,
      replicas: size,
      readyReplicas: size,
      updatedReplicas: size,
    }));
    await deploy();
    await update();
  });

  it("is deployed, updated, moved and torn down when its status has no counts, and a script reports its health", async () => {
    await start({ ...COUNT, ...HEALTH }, (_size, observedGeneration) => ({ observedGeneration, phase: "Running" }));
    await deploy({ deletionPolicy: "Teardown" });
    await update();
    await world.apply(crossCluster({ deletionPolicy: "Teardown" }, { member1: 1, member2: 3, member3: 1 }));
    await world.until("it is moved", () => running().join() === "store:2 x1,store:2 x3,store:2 x1");
    await world.until("it is settled", () => world.isSettled("shop", 5));
    await world.ask(world.hub.delete(CROSS_CLUSTER_STATEFULSETS, AT));
    await world.until("nothing is left", () => running().every((each) => each === "nothing"));
    await world.until("the object is gone", () => world.statefulset("shop") === undefined);
  });

  it("is deployed when its status does not name its generation, and a user accepts that", async () => {
    await start({ ...COUNT, ...HEALTH }, () => ({ phase: "Running" }));
    await deploy({ completion: { protocol: "HeldSpec", assumeAfterSeconds: 30 } });
  });
});
