/** Objects of every kind that end by themselves. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { exampleObjects } from "../cli/testing/harness.ts";
import type { KubeObject } from "../kube/index.ts";
import { isJsonObject, type JsonObject, timestamp } from "../runtime/index.ts";
import { application, configMap, inline, settle, statusOf } from "./testing/application.ts";
import { World } from "./testing/world.ts";

const DAY_SECONDS = 86_400;

describe("spec.lifetime", () => {
  let world: World;
  beforeEach(async () => {
    world = new World(9);
    await world.start();
  });
  afterEach(() => world.stop());

  const object = (plural: string, name: string) => world.fleet.hubObject(`apps.karmada.io/${plural}`, "default", name);
  const gone = (plural: string, name: string) => () => object(plural, name) === undefined;
  const inMembers = (path: string) =>
    world.fleet.memberNames.flatMap((name) =>
      world.fleet
        .member(name)
        .api.list(path, "default")
        .map((found) => `${name}/${found.metadata.name}`),
    );
  const hasEvent = async (name: string, reason: string) =>
    (await world.events(name)).some((event) => event.startsWith(`${reason} `));

  describe("of a DistributedApplication", () => {
    const shop = (lifetime: JsonObject) =>
      application("shop", {
        source: inline(configMap("settings", { a: "1" })),
        clusters: { names: ["member1", "member2"] },
        lifetime,
      });

    it("[A23] is said in the status and by an Event beforehand, and an edit extends it", async () => {
      await world.apply(shop({ ttlSeconds: 600 }));
      await settle(world, "shop");
      const bornMs = Date.parse(String(object("distributedapplications", "shop")?.metadata.creationTimestamp));
      expect(statusOf(world, "shop").expiresAt).toBe(timestamp(bornMs + 600_000));
      expect(await hasEvent("shop", "Expiring")).toBe(false);
      await world.ask(world.clock.sleep(560_000));
      expect(await world.events("shop")).toContain(
        `Expiring it ends by itself at ${timestamp(bornMs + 600_000)}, and is then torn down in order; edit spec.lifetime to keep it longer`,
      );
      await world.apply(shop({ ttlSeconds: 900 }));
      await world.ask(world.clock.sleep(120_000));
      expect(object("distributedapplications", "shop")).toBeDefined();
      expect(inMembers("/configmaps")).toContain("member1/settings");
      await world.until("it is gone", gone("distributedapplications", "shop"));
      expect(world.clock.now()).toBeGreaterThanOrEqual(bornMs + 900_000);
      expect(inMembers("/configmaps")).not.toContain("member1/settings");
      expect(await hasEvent("shop", "Expired")).toBe(true);
    });
  });

  describe("of a CrossClusterStatefulset", () => {
    const web = (edit: JsonObject) => exampleObjects("nginx:1.27", edit);

    it("[T7] is refused with deletionPolicy Release, which would leave the instances running", async () => {
      const [statefulset] = web({ lifetime: { ttlSeconds: 600 } });
      await expect(world.apply(statefulset as KubeObject)).rejects.toThrow(
        "lifetime needs deletionPolicy: Teardown, because Release would leave every instance running without Lockstep",
      );
    });

    it("[T7] is refused with both fields, and with none", async () => {
      for (const lifetime of [{}, { ttlSeconds: 600, expiresAt: "2030-01-01T00:00:00Z" }]) {
        const [statefulset] = web({ lifetime, deletionPolicy: "Teardown" });
        await expect(world.apply(statefulset as KubeObject)).rejects.toThrow(
          "lifetime needs exactly one of ttlSeconds and expiresAt",
        );
      }
    });

    it("[T7] tears it down from the highest ordinal down, and the object goes last", async () => {
      const order: string[] = [];
      for (const name of world.fleet.memberNames) {
        world.fleet.member(name).api.on("/pods", ({ type, object: pod }) => {
          if (type === "DELETED") order.push(`${name}/${pod.metadata.name}`);
        });
      }
      for (const each of web({ lifetime: { ttlSeconds: 600 }, deletionPolicy: "Teardown" })) await world.apply(each);
      await world.until("it is settled", () => world.isSettled("web", 5));
      expect(world.status("web").expiresAt).toBeDefined();
      await world.until(
        "it is being deleted",
        () => world.statefulset("web")?.metadata.deletionTimestamp !== undefined,
      );
      expect(await hasEvent("web", "Expiring")).toBe(true);
      await world.until("it is gone", gone("crossclusterstatefulsets", "web"));
      expect(order).toEqual([
        "member3/web-200",
        "member2/web-101",
        "member2/web-100",
        "member1/web-1",
        "member1/web-0",
      ]);
      expect(inMembers("apps/statefulsets")).toEqual([]);
    });

    it("[T7] does not begin while one of its clusters is away: nothing is deleted anywhere until it is back", async () => {
      for (const each of web({ lifetime: { ttlSeconds: 600 }, deletionPolicy: "Teardown" })) await world.apply(each);
      await world.until("it is settled", () => world.isSettled("web", 5));
      const before = inMembers("/pods");
      world.fleet.cut("member2");
      await world.ask(world.clock.sleep(900_000));
      expect(world.statefulset("web")?.metadata.deletionTimestamp).toBeUndefined();
      expect(before).toHaveLength(5);
      expect(inMembers("/pods")).toEqual(before);
      expect((await world.events("web")).join("\n")).toMatch(
        /ExpiryPostponed its lifetime ended at \S+, and it is not torn down yet: cluster member2 is not ready/,
      );
      world.fleet.mend("member2");
      await world.until("it is gone", gone("crossclusterstatefulsets", "web"));
      expect(inMembers("/pods")).toEqual([]);
    });
  });

  it("[J18] of a CrossClusterJob ends what still runs, and the object goes last", async () => {
    const annotations = { "lockstep.test/run-ms": String(DAY_SECONDS * 1000) };
    const pods = {
      metadata: { annotations },
      spec: { restartPolicy: "Never", containers: [{ name: "a", image: "b:1" }] },
    };
    await world.apply({
      apiVersion: "apps.karmada.io/v1alpha1",
      kind: "CrossClusterJob",
      metadata: { name: "train", namespace: "default" },
      spec: {
        template: { apiVersion: "batch/v1", kind: "Job", spec: { backoffLimit: 0, template: pods } },
        clusters: { names: ["member1"] },
        lifetime: { ttlSeconds: 600 },
      },
    });
    const status = () => {
      const found = object("crossclusterjobs", "train")?.status;
      return isJsonObject(found) ? found : {};
    };
    await world.until("it runs", () => status().phase === "Running");
    expect(status().expiresAt).toBeDefined();
    await world.until(
      "its end begins",
      () => object("crossclusterjobs", "train")?.metadata.deletionTimestamp !== undefined,
    );
    expect(await hasEvent("train", "Expiring")).toBe(true);
    await world.until("it is gone", gone("crossclusterjobs", "train"));
    expect(inMembers("batch/jobs")).toEqual([]);
  });
});
