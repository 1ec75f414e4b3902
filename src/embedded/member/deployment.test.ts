import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { KubeObject } from "../../kube/index.ts";
import { isJsonObject, type JsonObject, valueAt } from "../../runtime/index.ts";
import { World } from "../testing/world.ts";

const DEPLOYMENTS = "apps/deployments";
const READY = '"type":"Ready","status":"True"';

describe("a member's Deployment controller", () => {
  let world: World;
  const api = () => world.fleet.member("member1").api;
  const found = () => api().get(DEPLOYMENTS, "default", "web");
  const status = (): JsonObject => (isJsonObject(found()?.status) ? (found()?.status as JsonObject) : {});
  const pods = () => api().list("/pods", "default");
  const sets = () => api().list("apps/replicasets", "default");
  const images = () => pods().map((pod) => /"image":"([^"]+)"/.exec(JSON.stringify(pod.spec))?.[1]);
  const progress = () => JSON.stringify(status().conditions ?? []);
  const isDone = (replicas: number) => () =>
    status().observedGeneration === found()?.metadata.generation &&
    status().updatedReplicas === replicas &&
    status().replicas === replicas &&
    status().availableReplicas === replicas;

  beforeEach(async () => {
    world = new World(1);
    await world.ask(world.fleet.start());
  });
  afterEach(() => world.ask(world.fleet.stop()));

  const change = async (spec: JsonObject) => {
    const now = found();
    if (now) await world.ask(api().update({ ...now, spec: { ...(now.spec as JsonObject), ...spec } }));
  };

  it("runs its replicas in one ReplicaSet, and says when all are available", async () => {
    await world.ask(api().create(deployment(3, "web:1")));
    await world.until("available", isDone(3));
    expect(sets()).toHaveLength(1);
    expect(images()).toEqual(["web:1", "web:1", "web:1"]);
    await world.until("complete", () => progress().includes("NewReplicaSetAvailable"));
    expect(progress()).toContain("MinimumReplicasAvailable");
  });

  it("replaces pods within maxSurge and maxUnavailable, and keeps the old ReplicaSet empty", async () => {
    await world.ask(api().create(deployment(4, "web:1")));
    await world.until("available", isDone(4));
    let [least, most] = [4, 4];
    api().on("/pods", () => {
      const alive = pods().filter(({ metadata }) => metadata.deletionTimestamp === undefined);
      least = Math.min(least, alive.filter((pod) => JSON.stringify(pod.status ?? {}).includes(READY)).length);
    });
    api().on("apps/replicasets", () => {
      const asked = sets().map((set) => Number(valueAt(set, "spec", "replicas")));
      most = Math.max(
        most,
        asked.reduce((sum, each) => sum + each, 0),
      );
    });
    await change({ template: template("web:2") });
    await world.until("updated", isDone(4));
    await world.until("the old pods are gone", () => pods().length === 4);
    expect(new Set(images())).toEqual(new Set(["web:2"]));
    expect(least).toBeGreaterThanOrEqual(3);
    expect(most).toBeLessThanOrEqual(5);
    expect(sets().map((set) => valueAt(set, "spec", "replicas"))).toEqual(expect.arrayContaining([0, 4]));
  });

  it("a broken revision never takes more away than maxUnavailable, and says so at its deadline", async () => {
    await world.ask(api().create(deployment(4, "web:1", { progressDeadlineSeconds: 60 })));
    await world.until("available", isDone(4));
    await change({ template: template("broken:1") });
    await world.until("late", () => progress().includes("ProgressDeadlineExceeded"));
    expect(status().availableReplicas).toBeGreaterThanOrEqual(3);
    await change({ template: template("web:1") });
    await world.until("back", isDone(4));
    expect(sets()).toHaveLength(2);
  });

  it("is scaled, recreated at once with Recreate, and deleted with its ReplicaSets and pods", async () => {
    await world.ask(api().create(deployment(2, "web:1", { strategy: { type: "Recreate" } })));
    await world.until("available", isDone(2));
    await change({ replicas: 3 });
    await world.until("grown", isDone(3));
    await change({ replicas: 1 });
    await world.until("shrunk", () => isDone(1)() && pods().length === 1);
    await change({ template: template("web:2") });
    await world.until("recreated", isDone(1));
    const now = found();
    if (now) await world.ask(api().delete(now));
    await world.until("nothing is left", () => pods().length === 0 && sets().length === 0);
  });
});

function template(image: string): JsonObject {
  return { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "web", image }] } };
}

function deployment(replicas: number, image: string, more: JsonObject = {}): KubeObject {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web", namespace: "default" },
    spec: { replicas, selector: { matchLabels: { app: "web" } }, template: template(image), ...more },
  };
}
