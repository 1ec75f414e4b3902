import { afterAll, beforeAll, describe } from "vitest";
import { operatorStories } from "../stories/operators.ts";
import type { World } from "../stories/world.ts";
import { installXline } from "../stories/xline.ts";
import { startWorld } from "./world.ts";

describe("an inline XlineCluster over three real clusters of OCM", () => {
  let world: World;
  beforeAll(async () => {
    world = await startWorld();
    await installXline(world);
  });
  afterAll(() => world?.stop());

  operatorStories(() => world);
});
