import { afterEach, expect, it } from "vitest";
import { type KubeObject, resource } from "../kube/index.ts";
import { World } from "./testing/world.ts";

const QUOTAS = resource({ apiVersion: "v1", kind: "ResourceQuota", plural: "resourcequotas", namespaced: true });
const NAME = { name: "web", namespace: "default" };

let world: World;
afterEach(() => world.clock.run(world.fleet.stop()));

function crossCluster(replicas: number): KubeObject {
  const resourceSelector = { apiVersion: "apps/v1", kind: "StatefulSet", ...NAME };
  const clusters = ["member1", "member2"].map((name) => ({ name, replicas }));
  return {
    apiVersion: "apps.karmada.io/v1alpha1",
    kind: "CrossClusterStatefulset",
    metadata: NAME,
    spec: { resourceSelector, topology: { clusters }, podManagementPolicy: "Parallel" },
  };
}

function template(image: string): KubeObject {
  const selector = { app: "web" };
  const spec = { containers: [{ name: "web", image }] };
  return {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: NAME,
    spec: {
      replicas: 2,
      serviceName: "web",
      selector: { matchLabels: selector },
      template: { metadata: { labels: selector }, spec },
    },
  };
}

/** As the quota's controller leaves it. */
async function setQuota(hard: number, used: number): Promise<void> {
  const member = world.fleet.client("member2");
  const [most, taken] = [{ pods: String(hard) }, { pods: String(used) }];
  const metadata = { name: "pods", namespace: "default" };
  const quota = { apiVersion: "v1", kind: "ResourceQuota", metadata, spec: { hard: most } };
  const options = { fieldManager: "test", force: true };
  const written = await world.ask(member.apply(QUOTAS, quota, options));
  const status = { hard: most, used: taken };
  await world.ask(member.update(QUOTAS, { ...written, status }, { subresource: "status" }));
}

it("[S18] an instance that a member's quota refuses waits with NoRoom; an update continues; with room it is granted", async () => {
  world = new World(7, { members: ["member1", "member2"] });
  await world.start();
  await world.apply(crossCluster(1));
  await world.until("the hold is in place", () => world.status("web").reason === "TemplateMissing");
  await world.apply(template("web:1"));
  await world.until("it is deployed", () => world.isSettled("web", 2));

  await setQuota(1, 1);
  await world.apply(crossCluster(2));
  await world.until("the other cluster has grown", () => world.status("web").readyReplicas === 3);
  await world.until("it waits", () => JSON.stringify(world.status("web")).includes("NoRoom"));
  expect(JSON.stringify(world.status("web"))).toContain("ResourceQuota pods leaves 0 of 1 pods, an instance takes 1");
  expect(world.fleet.member("member2").api.list("/pods")).toHaveLength(1);

  await world.apply(template("web:2"));
  const images = () => ["member1", "member2"].flatMap((name) => world.fleet.member(name).api.list("/pods"));
  await world.until("every pod is updated", () => {
    const pods = images();
    return pods.length === 3 && pods.every((pod) => JSON.stringify(pod.spec).includes("web:2"));
  });

  await setQuota(2, 1);
  await world.until("it has grown", () => world.isSettled("web", 4));
});
