import { afterAll, beforeAll, describe } from "vitest";
import { type RealRenderer, realRenderer } from "../apps/harness.ts";
import { applicationStory } from "../stories/applications.ts";
import { operatorByChartStory } from "../stories/operator-by-chart.ts";
import type { World } from "../stories/world.ts";
import { startWorld } from "./world.ts";

describe("a chart over three real clusters of OCM that Lockstep may read", () => {
  let world: World;
  let renderer: RealRenderer;
  beforeAll(async () => {
    renderer = await realRenderer();
    world = await startWorld({ renderer });
    await world.stage.prepareKind(world);
  });
  afterAll(async () => {
    await world?.stop();
    renderer.stop();
  });

  applicationStory(() => world);
  operatorByChartStory(
    () => world,
    () => renderer,
  );
});
