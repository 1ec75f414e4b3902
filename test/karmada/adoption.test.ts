import { afterAll, beforeAll, describe } from "vitest";
import { adoptionStory } from "../stories/adoption.ts";
import { startWorld, type World } from "./world.ts";

describe("an application that Karmada already runs", () => {
  let world: World;
  beforeAll(async () => {
    world = await startWorld();
  });
  afterAll(() => world?.stop());

  adoptionStory(() => world);
});
