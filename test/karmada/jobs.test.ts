import { afterAll, beforeAll, describe } from "vitest";
import { gcStory } from "../stories/gc.ts";
import { jobStory } from "../stories/jobs.ts";
import type { World } from "../stories/world.ts";
import { startRelayedWorld } from "./world.ts";

describe("CrossClusterJobs over three real clusters", () => {
  let world: World;
  beforeAll(async () => {
    world = await startRelayedWorld();
  });
  afterAll(() => world?.stop());

  jobStory(() => world);

  describe("what is left of objects that are gone", () => gcStory(() => world));
});
