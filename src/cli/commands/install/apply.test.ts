import { describe, expect, it } from "vitest";
import { CliWorld } from "../../testing/harness.ts";

describe("install --apply", () => {
  it("applies everything to a hub, and fails if the server is not a hub", async () => {
    const cli = new CliWorld(8);
    await cli.world.clock.run(cli.world.fleet.start());
    const { code, out, err } = await cli.run(["install", "--apply"]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toContain("CustomResourceDefinition crossclusterstatefulsets.apps.karmada.io applied\n");
    expect(out).toContain("ClusterOverridePolicy lockstep-standing-hold applied\n");
    const again = await cli.run(["install", "--apply"]);
    expect(again.out).toBe(out);
  });
});
