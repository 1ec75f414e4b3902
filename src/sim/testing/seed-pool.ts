import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { build } from "esbuild";
import type { EngineName, SeedResult, Tier } from "../index.ts";
import type { SeedOrder } from "./seed-worker.ts";

/** CommonJS packages in the bundle call require for Node's own modules. No module has the name, nor esbuild. */
export const REQUIRE =
  'import { createRequire as __simulatorRequire } from "node:module"; const require = __simulatorRequire(import.meta.url);';

/** Room for young objects, in megabytes: a seed leaves almost nothing behind, so collecting seldom saves time. */
const YOUNG_GENERATION_MB = 192;

/**
 * Runs seeds on every core, in threads that run the simulator as one bundle: a test runner's module replacement costs
 * more than a tenth of the time.
 */
export class SeedPool {
  readonly #folder: string;
  readonly #workers: readonly Worker[];

  private constructor(folder: string, workers: readonly Worker[]) {
    this.#folder = folder;
    this.#workers = workers;
  }

  static async start(): Promise<SeedPool> {
    const folder = await mkdtemp(join(tmpdir(), "lockstep-seeds-"));
    const program = join(folder, "seed-worker.mjs");
    await build({
      entryPoints: [join(import.meta.dirname, "seed-worker.ts")],
      bundle: true,
      outfile: program,
      format: "esm",
      platform: "node",
      banner: { js: REQUIRE },
      logLevel: "error",
    });
    const resourceLimits = { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB };
    const workers = Array.from({ length: availableParallelism() }, () => new Worker(program, { resourceLimits }));
    // Rejects with what the thread threw: one that cannot be loaded would never answer.
    await Promise.all(workers.map((worker) => once(worker, "message")));
    return new SeedPool(folder, workers);
  }

  /** A free thread takes the next seed, until `collect` wants no more. */
  async play(
    tier: Tier,
    from: number,
    to: number,
    collect: (result: SeedResult) => "more" | "enough",
    engine: EngineName = "karmada",
    kind: SeedOrder["kind"] = "statefulset",
  ): Promise<void> {
    let next = from;
    let last = to;
    const work = async (worker: Worker) => {
      while (next <= last) {
        // Rejects with what the thread threw.
        const answer = once(worker, "message");
        const order: SeedOrder = { seed: next++, tier, engine, kind };
        worker.postMessage(order);
        const [result] = await answer;
        if (collect(result) === "enough") last = 0;
      }
    };
    await Promise.all(this.#workers.map(work));
  }

  async stop(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.terminate()));
    await rm(this.#folder, { recursive: true });
  }
}
