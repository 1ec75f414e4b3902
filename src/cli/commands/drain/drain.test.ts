import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LEADER_TRANSFER, XlineWorld, xlineObjects } from "../../testing/xline-world.ts";

describe("drain and undrain", () => {
  const cli = new XlineWorld(52);
  const { world } = cli;
  beforeAll(() => cli.deployXline(LEADER_TRANSFER));
  afterAll(() => cli.stop());

  it("drain first shows its effects, and changes nothing before a user has confirmed it", async () => {
    const { code, out, err } = await cli.run(["drain", "member1"]);
    expect(code).toBe(1);
    expect(out).toBe(
      [
        "default/xline: 2 instances stay",
        "  the leader xline-0 is asked to move to another cluster",
        "  if member1 goes down, 3 of 5 are ready, 3 needed",
        "",
      ].join("\n"),
    );
    expect(err).toContain("No step would start in member1 until it is undrained");
    expect((await cli.run(["drain", "membr1", "--yes"])).err).toContain("did you mean 'member1'?");
    await world.clock.advance(60_000);
    expect(cli.leader).toBe("member1");
  });

  it("drain moves the leader to another cluster and no instance", async () => {
    const before = cli.pods.images();
    expect((await cli.run(["drain", "member1", "--yes"])).out).toContain("cluster member1 is drained for maintenance");
    await world.until("the leader has left", () => cli.leader !== "" && cli.leader !== "member1");
    await world.until("at rest", () => world.isSettled("xline", 5));
    expect(cli.row("member1")).toMatchObject({ reason: "InMaintenance", phase: "Settled" });
    expect(cli.pods.images()).toEqual(before);
    expect((await cli.run(["drain", "member1"])).out).toContain("is already drained");
    const why = await cli.run(["why", "xline"]);
    expect(why.out).toContain("\n  lockstep undrain member1\n");
  });

  it("an update skips a drained cluster, waits for it, and continues there once it is undrained", async () => {
    cli.pods.expect(5);
    const [, template] = xlineObjects("xline:2", LEADER_TRANSFER);
    await world.apply(template);
    await world.until("it waits for the maintenance", () => cli.row("member1").reason === "WaitingForMaintenance");
    // The leader's cluster goes last, so it waits for the drained one too.
    await world.until("member3 is updated", () => world.status("xline").updatedReplicas === 1);
    await world.clock.advance(600_000);
    expect(world.status("xline").updatedReplicas).toBe(1);
    expect((await cli.run(["undrain", "member1"])).out).toContain("waiting steps start");
    await world.until("complete", () => world.isSettled("xline", 5));
    expect(Object.values(cli.pods.images())).toEqual(Array.from({ length: 5 }, () => "xline:2"));
    expect(cli.pods.worst).toBe(1);
    expect(cli.application.quorumLosses).toBe(0);
    expect((await cli.run(["undrain", "member1"])).out).toContain("is not drained");
  });

  it("drain --move-instances moves them to the smallest others, adds before it removes, and keeps the quorum", async () => {
    const asked = await cli.run(["drain", "member2", "--move-instances"]);
    expect(asked.out).toContain("default/xline: 2 instances move: member1 2 -> 3, member3 1 -> 2\n");
    cli.pods.expect(5);
    expect((await cli.run(["drain", "member2", "--move-instances", "--yes"])).code).toBe(0);
    await world.until("nothing is left there", () => !cli.holds("member2"));
    await world.until("at rest", () => world.isSettled("xline", 5));
    const places = Object.keys(cli.pods.images()).map((place) => place.split("/")[0]);
    expect(places).toEqual(["member1", "member1", "member1", "member3", "member3"]);
    expect(cli.application.quorumLosses).toBe(0);
    expect(cli.leader).not.toBe("member2");
  });
});
