import { describe } from "vitest";
import { contractStory } from "./contract-story.ts";
import type { World } from "./world.ts";
import { xlineStory } from "./xline-story.ts";

/** The proposal's XlineCluster with operators of every sort, each with an application of its own, in one world. */
export function operatorStories(on: () => World): void {
  describe("with an operator on the contract", () => {
    contractStory(on, "led");
  });
  describe("with an operator written to the proposal's annotations", () => {
    xlineStory(on, { object: "xline", readsAnnotations: true });
  });
  describe("with an operator that ignores every annotation", () => {
    xlineStory(on, { object: "ignorant", readsAnnotations: false });
  });
}
