import { LEAN_ONLY, Reach, SITUATIONS } from "./reach.ts";
import type { SeedResult, Tier } from "./run.ts";

/** Below so many seeds a situation may well not have come up, and its count proves nothing. */
export const SEEDS_FOR_REACH: Readonly<Record<Tier, number>> = { lean: 1_000, full: 200 };

/** What many seeds came to. */
export class Campaign {
  readonly #reach = new Reach();
  readonly failures: SeedResult[] = [];
  seeds = 0;
  events = 0;
  requests = 0;
  virtualMs = 0;

  add(result: SeedResult): void {
    this.seeds++;
    this.events += result.events;
    this.requests += result.requests;
    this.virtualMs += result.virtualMs;
    for (const [situation, times] of Object.entries(result.reach)) this.#reach.count(situation, times);
    if (result.failure) this.failures.push(result);
  }

  get reach(): Record<string, number> {
    return this.#reach.counts;
  }

  /** Situations that never came up: whatever depends on them has not been tried. */
  unreached(tier: Tier): string[] {
    const { reach } = this;
    const due = SITUATIONS.filter((situation) => tier === "lean" || !LEAN_ONLY.has(situation));
    return due.filter((situation) => (reach[situation] ?? 0) === 0);
  }
}

/** What failed and how to see it again. */
export function describeFailure({ seed, failure }: SeedResult): string {
  if (!failure) return `seed ${seed}: nothing failed`;
  const seconds = (failure.atMs / 1000).toFixed(3);
  return `seed ${seed}, ${seconds} s: ${failure.property}: ${failure.message}`;
}

export function reachTable(reach: Readonly<Record<string, number>>): string[] {
  const names = [...new Set<string>([...SITUATIONS, ...Object.keys(reach)])];
  const width = Math.max(...names.map((name) => name.length));
  return names.map((name) => `${name.padEnd(width)}  ${reach[name] ?? 0}`);
}
