/**
 * A hold that a user edits, and Works of other writers: they are named, nothing is granted meanwhile, and the
 * application continues afterwards.
 */
import { afterEach, expect, it } from "vitest";
import { SchemaCache } from "../apiserver/index.ts";
import { propagation, statefulSet, WORKS } from "../engine/testing/contract/index.ts";
import { type KubeObject, resource } from "../kube/index.ts";
import { isJsonObject } from "../runtime/index.ts";
import { PodRecorder, World } from "./testing/world.ts";

const HOLDS = resource({
  apiVersion: "policy.karmada.io/v1alpha1",
  kind: "OverridePolicy",
  plural: "overridepolicies",
  namespaced: true,
});
const schemas = new SchemaCache();
let world = new World(61, { schemas });
afterEach(() => world.stop());

async function deployed(): Promise<PodRecorder> {
  world = new World(61, { schemas });
  await world.start();
  const pods = new PodRecorder(world.fleet);
  const template = { apiVersion: "apps/v1", kind: "StatefulSet", name: "web", namespace: "default" };
  await world.apply(propagation("web"));
  await world.apply({
    apiVersion: "apps.karmada.io/v1alpha1",
    kind: "CrossClusterStatefulset",
    metadata: { name: "web", namespace: "default" },
    spec: { resourceSelector: template },
  });
  await world.until("the hold is in place", () => world.status("web").reason === "TemplateMissing");
  await world.apply(statefulSet("web", 5, "web:1"));
  await world.until("it is settled", () => world.isSettled("web", 5));
  return pods;
}

async function editHold(): Promise<void> {
  const [hold] = (await world.ask(world.hub.listAll(HOLDS))).items;
  if (!hold || !isJsonObject(hold.spec)) throw new Error("there is no hold");
  await world.ask(world.hub.update(HOLDS, { ...hold, spec: { ...hold.spec, overrideRules: [] } }));
}

async function karmadasWorks(): Promise<KubeObject[]> {
  const labelSelector = "!lockstep.karmada.io/app";
  const { items } = await world.ask(world.hub.listAll(WORKS, { labelSelector }));
  return items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
}

const message = () => String(world.status("web").message);
const rowsOf = () => JSON.stringify(world.status("web").clusters);
const isDefeated = () => world.status("web").reason === "HoldDefeated";

it("what Karmada rendered while its hold was edited is named, nothing is granted until it is gone, then the application continues", async () => {
  const pods = await deployed();
  await world.stopController();
  await editHold();
  await world.clock.advance(30_000);
  const rendered = await karmadasWorks();
  expect(rendered).toHaveLength(3);

  world.startController();
  await world.until("it is reported", isDefeated);
  for (const { metadata } of rendered) expect(message()).toContain(`Work ${metadata.namespace}/${metadata.name} `);
  expect(message()).toContain("kubectl delete work ");
  const rows = rowsOf();
  await world.apply(statefulSet("web", 5, "web:2"));
  await world.clock.advance(300_000);
  expect(rowsOf()).toBe(rows);
  // The hold is restored: Karmada delivers only what it rendered before.
  expect(new Set(Object.values(pods.images()))).toEqual(new Set(["web:1"]));

  for (const { metadata } of rendered) {
    const body = { spec: { preserveResourcesOnDeletion: true } };
    await world.ask(world.hub.patch(WORKS, metadata, { type: "merge", body }));
    await world.ask(world.hub.delete(WORKS, metadata));
  }
  await world.until("it continues by itself", () => {
    return world.isSettled("web", 5) && Object.values(pods.images()).every((image) => image === "web:2");
  });
});

it("a hold that is edited while the controller runs is repaired at once, and Works rendered meanwhile are named", async () => {
  await deployed();
  await editHold();
  await world.clock.advance(30_000);
  const [hold] = (await world.ask(world.hub.listAll(HOLDS))).items;
  expect(JSON.stringify(hold?.spec)).toContain("/lockstep-holds-this");
  const rendered = await karmadasWorks();
  expect(isDefeated()).toBe(rendered.length > 0);
});

it("a Work that another writer makes for the managed object is named with its cluster", async () => {
  await deployed();
  const manifest = statefulSet("web", 1, "web:rival");
  const labels = { "karmada.io/managed": "true" };
  const at = { namespace: "karmada-es-member2", name: "by-hand" };
  await world.ask(
    world.hub.create(WORKS, {
      apiVersion: WORKS.apiVersion,
      kind: WORKS.kind,
      metadata: { ...at, finalizers: ["karmada.io/execution-controller"] },
      spec: {
        preserveResourcesOnDeletion: true,
        workload: { manifests: [{ ...manifest, metadata: { ...manifest.metadata, labels } }] },
      },
    }),
  );
  await world.until("it is reported", isDefeated);
  expect(message()).toContain("Work karmada-es-member2/by-hand (cluster member2)");
  await world.ask(world.hub.delete(WORKS, at));
  await world.until("it is settled again", () => world.isSettled("web", 5));
  const live = world.fleet.member("member2").api.get("apps/statefulsets", "default", "web");
  expect(JSON.stringify(live?.spec)).toContain("web:1");
});
