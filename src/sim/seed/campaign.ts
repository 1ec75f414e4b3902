import type { EngineName } from "../lean/hub.ts";
import { AGENT_CHECKS, AGENT_FAULTS, LEAN_ONLY, Reach, SITUATIONS } from "./reach.ts";
import type { SeedResult, Tier } from "./run.ts";

/** With fewer seeds a situation may not have occurred, and its count proves nothing. */
export const SEEDS_FOR_REACH: Readonly<Record<Tier, number>> = { lean: 1_000, full: 200 };

/** The result of many seeds. */
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

  /** Situations that never occurred: what depends on them was not tested. */
  unreached(tier: Tier, engine: EngineName = "karmada"): string[] {
    const { reach } = this;
    if (engine === "ocm")
      return [...AGENT_CHECKS, ...AGENT_FAULTS].filter((situation) => (reach[situation] ?? 0) === 0);
    const due = SITUATIONS.filter((situation) => tier === "lean" || !LEAN_ONLY.has(situation));
    return due.filter((situation) => (reach[situation] ?? 0) === 0);
  }
}

/** The failures and how to replay them. */
export function describeFailure({ seed, failure }: SeedResult): string {
  if (!failure) return `seed ${seed}: nothing failed`;
  const seconds = (failure.atMs / 1000).toFixed(3);
  return `seed ${seed}, ${seconds} s: ${failure.property}: ${failure.message}`;
}
