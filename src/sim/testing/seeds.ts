import { expect } from "vitest";
import { Campaign, describeFailure, HubImage, runSeed, SEEDS_FOR_REACH, type Tier } from "../index.ts";

/** CI runs so many times the seeds of a developer's `npm test`. */
const TIMES = Number(process.env.LOCKSTEP_SIM_TIMES ?? 1);

/** Failures told in full; the first transcripts are worth more than the twentieth. */
const TOLD = 3;

/** Runs every `of`-th seed, beginning with `part`, so that several test files share a campaign. */
export async function campaign(tier: Tier, seeds: number, part: number, of: number): Promise<Campaign> {
  const image = new HubImage();
  const found = new Campaign();
  for (let seed = part; seed <= seeds * TIMES; seed += of) found.add(await runSeed(seed, { image, tier }));
  const told: string[] = [];
  for (const failed of found.failures.slice(0, TOLD)) {
    const { transcript } = await runSeed(failed.seed, { image, tier, transcript: true });
    told.push(`${describeFailure(failed)}\n${transcript.slice(-40).join("\n")}`);
  }
  const named = found.failures.map(({ seed }) => seed).join(", ");
  expect(found.failures.length, `seeds ${named} of the ${tier} tier failed\n${told.join("\n\n")}`).toBe(0);
  if (tier === "lean" && found.seeds >= SEEDS_FOR_REACH) expect(found.unreached).toEqual([]);
  return found;
}
