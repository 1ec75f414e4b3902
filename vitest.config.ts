import { availableParallelism } from "node:os";
import { configDefaults, defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

// CI adds the numbers of all suites up; it asks each for its report by this variable.
const report = process.env.LOCKSTEP_TEST_REPORT;

/** What takes more than a few seconds, or mocks modules. `npm run test:unit` leaves it to `npm test`. */
const SLOW = [
  "src/sim/**/*.test.ts", // seeds, mutants, regressions: the whole system on virtual time
  "src/plan/check/explore/*.test.ts", // every state of small fleets
  "src/plan/check/mutants/*.test.ts",
  "src/jobs/check/explore.test.ts",
  "src/cli/**/{demo,fault,rights,up,wait}.test.ts", // a fleet of 'up' for each test
  "src/embedded/{references,terms}.test.ts",
  "src/interpret/lua/{fuzz,hostile/hostile}.test.ts",
  "scripts/generate/*.test.ts", // each bundles the program
];

/** Minutes in one thread: begun last, they would run when every other core is idle. */
const LONGEST = ["/explore.test.ts", "/sim/mutants.test.ts"];
/** Keeps every core busy by itself. */
const WIDEST = "/sim/seeds.test.ts";

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId, project }: TestSpecification) => {
      if (moduleId.endsWith(WIDEST)) return 3;
      if (LONGEST.some((name) => moduleId.endsWith(name))) return 0;
      // Side by side, because a thread shares its modules only with the next file of the same project.
      return project.name === "slow" ? 1 : 2;
    };
    return (await super.sort(files)).toSorted((left, right) => rank(left) - rank(right));
  }
}

export default defineConfig({
  // As in tsconfig.json: examples import the package, and tests run its sources.
  resolve: { alias: { "lockstep/sdk": new URL("./sdk/typescript/index.ts", import.meta.url).pathname } },
  test: {
    reporters: report ? ["default", ["json", { outputFile: report }]] : ["default"],
    pool: "threads",
    // Vitest leaves one core to itself, which is half of a small machine.
    maxWorkers: availableParallelism(),
    sequence: { sequencer: LongestFirst },
    // Generous: a test that hangs must end, one that is slow on a busy machine must not fail.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    projects: [
      {
        extends: true,
        test: {
          name: "fast",
          include: ["src/**/*.test.ts", "web/**/*.test.ts", "scripts/**/*.test.ts", "examples/**/*.test.ts"],
          exclude: [...configDefaults.exclude, ...SLOW],
          // Files share their modules, which halves the time.
          isolate: false,
        },
      },
      { extends: true, test: { name: "slow", include: SLOW } },
    ],
  },
});
