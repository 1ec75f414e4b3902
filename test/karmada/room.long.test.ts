/** Quotas of a real Karmada: what does not fit waits, with the reason, before it is granted. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { statefulSet } from "../../src/engine/testing/contract/index.ts";
import type { KubeObject } from "../../src/kube/index.ts";
import { podImages } from "../stories/world.ts";
import { startWorld, type World } from "./world.ts";

const QUOTA = "/api/v1/namespaces/default/resourcequotas/pods";
const FEDERATED = "/apis/policy.karmada.io/v1alpha1/namespaces/default/federatedresourcequotas";
const TIMEOUT_MS = 300_000;

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world?.stop());

/** Writes a FederatedResourceQuota; an existing one gets this spec. */
async function federated(name: string, spec: object): Promise<void> {
  const object = { apiVersion: "policy.karmada.io/v1alpha1", kind: "FederatedResourceQuota", metadata: { name }, spec };
  const created = await world.stack.hub.request("POST", FEDERATED, object);
  if (created.status === 201) return;
  const path = `${FEDERATED}/${name}`;
  const patched = await world.stack.hub.request("PATCH", path, { spec }, "application/merge-patch+json");
  expect(patched.status, `${created.text} ${patched.text}`).toBe(200);
}

/** In each cluster: Karmada makes a ResourceQuota of it there. */
async function allowPods(pods: number): Promise<void> {
  const hard = { pods: String(pods) };
  const clusters = [...world.stack.members.keys()];
  const overall = { pods: String(pods * clusters.length) };
  await federated("pods", { overall, staticAssignments: clusters.map((clusterName) => ({ clusterName, hard })) });
  for (const [cluster, api] of world.stack.members) {
    await world.until(`the quota is counted in ${cluster}`, async () => {
      const now = await api.get<{ status?: { hard?: { pods?: string }; used?: unknown } }>(QUOTA);
      return now?.status?.hard?.pods === hard.pods && now.status.used !== undefined;
    });
  }
}

const declare = (object: KubeObject) => world.stage.declare(world, object.metadata.name, object);

async function waitsFor(name: string, evidence: RegExp): Promise<void> {
  await world.until(`${name} waits with ${evidence}`, async () => {
    const text = JSON.stringify(await world.status(name));
    return evidence.test(text) || text;
  });
}

async function runs(name: string, image: string): Promise<void> {
  await world.until(`all of ${name} runs ${image}`, async () => {
    const pods = Object.values(await podImages(world, name)).flat();
    return (pods.length >= 5 && pods.every((pod) => pod.endsWith(` ${image}`))) || pods.join();
  });
}

it(
  "an instance that a member's quota refuses waits with NoRoom before it is granted; an update continues; with room it is granted",
  async () => {
    await declare(statefulSet("web", 5, "web:1"));
    await world.until("it is deployed", () => world.settled("web", 5));
    await allowPods(2);

    await declare(statefulSet("web", 7, "web:1"));
    await waitsFor("web", /NoRoom.*ResourceQuota pods leaves [01] of 2 pods, an instance takes 1/);

    // The update deletes each pod before it creates the next one: full quotas do not keep it from ending.
    await declare(statefulSet("web", 7, "web:2"));
    await runs("web", "web:2");

    await allowPods(10);
    await world.until("it has grown", () => world.settled("web", 7));
  },
  TIMEOUT_MS,
);
