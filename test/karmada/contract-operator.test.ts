import { afterAll, beforeAll, describe } from "vitest";
import { contractStory } from "../stories/contract-story.ts";
import { installXline } from "../stories/xline.ts";
import { startWorld, type World } from "./world.ts";

describe("XlineCluster over three real clusters, with an operator on the contract", () => {
  let world: World;
  beforeAll(async () => {
    world = await startWorld();
    await installXline(world);
  });
  afterAll(() => world?.stop());

  contractStory(() => world);
});
