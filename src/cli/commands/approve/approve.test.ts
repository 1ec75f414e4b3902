import { beforeAll, describe, expect, it } from "vitest";
import { isJsonObject } from "../../../runtime/index.ts";
import { CliWorld, exampleObjects, exampleTemplate } from "../../testing/harness.ts";

describe("a wave that waits for a user", () => {
  const cli = new CliWorld(3);
  const { world } = cli;
  const awaits = (wave: number) => () => {
    const { rollout } = world.status("web");
    return isJsonObject(rollout) && rollout.awaitingApproval === true && rollout.wave === wave;
  };

  beforeAll(async () => {
    await world.start();
    const waves = [
      { clusters: ["member3"], approval: "Manual" },
      { clusters: ["member2"], approval: "Manual" },
    ];
    for (const object of exampleObjects("nginx:1.27", { updateStrategy: { rollingUpdate: { waves } } }))
      await world.apply(object);
    await world.until("deployed", () => world.isSettled("web", 5));
  });

  it("is approved by its number, counted from 1, by the authenticated user", async () => {
    const early = await cli.run(["approve", "web"]);
    expect(early).toMatchObject({ code: 1, err: expect.stringContaining("no rollout is in progress") });
    await world.apply(exampleTemplate("nginx:1.28"));
    await world.until("it waits", awaits(1));
    const why = await cli.run(["why", "web"]);
    expect(why.out).toContain("wave 1 is complete");
    expect(why.out).toContain("\nRemedy\n  lockstep approve web -n default\n");
    expect((await cli.run(["approve", "web", "--wave", "4"])).err).toContain("has the waves 1 to 2");
    expect((await cli.run(["approve", "web", "--wave", "0"])).err).toContain("has the waves 1 to 2");
    expect((await cli.run(["approve", "web", "--wave", "2"])).err).toContain("wave 1 of");
    const approved = await cli.run(["approve", "web", "--comment", "looks good"], { user: "ada" });
    expect(approved.out).toMatch(
      /^wave 1 of CrossClusterStatefulset default\/web is approved for revision web-\w+ by ada\n/,
    );
    const name = `web-${world.status("web").updateRevision}-wave-1`;
    await world.until("the approval is used", () =>
      JSON.stringify(world.fleet.hubObject("apps.karmada.io/rolloutapprovals", "default", name)).includes("usedAt"),
    );
    const approval = world.fleet.hubObject("apps.karmada.io/rolloutapprovals", "default", name);
    expect(approval).toMatchObject({ spec: { wave: 1, approvedBy: "ada" }, status: { approvedBy: "ada" } });
  });

  it("a second approve does not open the next wave before it has started, and reports the state of the rollout", async () => {
    // At once, while the status still shows that wave 1 waits: the same approval once more.
    expect((await cli.run(["approve", "web"])).out).toContain(
      "wave 1 of CrossClusterStatefulset default/web is already approved",
    );
    await world.until("the second wave has begun", () =>
      JSON.stringify(world.status("web")).includes('"type":"Updating","cluster":"member2"'),
    );
    const second = await cli.run(["approve", "web"]);
    expect(second).toMatchObject({ code: 1, out: "" });
    expect(second.err).toMatch(
      /no wave of .* waits for approval: it rolls out web-\w+, wave 2 is in progress, member2 is/,
    );
    await world.until("the second wave waits", awaits(2));
    expect((await cli.run(["status", "web"])).out).toMatch(/revision web-\w+ -> web-\w+, wave 2\n/);
    expect((await cli.run(["approve", "web", "--wave", "2"])).code).toBe(0);
    await world.until("complete", () => world.isSettled("web", 5));
  });
});
