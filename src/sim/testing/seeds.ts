import { expect } from "vitest";
import {
  Campaign,
  describeFailure,
  HubImage,
  LARGE_SEEDS,
  runSeed,
  SEEDS_FOR_REACH,
  type SeedResult,
  type Tier,
} from "../index.ts";
import type { SeedPool } from "./seed-pool.ts";

/** What fits a developer's `npm test`: about two minutes of two cores. CI plays larger worlds and more after these. */
const LEAN_SEEDS = Number(process.env.LOCKSTEP_SIM_SEEDS ?? 2_000);
/** How many seeds of the lean tier are left to others. */
const LEAN_PASSED_OVER = Number(process.env.LOCKSTEP_SIM_AFTER ?? 0);
/** A campaign that has played at least as many as were left to others ends after so many minutes, and says how far it got. */
const MAX_MINUTES = Number(process.env.LOCKSTEP_SIM_MINUTES ?? Number.POSITIVE_INFINITY);
/** Of the full tier one for so many of the lean tier. */
const LEAN_PER_FULL = 10;
/** Seeds below are those of the mutants and of what was found before. */
const FIRST_LARGE_SEED = 401;
const FIRST_SEED = LARGE_SEEDS + 1;

/** Failures told in full; the first transcripts are worth more than the twentieth. */
const TOLD = 3;

export async function campaign(pool: SeedPool, tier: Tier): Promise<Campaign> {
  const found = new Campaign();
  const share = tier === "lean" ? 1 : LEAN_PER_FULL;
  const passedOver = Math.ceil(LEAN_PASSED_OVER / share);
  const wanted = Math.ceil(LEAN_SEEDS / share);
  const larger = passedOver > 0 ? Math.min(wanted, LARGE_SEEDS - FIRST_LARGE_SEED + 1) : 0;
  const first = FIRST_SEED + passedOver;
  const endsMs = performance.now() + MAX_MINUTES * 60_000;
  const collect = (result: SeedResult) => {
    found.add(result);
    return found.seeds >= passedOver && performance.now() > endsMs ? "enough" : "more";
  };
  await pool.play(tier, FIRST_LARGE_SEED, FIRST_LARGE_SEED + larger - 1, collect);
  await pool.play(tier, first, first + wanted - larger - 1, collect);
  if (found.seeds < wanted) {
    process.stdout.write(
      `${found.seeds} of ${wanted} seeds of the ${tier} tier (${larger} larger, then from ${first} on) were played in ${MAX_MINUTES} minutes\n`,
    );
  }
  const told: string[] = [];
  const failures = found.failures.toSorted((a, b) => a.seed - b.seed);
  for (const failed of failures.slice(0, TOLD)) {
    const { transcript } = await runSeed(failed.seed, { image: new HubImage(), tier, transcript: true });
    told.push(`${describeFailure(failed)}\n${transcript.slice(-40).join("\n")}`);
  }
  const named = failures.map(({ seed }) => seed).join(", ");
  expect(failures.length, `seeds ${named} of the ${tier} tier failed\n${told.join("\n\n")}`).toBe(0);
  if (found.seeds >= SEEDS_FOR_REACH[tier]) expect(found.unreached(tier)).toEqual([]);
  return found;
}
