import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { inlineStory } from "../stories/inline.ts";
import { statefulSetStory } from "../stories/statefulset.ts";
import { startWorld, type World } from "./world.ts";

describe("an apps/v1 StatefulSet over three real clusters", () => {
  let world: World;
  beforeAll(async () => {
    world = await startWorld();
  });
  afterAll(() => world?.stop());

  statefulSetStory(() => world);

  describe("with its workload inline", () => {
    inlineStory(() => world, "inline");
  });

  it("needed no right on the hub that 'install' does not give", () => {
    expect(world.denied).toEqual([]);
  });
});
