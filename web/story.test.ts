import { describe, expect, it } from "vitest";
import type { TimelineView } from "../src/web/types.ts";
import { momentWords, pastStory, rangeOf, type Story } from "./story.ts";

const timeline: TimelineView = {
  fromMs: 1_000,
  spans: [
    { cluster: "west", what: "Updating", why: "followers first", fromMs: 1_000, toMs: 5_000 },
    { cluster: "east", what: "Updating", why: "", fromMs: 6_000 },
  ],
  holds: [
    { cluster: "east", reason: "WaitingForReady", why: "0 of 1", fromMs: 6_000, toMs: 9_000 },
    { cluster: "", reason: "Soaking", why: "wave 1", fromMs: 5_000, toMs: 6_000 },
  ],
  notes: [{ atMs: 5_500, isWarning: false, reason: "Promoted", message: "by ada" }],
};

const story: Story = {
  type: "ccs",
  namespace: "shop",
  name: "web",
  atMs: 12_000,
  about: "StatefulSet",
  revision: "web-b",
  opening: "It began.",
  timeline,
  lanes: ["", "west", "east"],
  isRunning: true,
  ahead: [],
  changes: [],
};

describe("a rollout's story", () => {
  it("says of a moment what ran, what held it, and what a user did", () => {
    expect(momentWords(story, 2_000)).toBe("west: updating, followers first. 0 of 2 clusters had finished a step");
    expect(momentWords(story, 5_600)).toBe(
      "No step ran. Held: The wave has to stay healthy for a while. 1 of 2 clusters had finished a step. Promoted: by ada",
    );
    expect(momentWords(story, 8_700)).toBe(
      "east: updating. Held: east is not ready yet. 1 of 2 clusters had finished a step",
    );
  });

  it("goes to the present while it runs, and to its last step or hold when it is over", () => {
    expect(rangeOf(story)).toEqual({ fromMs: 1_000, toMs: 12_000 });
    expect(rangeOf({ ...story, isRunning: false })).toEqual({ fromMs: 1_000, toMs: 9_000 });
  });

  it("of the past has the clusters of that time, and nothing of the present", () => {
    const record = { revision: "web-a", type: "RollBack", from: "web-b", timeline };
    const history = [{ revision: "web-a", number: 1, hasRecord: true, changes: ["image: 2 -> 1"], state: [] }];
    expect(pastStory({ ...story, lanes: ["new"], end: { sentence: "now", rows: [] } }, record, history)).toEqual({
      ...story,
      revision: "web-a",
      opening: "It was returned to after revision b.",
      lanes: ["", "east", "west"],
      isRunning: false,
      changes: ["image: 2 -> 1"],
    });
  });
});
