import { afterAll, beforeAll, describe } from "vitest";
import { isLongForm } from "../form.ts";
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

  // Not seen to pass on a real Open Cluster Management yet.
  if (isLongForm) describe("what is left of objects that are gone", () => gcStory(() => world));
});
