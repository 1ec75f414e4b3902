/** Commands that report mistakes, against a fleet with the real controller, on virtual time. */
import { beforeAll, describe, expect, it } from "vitest";
import { CROSS_CLUSTER_STATEFULSETS } from "../../embedded/testing/world.ts";
import type { JsonObject } from "../../runtime/index.ts";
import { CliWorld, exampleObjects } from "../testing/harness.ts";

describe("typing mistakes that are reported at once", () => {
  const cli = new CliWorld(71);
  const { world } = cli;
  const edit = (spec: JsonObject) =>
    world.ask(
      world.hub.patch(
        CROSS_CLUSTER_STATEFULSETS,
        { namespace: "default", name: "web" },
        { type: "merge", body: { spec } },
      ),
    );
  const reason = (name: string) => () => world.status("web").reason === name;
  beforeAll(() => cli.deploy());

  it("a cluster of the topology that the fleet does not have is reported with the nearest name, and not as lost", async () => {
    const clusters = ["member1", "member2", "membr3"].map((name) => ({ name, replicas: 1 }));
    for (const object of exampleObjects("nginx:1.27", { topology: { clusters } }))
      await world.apply(JSON.parse(JSON.stringify(object).replaceAll('"web"', '"typo"')));
    await world.until("it is reported", () => world.status("typo").reason === "ClusterNotInFleet");
    await world.until("the others run", () => world.status("typo").readyReplicas === 2);
    expect(world.status("typo").message).toContain(
      "the fleet has no cluster 'membr3'; the nearest name is 'member3'. Correct the name",
    );
    expect(JSON.stringify(world.status("typo"))).not.toContain("Lost");
    const why = await cli.run(["why", "typo"]);
    expect(why.out).not.toContain("confirm-lost");
  });

  it("a wave with an unknown cluster is reported, and the application still settles", async () => {
    await edit({ updateStrategy: { rollingUpdate: { waves: [{ clusters: ["membr3"] }] } } });
    await world.until("it is reported", reason("SettingImpossible"));
    expect(world.status("web")).toMatchObject({
      phase: "Settled",
      message: expect.stringContaining(
        "wave 1 names 'membr3', which the fleet does not have; the nearest name is 'member3'",
      ),
    });
    await edit({ updateStrategy: { rollingUpdate: { waves: null } } });
    await world.until("it is corrected", () => world.status("web").reason === undefined);
  });

  it("a leader script that does not compile is reported with its line", async () => {
    await edit({ leader: { luaScript: "function GetLeader(o)\n  return o.status.leader(\nend" } });
    await world.until("it is reported", reason("SettingImpossible"));
    expect(world.status("web").message).toMatch(/^spec\.leader\.luaScript: .*line 3/);
    expect(world.status("web").phase).toBe("Settled");
  });

  it("a leader value that matches nothing is reported, with the value and what would match", async () => {
    await edit({ leader: { luaScript: null, fieldPath: "spec.serviceName" } });
    await world.until("it is reported", reason("LeaderUnknown"));
    const why = await cli.run(["why", "web"]);
    expect(why.out).toContain("member1  leader = web\n");
    expect(why.out).toContain("would match = member1, member2, member3, web-0, web-1,");
    expect(world.status("web").phase).toBe("Settled");
  });

  it("a kind that the hub does not serve is reported with the nearest one, by status, an Event and doctor", async () => {
    const [statefulset] = exampleObjects();
    await world.apply({
      ...statefulset!,
      metadata: { name: "kind", namespace: "default" },
      spec: { resourceSelector: { apiVersion: "apps/v1", kind: "Statefulset", name: "kind" } },
    });
    await world.until("it is reported", () => world.status("kind").reason === "UnknownKind");
    const said = "the hub does not serve kind 'Statefulset' of apps/v1; the nearest is 'StatefulSet'";
    expect(world.status("kind").message).toContain(said);
    expect(await world.events("kind")).toEqual([expect.stringContaining(`UnknownKind ${said}`)]);
    const { code, out } = await cli.run(["doctor"]);
    expect(code).toBe(1);
    expect(out).toContain(`templates: CrossClusterStatefulset default/kind: ${said}`);
    expect((await cli.run(["status", "kind"])).out).not.toContain("has not seen the latest spec");
  });

  it("an invalid spec is reported as invalid, and not as one that the controller has not seen", async () => {
    const maintenanceWindows = [{ cron: "0 2 * * *", durationSeconds: 60, timeZone: "Mars/Olympus" }];
    await edit({ leader: null, updateStrategy: { rollingUpdate: { maintenanceWindows } } });
    await world.until("it is reported", reason("InvalidSpec"));
    const { out } = await cli.run(["status", "web"]);
    expect(out).toContain("InvalidSpec: ");
    expect(out).not.toContain("has not seen the latest spec");
    expect(out).toContain("5/5 ready");
  });
});
