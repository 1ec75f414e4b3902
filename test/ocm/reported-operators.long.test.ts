/** Custom kinds in clusters that nothing gives access to: what their operators do is known by the agents' reports alone. */
import { afterAll, beforeAll, describe } from "vitest";
import { operatorStories } from "../stories/operators.ts";
import type { World } from "../stories/world.ts";
import { installXline } from "../stories/xline.ts";
import { startReportedWorld } from "./world.ts";

describe("an inline XlineCluster over three real clusters of OCM that only their agents show", () => {
  let world: World;
  beforeAll(async () => {
    world = await startReportedWorld();
    await installXline(world);
  });
  afterAll(() => world?.stop());

  operatorStories(() => world);
});
