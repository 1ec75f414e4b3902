/** Custom kinds in clusters that nothing gives access to: what their operators do is known by the agents' reports alone. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { contractStory } from "../stories/contract-story.ts";
import type { World } from "../stories/world.ts";
import { installXline, xline } from "../stories/xline.ts";
import { startXlineOperator, type XlineOperator } from "../stories/xline-operator.ts";
import { xlineStory } from "../stories/xline-story.ts";
import { startReportedWorld } from "./world.ts";

let world: World;
const started = (reportsParts: boolean) => {
  beforeAll(async () => {
    world = await startReportedWorld({ reportsParts });
    await installXline(world);
  });
  afterAll(() => world?.stop());
};

describe("an XlineCluster, by reports of agents as OCM ships them", () => {
  started(false);

  describe("with an operator of whose status they report no field", () => {
    let operators: XlineOperator[];
    beforeAll(() => {
      const how = { object: "withheld", readsAnnotations: true };
      operators = [...world.stack.members].map(([name, api]) => startXlineOperator(name, api, how));
    });
    afterAll(() => Promise.all((operators ?? []).map((operator) => operator.stop())));

    it("waits at its first step, and the status names the gate", async () => {
      await world.stage.declare(world, "withheld", xline("xline:1", "withheld"));
      await world.until("the status names the gate", async () => {
        const said = JSON.stringify({ ...(await world.status("withheld")), ledger: undefined });
        return (said.includes("SettingsConflict") && said.includes("RawFeedbackJsonString")) || said;
      });
      expect((await world.status("withheld")).phase).not.toBe("Settled");
    });
  });
});

describe("an XlineCluster, by reports of agents with the gate RawFeedbackJsonString", () => {
  started(true);

  describe("with an operator on the contract", () => {
    contractStory(() => world, "led");
  });
  describe("with an operator written to the proposal's annotations", () => {
    xlineStory(() => world, { object: "xline", readsAnnotations: true });
  });
  describe("with an operator that ignores every annotation", () => {
    xlineStory(() => world, { object: "ignorant", readsAnnotations: false });
  });
});
