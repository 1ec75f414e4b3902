import { defineConfig } from "vitest/config";

// CI adds the numbers of all suites up; it asks each for its report by this variable.
const report = process.env.LOCKSTEP_TEST_REPORT;

export default defineConfig({
  test: {
    include: ["src/**/*.test.ts", "scripts/**/*.test.ts"],
    reporters: report ? ["default", ["json", { outputFile: report }]] : ["default"],
    pool: "threads",
    // Generous: a test that hangs must end, one that is slow on a busy machine must not fail.
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
