import { defineConfig } from "vitest/config";

const report = process.env.LOCKSTEP_TEST_REPORT;

// The suites on real components: one file at a time, since each of them starts real programs.
export default defineConfig({
  test: {
    include: ["**/*.test.ts"],
    reporters: report ? ["default", ["json", { outputFile: report }]] : ["default"],
    pool: "forks",
    fileParallelism: false,
    testTimeout: 120_000,
    hookTimeout: 300_000,
  },
});
