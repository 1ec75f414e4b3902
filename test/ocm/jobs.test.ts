import { afterAll, beforeAll, describe } from "vitest";
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
});
