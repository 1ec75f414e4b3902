import { beforeAll, describe, expect, it } from "vitest";
import { CliWorld } from "../../testing/harness.ts";

describe("a lost cluster", () => {
  const cli = new CliWorld(4);
  beforeAll(() => cli.deploy());

  it("is confirmed lost by a user after a question", async () => {
    const { world } = cli;
    expect((await cli.run(["confirm-lost", "member3", "web", "--yes"])).err).toContain(
      "Cluster member3 is Ready: its instances are not lost",
    );
    world.fleet.cut("member3");
    await world.until("it is lost", () => JSON.stringify(world.status("web")).includes('"ClusterLost"'));
    expect((await cli.run(["confirm-lost", "membr3"])).err).toContain(
      "no CrossClusterStatefulset of namespace default uses cluster 'membr3'",
    );
    expect((await cli.run(["confirm-lost", "membr3", "web"])).err).toContain("did you mean 'member3'?");
    expect((await cli.run(["confirm-lost", "member3"])).err).toContain("pass --yes to confirm");
    const why = await cli.run(["why", "web"]);
    expect(why.out).toContain("cluster member3  Ready = NotReady  since 20");
    expect(why.out).toContain("lockstep confirm-lost member3 web -n default");
    expect((await cli.run(["confirm-lost", "member3"], { answer: "yes" })).out).toBe(
      "CrossClusterStatefulset default/web: member3 is confirmed lost\n",
    );
    expect(world.statefulset("web")?.spec).toMatchObject({ failover: { confirmedLost: [{ name: "member3" }] } });
    expect((await cli.run(["doctor"])).out).toMatch(/problem +member member3: is not Ready/);
  });
});
