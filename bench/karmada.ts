import { startWorld } from "../test/karmada/world.ts";
import type { BenchRow } from "./main.ts";
import { comparison } from "./support/by-hand.ts";
import { STAGE, stepTimes } from "./support/step-times.ts";

export const title = `a rolling update of five instances over three clusters on a real Karmada: where each step's time goes, and beside what people do by hand (${STAGE})`;

/** LOCKSTEP_BENCH_COMPARE=only leaves the steps out. */
export async function run(): Promise<BenchRow[]> {
  const compared = await comparison((more) => startWorld({}, more));
  if (process.env.LOCKSTEP_BENCH_COMPARE === "only") return compared;
  return [...compared, ...(await stepTimes("Karmada", (more) => startWorld({}, more)))];
}
