import { afterAll, beforeAll, describe } from "vitest";
import { largeSpec, largeStory } from "../stories/large.ts";
import type { World } from "../stories/world.ts";
import { installXline, xline } from "../stories/xline.ts";
import { startReportedWorld, startWorld } from "./world.ts";

/** By reports alone, that a cluster has a ConfigMap is known by the mark that comes back from it. */
describe.each([
  { known: "that Lockstep may read", start: () => startWorld() },
  { known: "that only their agents show", start: () => startReportedWorld({ reportsParts: true }) },
])("[I11] an application that is too large for annotations, over three real clusters of OCM $known", ({ start }) => {
  let world: World;
  beforeAll(async () => {
    world = await start();
    await installXline(world);
  });
  afterAll(() => world?.stop());

  largeStory(
    () => world,
    (on, each) => on.stage.declare(on, "xline", xline("xline:1"), largeSpec(each)),
  );
});
