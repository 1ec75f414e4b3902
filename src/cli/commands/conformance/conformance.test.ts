import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Conduct, type Database, type SimulatedApplication, startXline } from "../../../embedded/index.ts";
import { World } from "../../../embedded/testing/world.ts";
import { seededRandom, silentLog } from "../../../runtime/index.ts";
import { runCli } from "../../program.ts";
import { testIo } from "../../testing/harness.ts";

const OBJECT = `
apiVersion: apps.my.io/v1alpha1
kind: XlineCluster
metadata: {name: trial, namespace: default}
spec: {image: "example.com/xline:1.0", replicas: 3}
`;

describe("lockstep conformance", () => {
  const world = new World(71, { members: ["member1"] });
  let conduct: Conduct = { stands: false, lies: false, hastes: false };
  let xline: Database<SimulatedApplication>;
  beforeAll(async () => {
    await world.start();
    const { fleet, clock } = world;
    const options = { fleet, clock, random: seededRandom(1), log: silentLog, conduct: () => conduct };
    xline = await world.ask(startXline(options));
  });
  afterAll(async () => {
    await world.ask(xline.stop());
    await world.stop();
  });

  /** In the member, as with `--context member1`. */
  async function run(text = OBJECT): Promise<{ code: number; out: string; err: string }> {
    const io = testIo(world.clock, world.fleet.member("member1").entrance.transport(), {
      files: { "object.yaml": text },
    });
    const code = await world.ask(runCli(["conformance", "-f", "object.yaml"], io));
    return { code, out: io.out.join(""), err: io.err.join("") };
  }

  it("exits 0 for an operator that follows the contract, and leaves no pod behind", async () => {
    const { code, out } = await run();
    expect({ code, out }).toMatchObject({ code: 0, out: expect.stringMatching(/\n\d+ passed, 0 failed\n$/) });
    await world.until("its pods are gone", () => world.fleet.member("member1").api.list("/pods").length === 0);
  });

  it("names the broken rule and what the operator did, and exits 1", async () => {
    conduct = { stands: false, lies: false, hastes: true };
    const { code, out } = await run();
    expect(code).toBe(1);
    expect(out).toContain("FAIL  M3  has at most one instance down at a time: 2 of 3 were down at once");
    expect(out).toContain("M3: With the turn, bring the cluster to its spec, one instance at a time.");
  });

  it("refuses a kind that the cluster does not have, with the remedy", async () => {
    const { code, err } = await run(OBJECT.replace("XlineCluster", "Unknown"));
    expect({ code, err }).toMatchObject({ code: 1, err: expect.stringContaining("Choose one with --context") });
  });
});
