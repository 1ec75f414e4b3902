import { afterAll, beforeAll, describe } from "vitest";
import { isLongForm } from "../form.ts";
import { installXline } from "../stories/xline.ts";
import { xlineStory } from "../stories/xline-story.ts";
import { startWorld, type World } from "./world.ts";

/** Seeds have operators of both sorts; here each starts a Karmada of its own. */
const OPERATORS: [string, boolean][] = [
  ["written to the proposal's annotations", true],
  ...(isLongForm ? [["that ignores every annotation", false] satisfies [string, boolean]] : []),
];

describe.each(OPERATORS)("the proposal's manifest and XlineCluster with an operator %s", (_what, readsAnnotations) => {
  let world: World;
  beforeAll(async () => {
    world = await startWorld();
    await installXline(world);
  });
  afterAll(() => world?.stop());

  xlineStory(() => world, { readsAnnotations });
});
