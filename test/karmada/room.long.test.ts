import { afterAll, beforeAll, expect, it } from "vitest";
import { statefulSet } from "../../src/engine/testing/contract/index.ts";
import { startWorld, type World } from "./world.ts";

const QUOTA = "/api/v1/namespaces/default/resourcequotas";

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world?.stop());

async function allowPods(cluster: string, pods: number): Promise<void> {
  const api = world.stack.members.get(cluster);
  if (!api) throw new Error(`no member ${cluster}`);
  const hard = { pods: String(pods) };
  const quota = { apiVersion: "v1", kind: "ResourceQuota", metadata: { name: "pods" }, spec: { hard } };
  const found = await api.get(`${QUOTA}/pods`);
  const written = found
    ? await api.request("PATCH", `${QUOTA}/pods`, { spec: { hard } }, "application/merge-patch+json")
    : await api.request("POST", QUOTA, quota);
  expect(written.status).toBeLessThan(300);
  await world.until("the quota is counted", async () => {
    const now = await api.get<{ status?: { hard?: { pods?: string }; used?: unknown } }>(`${QUOTA}/pods`);
    return now?.status?.hard?.pods === hard.pods && now.status.used !== undefined;
  });
}

it("an instance that a member's quota refuses waits with NoRoom before it is granted; an update continues; with room it is granted", async () => {
  const clusters = [...world.stack.members.keys()];
  await world.stage.declare(world, "web", statefulSet("web", 5, "web:1"));
  await world.until("it is deployed", async () => (await world.settled("web", 5)) === true);
  for (const cluster of clusters) await allowPods(cluster, 2);

  await world.stage.declare(world, "web", statefulSet("web", 7, "web:1"));
  await world.until("it waits for room", async () => {
    const text = JSON.stringify(await world.status("web"));
    return text.includes("NoRoom") || text;
  });
  const message = JSON.stringify(await world.status("web"));
  expect(message).toMatch(/ResourceQuota pods leaves [01] of 2 pods, an instance takes 1/);

  // The update deletes each pod before it creates the next one: full quotas do not keep it from ending.
  await world.stage.declare(world, "web", statefulSet("web", 7, "web:2"));
  const images = async () => {
    const sets = await Promise.all(
      [...world.stack.members.values()].map((api) =>
        api.get<{ spec: { template: { spec: { containers: { image: string }[] } } } }>(
          "/apis/apps/v1/namespaces/default/statefulsets/web",
        ),
      ),
    );
    return sets.map((set) => set?.spec.template.spec.containers[0]?.image);
  };
  await world.until("every cluster runs the new image", async () => (await images()).every((each) => each === "web:2"));

  for (const cluster of clusters) await allowPods(cluster, 10);
  await world.until("it has grown", async () => (await world.settled("web", 7)) === true);
}, 300_000);
