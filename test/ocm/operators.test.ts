import { afterAll, beforeAll, describe } from "vitest";
import { isLongForm } from "../form.ts";
import { contractStory } from "../stories/contract-story.ts";
import type { World } from "../stories/world.ts";
import { installXline } from "../stories/xline.ts";
import { xlineStory } from "../stories/xline-story.ts";
import { startWorld } from "./world.ts";

const STORIES: [string, (on: () => World) => void][] = [
  ["on the contract", contractStory],
  ...(isLongForm
    ? [
        ["written to the proposal's annotations", (on) => xlineStory(on, { readsAnnotations: true })] satisfies [
          string,
          (on: () => World) => void,
        ],
        ["that ignores every annotation", (on) => xlineStory(on, { readsAnnotations: false })] satisfies [
          string,
          (on: () => World) => void,
        ],
      ]
    : []),
];

describe.each(STORIES)(
  "an inline XlineCluster over three real clusters of OCM, with an operator %s",
  (_what, story) => {
    let world: World;
    beforeAll(async () => {
      world = await startWorld();
      await installXline(world);
    });
    afterAll(() => world?.stop());

    story(() => world);
  },
);
