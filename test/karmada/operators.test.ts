import { afterAll, beforeAll, describe } from "vitest";
import { operatorStories } from "../stories/operators.ts";
import { installXline } from "../stories/xline.ts";
import { startWorld, type World } from "./world.ts";

describe("XlineCluster over three real clusters of Karmada", () => {
  let world: World;
  beforeAll(async () => {
    world = await startWorld();
    await installXline(world);
  });
  afterAll(() => world?.stop());

  operatorStories(() => world);
});
