import { expect } from "vitest";
import { Campaign, describeFailure, HubImage, runSeed, SEEDS_FOR_REACH, type Tier } from "../index.ts";
import type { SeedPool } from "./seed-pool.ts";

/** What fits a developer's `npm test`: under two minutes of two cores, with a tenth as many of the full tier. CI says more. */
const LEAN_SEEDS = Number(process.env.LOCKSTEP_SIM_SEEDS ?? 2_000);
const FULL_SHARE = 10;
/** Seeds below are those of the mutants and of what was found before. */
const FIRST_SEED = 401;

/** Failures told in full; the first transcripts are worth more than the twentieth. */
const TOLD = 3;

export async function campaign(pool: SeedPool, tier: Tier): Promise<Campaign> {
  const found = new Campaign();
  const seeds = tier === "lean" ? LEAN_SEEDS : Math.ceil(LEAN_SEEDS / FULL_SHARE);
  await pool.play(tier, FIRST_SEED, FIRST_SEED + seeds - 1, (result) => found.add(result));
  const told: string[] = [];
  const failures = found.failures.toSorted((a, b) => a.seed - b.seed);
  for (const failed of failures.slice(0, TOLD)) {
    const { transcript } = await runSeed(failed.seed, { image: new HubImage(), tier, transcript: true });
    told.push(`${describeFailure(failed)}\n${transcript.slice(-40).join("\n")}`);
  }
  const named = failures.map(({ seed }) => seed).join(", ");
  expect(failures.length, `seeds ${named} of the ${tier} tier failed\n${told.join("\n\n")}`).toBe(0);
  if (tier === "lean" && found.seeds >= SEEDS_FOR_REACH) expect(found.unreached).toEqual([]);
  return found;
}
