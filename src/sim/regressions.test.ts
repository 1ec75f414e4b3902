import { expect, test } from "vitest";
import { describeFailure, HubImage, runSeed } from "./index.ts";

/** Seeds that once found something. What a seed does moves with the simulator; what it found is told by its name. */
const FOUND: readonly (readonly [number, string])[] = [
  [20, "status says why it waits also when an instance is down by itself"],
  [67, "a leader that slept through a teardown makes no ledger"],
  [164, "a teardown does not wait for a revision that never becomes ready"],
  [215, "a cluster that is wanted again while its Work is going away gets it anew"],
  [244, "a stuck step does not forbid its own cure"],
  [308, "a leader that slept through a release does not put its hold back"],
  [999, "a leader that slept through a release keeps no revision"],
  [1053, "an instance that hangs while it goes away is not started again before it has gone"],
  [1483, "a drained cluster whose last instances never become ready does not wait for them"],
  [1523, "a grant whose epoch was changed back before anybody saw it is written again"],
  [1665, "a drained cluster that is stuck in mid-update, and may not be drained further, is taken back"],
  [1747, "a stuck cluster that is to be drained does not wait for a growth that waits for its turn"],
  [1789, "whoever edits a template that is not there yet has edited nothing"],
  [1890, "a leader that slept through a release and heard of edits first keeps no revision"],
  [1924, "a newcomer with one instance up and one broken is cured, although the majority leaves no room for a restart"],
  [2064, "an instance that hung through an update comes back on the new revision"],
  [2172, "a leader that died while it removed a drained cluster's Work does not leave it to be made anew"],
  [2709, "a leader that slept through a release does not make its Works again"],
  [3303, "joins that are taken back one by one when they may be serving already"],
  [3466, "a cluster that was being drained when it was lost is drained when it is back"],
  [3636, "a newcomer on a broken revision that lost its turn is still updated"],
  [6264, "joins of which a stalled operator has not spoken are taken back one by one"],
  [6605, "a newcomer on a revision that was given up does not wait for a wave that waits for it"],
  [6904, "a cluster that is down on a revision that was given up does not wait for a wave that waits for it"],
  [6939, "a clock that jumps does not have one pod restarted for the old content and one for the new"],
  [7252, "an instance that was reported and never created is brought back like one that was lost"],
  [7615, "joins that are taken back in the moment in which they come up go one by one"],
  [7951, "an operator does not overwrite its own report with one that it thought of before"],
  [8402, "a cluster that is drained while it has an update step to repeat is not left between the two"],
  [2908, "a drained StatefulSet whose pods are all broken is drained"],
  [6343, "a cluster that came back and is then scaled to nothing by a person is drained"],
  [412, "a cluster that left the fleet and was given up is forgotten"],
  [504, "a kind that nobody has taught is adopted with the instances that it has"],
  [515, "a teardown lets go of a cluster that a person gave up"],
  [690, "a leader that slept through a release makes no Work that it had not reserved"],
  [866, "a leader that slept through a release gives nobody an epoch of its own"],
  [1432, "a join that is stuck on a broken revision gets its correction also with OnDelete"],
  [2497, "an operator takes a leaver out of the application also when it was down before"],
  [3069, "what is deleted before anybody has seen it is not torn down"],
  [
    3193,
    "a cluster that was lost in the middle of joining, came back and may be drained does not wait for a growth that waits for it",
  ],
  [5920, "a newcomer that never came up does not wait for a wave that waits for it"],
  [6643, "what is empty and was away when the rest was adopted is the engine's"],
  [7026, "an epoch that nobody granted keeps nothing from being adopted"],
  [8189, "instances that were voted out do not vote again because the leader moves, and are drained at once"],
  [11077, "nothing that was adopted is removed before a person's word"],
  [13495, "a removal that a loss interrupted goes on when the cluster is back, voted out, and may be drained"],
  [14626, "a teardown takes up a removal that a loss interrupted"],
  [16126, "what was given up before it ever got its grant joins anew once its drain is allowed"],
  [19914, "a StatefulSet in Parallel that was lost in mid-update is made to stand still before it gets other content"],
  [5107, "what was drained and is said to be gone by a list from the past is removed all the same"],
  [8898, "a leader that slept over a failed write makes no revision for what was deleted meanwhile"],
  [19377, "a leader that slept in the middle of an adoption makes nothing again that its successor let go"],
  [
    16673,
    "a cluster that was lost in mid-update, came back and may be drained does not wait for a growth that waits for it",
  ],
  [
    6377,
    "a Work that was deleted while its cluster was away is made again, and takes over what was seen of its first grant",
  ],
  [8676, "a drained cluster whose Work was deleted is removed all the same"],
  [1571, "a cluster that stands still on its way back does not wait for a wave that waits for it"],
];

const image = new HubImage();

test.each(FOUND)("seed %i: %s", async (seed) => {
  const result = await runSeed(seed, { image });
  expect(result.failure && describeFailure(result)).toBeUndefined();
});

test("seed 972 of the full tier: nothing starts beside instances in a cluster that cannot be read yet", async () => {
  const result = await runSeed(972, { image, tier: "full" });
  expect(result.failure && describeFailure(result)).toBeUndefined();
});
