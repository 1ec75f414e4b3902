import { expect, test } from "vitest";
import { describeFailure, HubImage, runSeed } from "./index.ts";

/** Seeds that once found something. What a seed does moves with the simulator; what it found is told by its name. */
const FOUND: readonly (readonly [number, string])[] = [
  [20, "status says why it waits also when an instance is down by itself"],
  [67, "a leader that slept through a teardown makes no ledger"],
  [164, "a teardown does not wait for a revision that never becomes ready"],
  [215, "a cluster that is wanted again while its Work is going away gets it anew"],
  [244, "a person can give the quorum up where a stuck step needs more than it allows"],
  [308, "a leader that slept through a release does not put its hold back"],
];

const image = new HubImage();

test.each(FOUND)("seed %i: %s", async (seed) => {
  const result = await runSeed(seed, { image });
  expect(result.failure && describeFailure(result)).toBeUndefined();
});
