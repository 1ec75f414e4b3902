import { configDefaults, defineConfig, mergeConfig } from "vitest/config";
import everything from "./vitest.config.ts";

/** What `npm run test:unit` leaves to `npm test`: whatever takes more than a few seconds. */
export const SLOW = [
  "src/sim/**/*.test.ts", // seeds, mutants, regressions: the whole system on virtual time
  "src/plan/check/explore/*.test.ts", // every state of small fleets
  "src/plan/check/mutants/*.test.ts",
  "src/jobs/check/explore.test.ts",
  "src/cli/**/{demo,fault,rights,up,wait}.test.ts", // a fleet of 'up' for each test
  "src/embedded/{references,terms}.test.ts",
  "src/interpret/lua/{fuzz,hostile/hostile}.test.ts",
  "scripts/generate/*.test.ts", // each bundles the program
];

export default mergeConfig(
  everything,
  // Files share their modules, which halves the time; what mocks modules is among the slow.
  defineConfig({ test: { exclude: [...configDefaults.exclude, ...SLOW], isolate: false } }),
);
