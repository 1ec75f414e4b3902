import { loadavg } from "node:os";
import { performance } from "node:perf_hooks";
import type { BenchRow } from "../main.ts";

export const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** A whole number from the environment, to make a run shorter or longer. */
export function setting(name: string, otherwise: number): number {
  const value = Number(process.env[name]);
  return Number.isSafeInteger(value) && value > 0 ? value : otherwise;
}

/** Waits; fails with the description if `key` has not changed for this long. */
export async function until(
  what: string,
  condition: () => boolean,
  state: () => unknown = () => "",
  stuckAfterMs = 120_000,
): Promise<number> {
  const startedMs = performance.now();
  let last = JSON.stringify(state());
  let movedMs = startedMs;
  while (!condition()) {
    await sleep(20);
    const now = JSON.stringify(state());
    if (now !== last) {
      last = now;
      movedMs = performance.now();
    }
    if (performance.now() - movedMs > stuckAfterMs) throw new Error(`still not: ${what}; ${last}`);
  }
  return performance.now() - startedMs;
}

export function round(value: number, digits = 1): number {
  return Math.round(value * 10 ** digits) / 10 ** digits;
}

export function percentiles(valuesMs: readonly number[]): BenchRow {
  const sorted = [...valuesMs].sort((a, b) => a - b);
  const at = (share: number) => round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0);
  return { n: sorted.length, "p50 ms": at(0.5), "p90 ms": at(0.9), "p99 ms": at(0.99), "max ms": at(1) };
}

/** The load of the machine: figures of a loaded machine are upper bounds. */
export function machineLoad(): string {
  return loadavg()
    .map((load) => load.toFixed(1))
    .join(" ");
}
