import type { Command } from "commander";

export interface SimulateOptions {
  readonly seeds: string;
  readonly seed?: string;
  readonly tier: string;
  readonly engine: string;
  readonly kind: string;
  readonly filename?: string;
  readonly workers?: string;
  readonly counters?: boolean;
  /** Between a parent and its workers: this range of seeds, one line of JSON for each. */
  readonly range?: string;
}

/** `lockstep simulate`. */
export function registerSimulate(program: Command): void {
  program
    .command("simulate")
    .description("seeded whole-system simulation with faults: the real controller against a hub and members that fail")
    .option("--seeds <n>", "how many seeds, starting with 1", "200")
    .option("--seed <seed>", "this one seed, with its whole transcript")
    .option("--tier <tier>", "lean (a model of the members) or full (the embedded fleet)", "lean")
    .option("--engine <engine>", "karmada or ocm (Open Cluster Management; lean only)", "karmada")
    .option("--kind <kind>", "statefulset (CrossClusterStatefulset) or job (CrossClusterJob; lean only)", "statefulset")
    .option("-f, --filename <file>", "your own CrossClusterStatefulset and its template, in one file")
    .option("--workers <n>", "processes to run seeds in", "1")
    .option("--counters", "show how often each check, fault and change occurred")
    .option("--range <from:to>", "used between a parent and its workers")
    .action(async (options: SimulateOptions) => {
      const { simulateCommand } = await import("./run.ts");
      process.exitCode = await simulateCommand(options);
    });
}
