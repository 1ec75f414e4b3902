import { configDefaults, defineConfig } from "vitest/config";
import { isLongForm } from "./form.ts";

const report = process.env.LOCKSTEP_TEST_REPORT;

// The suites on real components: one file at a time, since each of them starts real programs.
export default defineConfig({
  // As in tsconfig.json: examples import the package, and tests run its sources.
  resolve: { alias: { "lockstep/sdk": new URL("../sdk/typescript/index.ts", import.meta.url).pathname } },
  test: {
    include: ["**/*.test.ts"],
    exclude: [...configDefaults.exclude, ...(isLongForm ? [] : ["**/*.long.test.ts"])],
    reporters: report ? ["default", ["json", { outputFile: report }]] : ["default"],
    pool: "forks",
    fileParallelism: false,
    // For the tests that say they may run side by side: as many as a machine of CI has cores.
    maxConcurrency: 2,
    // CI runs other suites beside these, and they would share the file.
    cache: false,
    testTimeout: 120_000,
    hookTimeout: 300_000,
  },
});
