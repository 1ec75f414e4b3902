import { describe, expect, it } from "vitest";
import { checkOperator, type Finding } from "../../sdk/index.ts";
import { World } from "../testing/world.ts";
import { type Conduct, startXline } from "./index.ts";

const GOOD: Conduct = { stands: false, lies: false, hastes: false };

/** What the conformance suite finds in the example's operator, on virtual time. */
async function findings(conduct: Conduct): Promise<Finding[]> {
  const world = new World(1, { members: ["member1"] });
  await world.start();
  const { fleet, clock } = world;
  const random = { next: () => 0.5 } as Parameters<typeof startXline>[0]["random"];
  const { silentLog } = await import("../../runtime/index.ts");
  const database = await world.ask(startXline({ fleet, clock, random, log: silentLog, conduct: () => conduct }));
  try {
    return await world.ask(
      checkOperator({
        transport: fleet.member("member1").entrance.transport(),
        clock,
        kind: { apiVersion: "apps.my.io/v1alpha1", kind: "XlineCluster", plural: "xlineclusters" },
        namespace: "default",
        name: "conformance",
        spec: { image: "example.com/xline:1.0" },
        addressTemplate: "{instance}",
        stepMs: 60_000,
        quietMs: 10_000,
      }),
    );
  } finally {
    await world.ask(database.stop());
    await world.stop();
  }
}

const broken = (found: readonly Finding[]) => found.filter((each) => each.broken !== undefined);

describe("the conformance suite", () => {
  it("finds that the example's operator follows every rule", async () => {
    const found = await findings(GOOD);
    expect(broken(found)).toEqual([]);
    expect(found.length).toBeGreaterThan(20);
  });

  it("finds that an operator does not report and does not act (M7, M3)", async () => {
    const rules = broken(await findings({ ...GOOD, stands: true })).map(({ rule }) => rule);
    expect(rules).toEqual(["M7", "M3"]);
  });

  it("finds that an operator reports Done without doing anything (M8)", async () => {
    const rules = broken(await findings({ ...GOOD, lies: true })).map(({ rule }) => rule);
    expect(rules).toContain("M8");
  });

  it("finds that an operator restarts several instances at once (M3)", async () => {
    const found = broken(await findings({ ...GOOD, hastes: true }));
    expect(found).toContainEqual({
      rule: "M3",
      check: "has at most one instance down at a time",
      broken: "2 of 3 were down at once",
    });
  });
});
