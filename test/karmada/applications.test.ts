import { afterAll, beforeAll, describe } from "vitest";
import { type RealRenderer, realRenderer } from "../apps/harness.ts";
import { applicationStory } from "../stories/applications.ts";
import { operatorByChartStory } from "../stories/operator-by-chart.ts";
import { scheduledReplicasStory } from "../stories/scheduled-replicas.ts";
import { startQuickWorld, type World } from "./world.ts";

describe("a chart over three real clusters of Karmada", () => {
  let world: World;
  let renderer: RealRenderer;
  beforeAll(async () => {
    renderer = await realRenderer();
    world = await startQuickWorld({ renderer });
  });
  afterAll(async () => {
    await world?.stop();
    renderer.stop();
  });

  applicationStory(() => world);
  scheduledReplicasStory(() => world);
  operatorByChartStory(
    () => world,
    () => renderer,
  );
});
