import { defineConfig } from "vitest/config";

// CI adds the numbers of all suites up; it asks each for its report by this variable.
const report = process.env.LOCKSTEP_TEST_REPORT;

export default defineConfig({
  test: {
    include: ["src/**/*.test.ts", "scripts/**/*.test.ts"],
    reporters: report ? ["default", ["json", { outputFile: report }]] : ["default"],
    pool: "threads",
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
});
