import { afterAll, beforeAll, describe } from "vitest";
import { inlineStory } from "../stories/inline.ts";
import { statefulSetStory } from "../stories/statefulset.ts";
import { startWorld, type World } from "./world.ts";

describe("an apps/v1 StatefulSet over three real clusters", () => {
  let world: World;
  beforeAll(async () => {
    world = await startWorld();
  });
  afterAll(() => world?.stop());

  statefulSetStory(() => world);

  describe("with its workload inline", () => {
    inlineStory(() => world, "inline");
  });
});
