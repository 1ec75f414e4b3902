import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LEADER_TRANSFER, XlineWorld, xlineObjects } from "../../testing/xline-world.ts";

describe("transfer-leader", () => {
  const cli = new XlineWorld(51);
  const { world } = cli;
  beforeAll(() => cli.deployXline(LEADER_TRANSFER));
  afterAll(() => cli.stop());

  it("moves the leader to the cluster that a user named, and records the user", async () => {
    expect(cli.leader).toBe("member1");
    const { code, out } = await cli.run(["transfer-leader", "xline", "--to", "member2"], { user: "ada" });
    expect({ code, out }).toEqual({ code: 0, out: expect.stringContaining("is asked to move to member2") });
    await world.until("the leader has moved", () => cli.leader === "member2" && cli.transfer.state === "Moved");
    expect(cli.transfer).toMatchObject({ to: "member2", by: "ada", message: "the leader is xline-2 in member2 now" });
    expect(await world.events("xline")).toContainEqual(expect.stringContaining("LeaderMoved the leader was asked for"));
    await world.until("at rest", () => world.isSettled("xline", 5));
    expect(cli.application.quorumLosses).toBe(0);
  });

  it("moves it to one instance, and reports if it leads already", async () => {
    expect((await cli.run(["transfer-leader", "xline", "--to", "xline-3"])).code).toBe(0);
    await world.until("it is reported", () => JSON.stringify(world.status("xline").leader).includes("xline-3"));
    expect(cli.application.leader).toBe("xline-3");
    expect((await cli.run(["transfer-leader", "xline", "--to", "xline-3"])).out).toContain(
      "xline-3 in member2 already",
    );
  });

  it("offers the application's clusters and instances to the shell", async () => {
    const { out } = await cli.run(["__complete", "--", "transfer-leader", "xline", "--to", ""]);
    expect(out.split("\n")).toEqual(expect.arrayContaining(["member1", "member3", "xline-0", "xline-4"]));
  });

  it("refuses a target that does not exist, with the nearest name", async () => {
    const { code, err } = await cli.run(["transfer-leader", "xline", "--to", "membr3"]);
    expect({ code, err }).toMatchObject({ code: 1, err: expect.stringContaining("did you mean 'member3'?") });
  });

  it("refuses if the operator cannot be asked", async () => {
    const [statefulset] = xlineObjects("xline:1", {});
    await world.apply(statefulset);
    const { err } = await cli.run(["transfer-leader", "xline", "--to", "member1"]);
    expect(err).toContain("spec.updateStrategy.rollingUpdate.leaderTransfer is not set");
  });
});
