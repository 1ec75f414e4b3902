/** Applications in clusters that nothing gives access to: all that is known of them is what their agents report. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { application, configMap, DISTRIBUTED_APPLICATIONS, inline } from "../../src/embedded/testing/application.ts";
import { resource } from "../../src/kube/index.ts";
import { isJsonObject, type JsonObject } from "../../src/runtime/index.ts";
import { allowDistribution } from "../stories/applications.ts";
import { MANAGER, type World } from "../stories/world.ts";
import { startReportedWorld } from "./world.ts";

const CONFIG_MAPS = resource({ apiVersion: "v1", kind: "ConfigMap", plural: "configmaps", namespaced: true });
const NAMESPACE = "default";

describe("an application in real clusters of OCM that only their agents show", () => {
  let world: World;
  beforeAll(async () => {
    world = await startReportedWorld();
    await allowDistribution(world);
  });
  afterAll(() => world?.stop());

  const declare = (more: JsonObject) =>
    world.hub.apply(
      DISTRIBUTED_APPLICATIONS,
      application("guest", {
        source: inline(configMap("guests", { list: "ours" }), configMap("rooms", { list: "ours" })),
        clusters: { names: ["member1", "member2"] },
        revisionSettleSeconds: 0,
        ...more,
      }),
      MANAGER,
    );
  const phase = (is: string) => async () => {
    const status = (await world.hub.find(DISTRIBUTED_APPLICATIONS, { namespace: NAMESPACE, name: "guest" }))?.status;
    return (isJsonObject(status) && status.phase === is) || JSON.stringify(status);
  };
  const inMember = (cluster: string, name: string) =>
    world.member(cluster).find(CONFIG_MAPS, { namespace: NAMESPACE, name });

  it("writes nothing into an object of another owner, not even fields that this owner does not set", async () => {
    const metadata = { name: "guests", namespace: NAMESPACE };
    await world.member("member2").create(CONFIG_MAPS, {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata,
      data: { theirs: "1" },
    });
    await declare({});
    await world.until("it has stopped", phase("Halted"));
    expect((await inMember("member1", "guests"))?.data).toEqual({ list: "ours" });
    const theirs = await inMember("member2", "guests");
    expect(theirs?.data).toEqual({ theirs: "1" });
    expect(theirs?.metadata.labels ?? {}).toEqual({});
  });

  it("takes it over with adopt, and leaves it when the application is deleted", async () => {
    await declare({ adopt: true, resumedAt: "2030-01-01T00:00:02Z" });
    await world.until("it has settled", phase("Settled"));
    expect((await inMember("member2", "guests"))?.data).toMatchObject({ list: "ours" });
    await world.hub.delete(DISTRIBUTED_APPLICATIONS, { namespace: NAMESPACE, name: "guest" });
    await world.until("the application's own objects are gone", async () => {
      const left = await Promise.all(["member1", "member2"].map((cluster) => inMember(cluster, "rooms")));
      return left.every((one) => one === undefined) || JSON.stringify(left.map((one) => one?.metadata.name));
    });
    expect(await inMember("member1", "guests")).toBeUndefined();
    expect(await inMember("member2", "guests")).toBeDefined();
  });
});
