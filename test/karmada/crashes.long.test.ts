import { afterAll, beforeAll, describe } from "vitest";
import { crashStory } from "../stories/crash-story.ts";
import { startWorld, type World } from "./world.ts";

describe("an application whose controller is killed after each of its writes", () => {
  let world: World;
  beforeAll(async () => {
    world = await startWorld();
  });
  afterAll(() => world?.stop());

  crashStory(() => world, "crashed");
});
