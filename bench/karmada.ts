import { startWorld } from "../test/karmada/world.ts";
import type { BenchRow } from "./main.ts";
import { STAGE, stepTimes } from "./support/step-times.ts";

export const title = `a rolling update of five instances over three clusters on a real Karmada: where each step's time goes (${STAGE})`;

export function run(): Promise<BenchRow[]> {
  return stepTimes("Karmada", (more) => startWorld({}, more));
}
