import { afterAll, beforeAll, describe } from "vitest";
import { adoptionStory } from "../stories/adoption.ts";
import { editsStory } from "../stories/edits.ts";
import { renderingStory } from "./rendering/story.ts";
import { startWorld, type World } from "./world.ts";

/** One world for all: each story has an application of its own. */
let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world?.stop());

describe("an application that Karmada already runs", () => {
  adoptionStory(() => world);
});

describe("an application that is edited in quick succession", () => {
  editsStory(() => world, "edited");
});

describe("what Karmada renders without Lockstep, and what Lockstep renders", () => {
  renderingStory(() => world);
});
