import { describe, expect, it } from "vitest";
import { FULL_ABILITIES } from "../full/ground.ts";
import { describeFailure, HubImage, runScenario } from "../index.ts";
import { OCM_ABILITIES } from "../seed/ocm.ts";
import { LEAN_ABILITIES } from "../seed/run.ts";
import { scenarioOf } from "../seed/scenario.ts";
import { STORIES } from "./index.ts";
import { scenarioOfStory, storyOf } from "./story.ts";

/** A danger that exists with only one timing disappears with the next change of the code. */
const TIMINGS = 3;
/** Where timings other than a story's own begin: no seed that a campaign plays. */
const OTHER_TIMINGS = 100_000;

const image = new HubImage();

describe("a bug that a seed once found does not return", () => {
  it.each(STORIES.map((story) => [story.title, story] as const))("%s", async (_, story) => {
    const scenario = scenarioOfStory(story);
    for (let at = 0; at < (story.timings ?? TIMINGS); at++) {
      const seed = at === 0 ? story.timing : OTHER_TIMINGS + at;
      const result = await runScenario({ ...scenario, seed }, { image, tier: story.tier ?? "lean" });
      expect(result.failure && describeFailure(result)).toBeUndefined();
      expect(Object.keys(result.reach)).toEqual(expect.arrayContaining([...(story.reaches ?? [])]));
    }
  });
});

describe("a story", () => {
  it("has a unique title", () => {
    expect(new Set(STORIES.map(({ title }) => title)).size).toBe(STORIES.length);
  });

  it("can describe every scenario that a seed draws", () => {
    for (let seed = 1; seed <= 1_000; seed++) {
      for (const abilities of [LEAN_ABILITIES, FULL_ABILITIES, OCM_ABILITIES]) {
        const drawn = scenarioOf(seed, undefined, abilities);
        expect(scenarioOfStory(storyOf(drawn, "a title"))).toEqual(drawn);
      }
    }
  });
});
