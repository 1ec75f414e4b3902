import { afterEach, expect, it } from "vitest";
import { SchemaCache } from "../apiserver/index.ts";
import { statefulSet, WORKS } from "../engine/testing/contract/index.ts";
import type { KubeObject } from "../kube/index.ts";
import { PodRecorder, World } from "./testing/world.ts";

const NAMESPACE = "karmada-es-member2";

const crossCluster: KubeObject = {
  apiVersion: "apps.karmada.io/v1alpha1",
  kind: "CrossClusterStatefulset",
  metadata: { name: "web", namespace: "default" },
  spec: {
    resourceSelector: { apiVersion: "apps/v1", kind: "StatefulSet", name: "web", namespace: "default" },
    topology: {
      clusters: [
        { name: "member1", replicas: 1 },
        { name: "member2", replicas: 2 },
      ],
    },
    updateStrategy: { type: "RollingUpdate" },
  },
};

const world = new World(41, { schemas: new SchemaCache(), members: ["member1", "member2"] });
afterEach(() => world.stop());

it("the controller recreates a deleted Work: its object is taken over unchanged, and updates continue", async () => {
  await world.start();
  const pods = new PodRecorder(world.fleet);
  await world.apply(crossCluster);
  await world.until("the hold is in place", () => world.status("web").reason === "TemplateMissing");
  await world.apply(statefulSet("web", 3, "web:1"));
  await world.until("three instances are settled", () => world.isSettled("web", 3));
  const started = [...pods.order];

  const works = async () => (await world.ask(world.hub.listAll(WORKS, { namespace: NAMESPACE }))).items;
  const deleteAndWait = async (deleted: readonly KubeObject[]) => {
    for (const { metadata } of deleted) {
      // A user who insists removes Karmada's protection first.
      const labels = { "resourcetemplate.karmada.io/deletion-protected": null };
      await world.ask(world.hub.patch(WORKS, metadata, { type: "merge", body: { metadata: { labels } } }));
      await world.ask(world.hub.delete(WORKS, metadata));
    }
    const isAnother = ({ metadata }: KubeObject) => {
      const now = world.fleet.hubObject("work.karmada.io/works", NAMESPACE, metadata.name);
      return now !== undefined && now.metadata.uid !== metadata.uid;
    };
    await world.until("other Works are there", () => deleted.every(isAnother));
  };
  const isWorkload = ({ metadata }: KubeObject) => metadata.name.startsWith("web-statefulset-");
  const supporting = (await works()).filter((work) => !isWorkload(work));
  expect(supporting.length).toBeGreaterThan(0);
  await deleteAndWait(supporting);
  await deleteAndWait((await works()).filter(isWorkload));
  await deleteAndWait(await works());
  expect(pods.order).toEqual(started);

  await world.apply(statefulSet("web", 3, "web:2"));
  await world.until(
    "all run the new image",
    () => Object.values(pods.images()).every((image) => image === "web:2") && world.isSettled("web", 3),
  );
});
