import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

// CI adds the numbers of all suites up; it asks each for its report by this variable.
const report = process.env.LOCKSTEP_TEST_REPORT;

/** Minutes in one thread: begun last, they would run when every other core is idle. */
const LONGEST = ["/explore.test.ts", "/sim/mutants.test.ts"];
/** Keeps every core busy by itself. */
const WIDEST = "/sim/seeds.test.ts";

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      if (moduleId.endsWith(WIDEST)) return 2;
      return LONGEST.some((name) => moduleId.endsWith(name)) ? 0 : 1;
    };
    return (await super.sort(files)).toSorted((left, right) => rank(left) - rank(right));
  }
}

export default defineConfig({
  // As in tsconfig.json: examples import the package, and tests run its sources.
  resolve: { alias: { "lockstep/sdk": new URL("./sdk/typescript/index.ts", import.meta.url).pathname } },
  test: {
    include: ["src/**/*.test.ts", "web/**/*.test.ts", "scripts/**/*.test.ts", "examples/**/*.test.ts"],
    reporters: report ? ["default", ["json", { outputFile: report }]] : ["default"],
    pool: "threads",
    // Vitest leaves one core to itself, which is half of a small machine.
    maxWorkers: availableParallelism(),
    sequence: { sequencer: LongestFirst },
    // Generous: a test that hangs must end, one that is slow on a busy machine must not fail.
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
