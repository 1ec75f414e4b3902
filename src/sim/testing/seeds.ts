import { expect } from "vitest";
import { Campaign, describeFailure, HubImage, runSeed, SEEDS_FOR_REACH, type Tier } from "../index.ts";

/** What fits a developer's `npm test`: about a minute of two cores, with a tenth as many of the full tier. CI says more. */
const LEAN_SEEDS = Number(process.env.LOCKSTEP_SIM_SEEDS ?? 500);
const FULL_SHARE = 10;
/** Seeds below are those of the mutants and of what was found before. */
const FIRST_SEED = 400;

/** Failures told in full; the first transcripts are worth more than the twentieth. */
const TOLD = 3;

/** Runs every `of`-th seed, beginning with `part`, so that several test files share a campaign. */
export async function campaign(tier: Tier, part: number, of: number): Promise<Campaign> {
  const image = new HubImage();
  const found = new Campaign();
  const seeds = tier === "lean" ? LEAN_SEEDS : Math.ceil(LEAN_SEEDS / FULL_SHARE);
  for (let seed = part; seed <= seeds; seed += of) found.add(await runSeed(FIRST_SEED + seed, { image, tier }));
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
